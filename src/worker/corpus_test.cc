// The steps in their boxes over real files that are not ours (QUERN_CORPUS): nothing crashes,
// nothing hangs, and texts say what their sources say they do.
#include "support/step_corpus.h"

namespace quern::worker {
namespace {

using model::ErrorKind;
using model::StepId;

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
