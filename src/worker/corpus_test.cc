// The steps in their boxes over real files that are not ours (QUERN_CORPUS): nothing crashes,
// nothing hangs, and texts say what their sources say they do.
#include <fcntl.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "io/file.h"
#include "model/steps.h"
#include "support/corpus.h"
#include "support/program.h"
#include "worker/box.h"
#include "worker/local_detect.h"
#include "worker/scripted_server.h"

namespace quern::worker {
namespace {

using model::ErrorKind;
using model::StepId;

struct CorpusFile {
  support::CorpusRow row;
  std::string path;
  std::string type;
};

std::vector<CorpusFile> files_for(net::Loop& loop, const std::filesystem::path& corpus,
                                  StepId wanted) {
  const auto rows = support::load_corpus_index(corpus);
  CHECK_OK(rows);
  std::vector<CorpusFile> files;
  std::vector<std::string> paths;
  for (const support::CorpusRow& row : *rows) {
    if (row.at("role") != "input") continue;
    paths.push_back((corpus / row.at("path")).string());
    files.push_back({row, paths.back(), ""});
  }
  DetectOptions options;
  options.program = support::program_path("quern-steps");
  const auto types = loop.run_until(detect_paths(loop, paths, options));
  CHECK_OK(types);
  for (std::size_t i = 0; i < files.size(); ++i) files[i].type = (*types)[i].type;
  std::erase_if(files, [wanted](const CorpusFile& file) {
    return model::step_for_type(file.type, model::Ocr::No) != wanted;
  });
  return files;
}

struct Converted {
  RunEnd end;
  std::string body;  // as much as is kept
  std::uint64_t bytes = 0;
};

net::Task<Converted> convert(Box* box, std::string filename, int input, std::uint64_t bytes) {
  BoxTask task;
  task.json = R"({"filename":")" + json_escaped(filename) + R"(","metadata":{}})";
  task.inputs = {input};
  task.input_bytes = bytes;
  task.boundary = "BOUNDARY";
  auto run = box->run(task);
  CHECK_OK(run);
  Converted converted;
  std::string buffer(256 * 1024, '\0');
  for (;;) {
    const std::size_t n = co_await (*run)->read(buffer);
    if (n == 0) break;
    converted.bytes += n;
    if (converted.body.size() < (32 << 20)) converted.body.append(buffer.data(), n);
  }
  converted.end = co_await (*run)->finish();
  co_return converted;
}

class CorpusTest : public ::testing::Test {
 protected:
  void start(const std::string& step) {
    BoxOptions options;
    options.program = support::program_path("quern-steps");
    options.step = step;
    options.limits.output_bytes = 512 << 20;
    options.limits.wall_ms = 120'000;
    auto box = loop_.run_until(Box::start(loop_, options));
    ASSERT_TRUE(box.ok()) << box.error().message();
    box_ = *std::move(box);
  }

  Converted run(const CorpusFile& file) {
    const auto reader = io::FileReader::open(file.path);
    CHECK_OK(reader);
    return loop_.run_until(convert(box_.get(), file.row.at("path"), reader->descriptor(),
                                   static_cast<std::uint64_t>(reader->size_bytes())));
  }

  net::Loop loop_;
  std::unique_ptr<Box> box_;
};

std::string folded(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (blank && (result.empty() || result.back() == ' ')) continue;
    result += blank ? ' ' : c;
  }
  return result;
}

TEST_F(CorpusTest, EveryArchiveEndsByItsOwnWord) {
  QUERN_CORPUS_OR_SKIP(corpus);  // QUERN_CORPUS
  const std::vector<CorpusFile> files = files_for(loop_, corpus, StepId::Archive);
  start("Archive");
  std::map<std::string, int> ends;
  for (const CorpusFile& file : files) {
    const Converted converted = run(file);
    const auto& failure = converted.end.failure;
    ++ends[failure ? std::string(model::to_string(failure->kind)) : "done"];
    // The only limit that may end one here is the output's, which this test made small.
    EXPECT_TRUE(!converted.end.seen_by_box || failure->kind == ErrorKind::TooLarge)
        << file.path << ": " << failure->message;
    EXPECT_LT(converted.end.cost.peak_kib, 1 << 20) << file.path;
  }
  for (const auto& [end, count] : ends) std::printf("%s: %d\n", end.c_str(), count);
  EXPECT_GT(files.size(), 200U);
}

TEST_F(CorpusTest, EveryTextBecomesADocumentThatSaysWhatItsSourceExpects) {
  QUERN_CORPUS_OR_SKIP(corpus);  // QUERN_CORPUS
  const std::vector<CorpusFile> files = files_for(loop_, corpus, StepId::Text);
  start("Text");
  int expected = 0;
  int found = 0;
  for (const CorpusFile& file : files) {
    const Converted converted = run(file);
    EXPECT_FALSE(converted.end.failure.has_value())
        << file.path << ": " << converted.end.failure->message;
    const auto parts = parts_of(converted.body + "--BOUNDARY--");
    ASSERT_GE(parts.size(), 4U) << file.path;
    EXPECT_TRUE(parts[1].second.starts_with("%PDF-")) << file.path;
    EXPECT_EQ(parts[3].first, "0-thumbnail.jpg") << file.path;
    const std::string& phrase = file.row.at("expected_text");
    if (phrase.empty() || file.row.at("text_check") != "seen") continue;
    ++expected;
    const std::string first = folded(phrase.substr(0, phrase.find(" || ")));
    const bool there = folded(parts[2].second).find(first) != std::string::npos;
    found += there ? 1 : 0;
    if (!there) std::printf("not found: %s: %s\n", file.path.c_str(), first.c_str());
  }
  std::printf("%zu texts; %d of %d phrases\n", files.size(), found, expected);
  EXPECT_GE(found * 100, expected * 95);
}

}  // namespace
}  // namespace quern::worker
