// Pages in their boxes over real files that are not ours (QUERN_CORPUS): PDFs, web pages, pictures
// and books end by their own word, and their texts say what their sources say they do.
#include <boost/json.hpp>
#include <filesystem>

#include "support/step_corpus.h"
#include "worker/step_harness.h"
#include "worker/steps.h"
#include "worker/zygote.h"

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

// The cases of Overview's own converters: what they were given, and what came out of them.
struct OverviewCase {
  const char* folder;
  Step (*step)();
};
constexpr OverviewCase kOverviewCases[] = {
    {"pdf", pdf_step}, {"pdfocr", pdf_ocr_step}, {"image", image_step}, {"html", html_step}};

std::string load(const std::filesystem::path& path) {
  const auto bytes = io::read_file(path, 16 << 20);
  CHECK_OK(bytes);
  return *bytes;
}

// Everything that they say of a child; what we say beyond that does not matter.
void compare_json(const std::string& ours, const std::string& theirs, const std::string& where) {
  const auto mine = boost::json::parse(ours).as_object();
  const auto expected = boost::json::parse(theirs).as_object();
  for (const auto& [key, value] : expected) {
    // Ours ends where theirs needs Pdf for the rest.
    if (key == "wantSplitByPage" && where.find("pdfocr") != std::string::npos) continue;
    if (key != "metadata") {
      EXPECT_EQ(mine.at(key), value) << where << ": " << key;
      continue;
    }
    for (const auto& [name, about] : value.as_object()) {
      EXPECT_EQ(mine.at("metadata").at(name), about) << where << ": " << name;
    }
  }
}

void run_case(const std::filesystem::path& folder, const Step& step) {
  auto task = parse_step_task(load(folder / "input.json"));
  CHECK_OK(task);
  const StepRun run = run_task(step, *task, load(folder / "input.blob"));
  ASSERT_FALSE(run.end) << folder << ": " << run.end->message;
  for (int i = 0; std::filesystem::exists(folder / (std::to_string(i) + ".json")); ++i) {
    const std::string number = std::to_string(i);
    compare_json(run.part(number + ".json"), load(folder / (number + ".json")), folder.string());
    EXPECT_TRUE(run.has(number + "-thumbnail.jpg")) << folder;
    if (!std::filesystem::exists(folder / (number + ".txt"))) continue;
    EXPECT_EQ(without_blanks(run.part(number + ".txt")),
              without_blanks(load(folder / (number + ".txt"))))
        << folder;
  }
}

TEST(OverviewCaseTest, OurStepsGiveWhatOverviewsGave) {
  QUERN_CORPUS_OR_SKIP(corpus);  // QUERN_CORPUS
  int count = 0;
  for (const OverviewCase& cases : kOverviewCases) {
    const std::string name = std::string("overview-convert-") + cases.folder;
    for (const auto& entry : std::filesystem::directory_iterator(corpus / "overview" / name)) {
      run_case(entry.path(), cases.step());
      ++count;
    }
  }
  EXPECT_GE(count, 6);
}

}  // namespace
}  // namespace quern::worker
