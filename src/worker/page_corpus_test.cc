// Pages in their boxes over real files that are not ours (QUERN_CORPUS): PDFs, web pages, pictures
// and books end by their own word, and their texts say what their sources say they do.
#include "support/step_corpus.h"

namespace quern::worker {
namespace {

using model::ErrorKind;
using model::StepId;

struct Tally {
  std::map<std::string, int> ends;
  int expected = 0;
  int found = 0;
};

class PageCorpusTest : public CorpusTest {
 protected:
  // Each file ends by the step's own word, within its time, with all that makes a document.
  Tally run_all(const std::vector<CorpusFile>& files) {
    Tally tally;
    for (const CorpusFile& file : files) take(file, run(file), tally);
    for (const auto& [end, count] : tally.ends) std::printf("%s: %d\n", end.c_str(), count);
    std::printf("%zu files; %d of %d texts\n", files.size(), tally.found, tally.expected);
    return tally;
  }

 private:
  static void take(const CorpusFile& file, const Converted& converted, Tally& tally) {
    const auto& failure = converted.end.failure;
    ++tally.ends[failure ? std::string(model::to_string(failure->kind)) : "done"];
    EXPECT_FALSE(converted.end.seen_by_box) << file.path << ": " << failure->message;
    EXPECT_LT(converted.end.cost.cpu_ms, 60'000) << file.path;
    if (failure) std::printf("%s: %s\n", file.path.c_str(), failure->message.c_str());
    const std::string body = converted.body;
    if (!failure) {
      EXPECT_NE(body.find("thumbnail.jpg"), std::string::npos) << file.path << ": no thumbnail";
    }
    if (file.row.at("expected_text").empty() || file.row.at("text_check") != "seen") return;
    ++tally.expected;
    const bool there = has_expected_text(file, joined_parts(body, ".txt"));
    tally.found += there ? 1 : 0;
    if (!there) std::printf("not found: %s\n", file.path.c_str());
  }
};

TEST_F(PageCorpusTest, EveryPdfSaysWhatItsSourceExpects) {
  QUERN_CORPUS_OR_SKIP(corpus);  // QUERN_CORPUS
  const std::vector<CorpusFile> files = files_for(loop_, corpus, StepId::Pdf);
  start("Pdf");
  const Tally tally = run_all(files);
  EXPECT_GE(tally.found * 100, tally.expected * 95);
  EXPECT_GT(files.size(), 100U);
}

TEST_F(PageCorpusTest, EveryWebPageSaysWhatItsSourceExpects) {
  QUERN_CORPUS_OR_SKIP(corpus);  // QUERN_CORPUS
  const std::vector<CorpusFile> files = files_for(loop_, corpus, StepId::Html);
  start("Html");
  const Tally tally = run_all(files);
  EXPECT_GE(tally.found * 100, tally.expected * 95);
  EXPECT_EQ(tally.ends.size(), 1U);  // done
  EXPECT_GT(files.size(), 60U);
}

TEST_F(PageCorpusTest, EveryPictureEndsByItsOwnWord) {
  QUERN_CORPUS_OR_SKIP(corpus);  // QUERN_CORPUS
  const std::vector<CorpusFile> files = files_for(loop_, corpus, StepId::Image);
  start("Image");
  const Tally tally = run_all(files);
  EXPECT_GT(tally.ends.at("done") * 100, static_cast<int>(files.size()) * 80);
  EXPECT_GT(files.size(), 80U);
}

TEST_F(PageCorpusTest, EveryBookSaysWhatItsSourceExpects) {
  QUERN_CORPUS_OR_SKIP(corpus);  // QUERN_CORPUS
  const std::vector<CorpusFile> files = files_for(loop_, corpus, StepId::Ebook);
  start("Ebook");
  const Tally tally = run_all(files);
  EXPECT_GE(tally.found * 100, tally.expected * 95);
  EXPECT_GT(files.size(), 8U);
}

}  // namespace
}  // namespace quern::worker
