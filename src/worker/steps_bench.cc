// What the steps cost, without box and broker.
//
// Question: CPU of a small text with PDF and thumbnail; members per second of an archive of small
// files; files per second of detection; CPU of a page as a PDF, as a web page, as a picture.
// Expect: below 4 ms; above 20,000/s; above 5,000/s; below 10 ms, 20 ms and 50 ms.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <filesystem>

#include "worker/archive_maker.h"
#include "worker/box.h"
#include "worker/step_harness.h"
#include "worker/steps.h"
#include "worker/text_layout.h"
#include "worker/text_pdf.h"
#include "worker/thumbnail.h"

namespace quern::worker {
namespace {

std::string some_text(std::size_t bytes) {
  std::string text;
  for (int i = 0; text.size() < bytes; ++i) {
    text += fmt::format("Line {} of a letter that somebody wrote, with a few words in it.\n", i);
  }
  return text;
}

// Runs a step into nothing.
void run_once(const Step& step, const StepInput& input, int null) {
  PartWriter out(null, "BOUNDARY");
  StepTask task;
  task.filename = input.filename;
  StepContext context{task, {input}, {}, out};
  benchmark::DoNotOptimize(step.run(context));
  out.flush();
}

void BM_Text(benchmark::State& state) {
  const Step step = text_step();
  step.warm();
  const std::string text = some_text(static_cast<std::size_t>(state.range(0)));
  const io::Descriptor file = *make_memory_file(text);
  const io::Descriptor null(::open("/dev/null", O_WRONLY));
  for (auto _ : state) run_once(step, {file.get(), text.size(), 0, "a.txt"}, null.get());
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(BM_Text)->Arg(500)->Arg(5'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

// A page of text, as a PDF, as a web page and as a picture.
void run_page(benchmark::State& state, const Step& step, const std::string& bytes) {
  step.warm();
  const io::Descriptor file = *make_memory_file(bytes);
  const io::Descriptor null(::open("/dev/null", O_WRONLY));
  for (auto _ : state) run_once(step, {file.get(), bytes.size(), 0, "a"}, null.get());
}

void BM_Pdf(benchmark::State& state) {
  const auto pages = static_cast<std::uint64_t>(state.range(0));
  run_page(state, pdf_step(), text_pdf(lay_out(some_text(pages * 4'500), pages)));
}
BENCHMARK(BM_Pdf)->Arg(1)->Arg(100)->Unit(benchmark::kMillisecond);

void BM_Html(benchmark::State& state) {
  run_page(state, html_step(), "<h1>A letter</h1><pre>" + some_text(5'000) + "</pre>");
}
BENCHMARK(BM_Html)->Unit(benchmark::kMillisecond);

void BM_Image(benchmark::State& state) {
  const auto jpeg = thumbnail_of(text_pdf(lay_out(some_text(4'500), 1)), 2'000);
  run_page(state, image_step(), jpeg.value_or(""));
}
BENCHMARK(BM_Image)->Unit(benchmark::kMillisecond);

void BM_Archive(benchmark::State& state) {
  const Step step = archive_step();
  Members members;
  for (int i = 0; i < state.range(0); ++i) {
    members.emplace_back(fmt::format("folder/file{}.txt", i), some_text(200));
  }
  const std::string zip = make_archive("zip", "none", members);
  const io::Descriptor file = *make_memory_file(zip);
  const io::Descriptor null(::open("/dev/null", O_WRONLY));
  for (auto _ : state) run_once(step, {file.get(), zip.size(), 0, "a.zip"}, null.get());
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Archive)->Arg(20'000)->Unit(benchmark::kMillisecond);

void BM_Detect(benchmark::State& state) {
  const Step step = detect_step();
  step.warm();
  const std::string text = some_text(5'000);
  const io::Descriptor file = *make_memory_file(text);
  const io::Descriptor null(::open("/dev/null", O_WRONLY));
  for (auto _ : state) run_once(step, {file.get(), text.size(), 0, "a.txt"}, null.get());
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Detect);

net::Task<std::size_t> run_boxed(Box* box, BoxTask task) {
  auto run = box->run(task);
  CHECK_OK(run);
  std::string buffer(64 * 1024, '\0');
  std::size_t all = 0;
  for (;;) {
    const std::size_t n = co_await (*run)->read(buffer);
    if (n == 0) break;
    all += n;
  }
  co_await (*run)->finish();
  co_return all;
}

// Question: what does the box add? Expect: about a millisecond of wall time.
void BM_BoxedText(benchmark::State& state) {
  net::Loop loop;
  BoxOptions options;
  options.program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "quern-steps";
  options.step = "Text";
  auto box = loop.run_until(Box::start(loop, options));
  CHECK_OK(box);
  const std::string text = some_text(500);
  const io::Descriptor file = *make_memory_file(text);
  BoxTask task;
  task.json = R"({"filename":"a.txt"})";
  task.inputs = {file.get()};
  task.boundary = "BOUNDARY";
  for (auto _ : state) benchmark::DoNotOptimize(loop.run_until(run_boxed(box->get(), task)));
}
BENCHMARK(BM_BoxedText)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace quern::worker
