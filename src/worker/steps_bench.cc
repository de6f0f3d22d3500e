// What the steps cost, without box and broker.
//
// Question: CPU of a small text with PDF and thumbnail; members per second of an archive of small
// files; files per second of detection. Expect: below 4 ms; above 20,000/s; above 5,000/s.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <fmt/format.h>

#include "worker/archive_maker.h"
#include "worker/step_harness.h"
#include "worker/steps.h"

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

}  // namespace
}  // namespace quern::worker
