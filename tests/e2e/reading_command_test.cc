// The commands that tell what became of files, as a person gives them: with the real worker
// program.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <sstream>

#include "e2e/quern.h"

namespace quern::e2e {
namespace {

constexpr char kLeak[] = QUERN_SOURCE "/samples/leak";

support::Ran run_in(const DataFolder& folder, std::vector<std::string> arguments) {
  return folder.run(std::move(arguments), {{"QUERN_LOG_LEVEL", "error"}});
}

std::string output_in(const DataFolder& folder, std::vector<std::string> arguments) {
  const support::Ran ran = run_in(folder, std::move(arguments));
  EXPECT_EQ(ran.status.code, 0) << ran.standard_error;
  return ran.standard_output;
}

std::vector<boost::json::object> lines(const std::string& text) {
  std::vector<boost::json::object> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    all.push_back(boost::json::parse(line).as_object());
  }
  return all;
}

// One import for all tests that only read.
class ReadingCommandTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new DataFolder;
    output_in(*folder_, {"add", kLeak, "--key", "leak"});
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  support::Ran run(std::vector<std::string> arguments) {
    return run_in(*folder_, std::move(arguments));
  }
  std::string output(std::vector<std::string> arguments) {
    return output_in(*folder_, std::move(arguments));
  }

 private:
  inline static DataFolder* folder_ = nullptr;
};

TEST_F(ReadingCommandTest, TheSampleIsShownAsATree) {
  EXPECT_EQ(output({"tree"}),
            "* leak/Archive.zip\n"
            "  * subarchive.tar.gz\n"
            "    * stats.txt\n"
            "      * **stats.txt**\n"
            "    * summary.txt\n"
            "      * **summary.txt**\n"
            "    * **run.bin** (unhandled)\n"
            "    * inner.zip\n"
            "      * memo.txt\n"
            "        * **memo.txt**\n"
            "  * instructions.txt\n"
            "    * **instructions.txt**\n"
            "* leak/letter.txt\n"
            "  * **letter.txt**\n"
            "* **leak/run.bin** (unhandled)\n");
  EXPECT_EQ(output({"tree", "leak/letter.txt"}), "* leak/letter.txt\n  * **letter.txt**\n");
  EXPECT_EQ(run({"tree", "--strict"}).status.code, 1);
  EXPECT_EQ(run({"tree", "leak/nothing"}).status.code, 3);
}

TEST_F(ReadingCommandTest, ListsForProgramsHaveTheFieldsOfTheContract) {
  const auto documents = lines(output({"documents", "--json", "--no-ids", "--text"}));
  ASSERT_EQ(documents.size(), 5u);
  std::string names;
  for (const auto& [name, value] : documents[0]) names += std::string(name) + " ";
  EXPECT_EQ(names, "filename page pages text_sha256 pdf_sha256 metadata text ");
  const auto errors = lines(output({"errors", "--json", "--no-ids"}));
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(boost::json::serialize(errors[1]),
            R"({"filename":"leak/run.bin","kind":"unhandled","message":"unhandled"})");
  const auto files = lines(output({"files", "--json"}));
  EXPECT_EQ(files.size(), 15u);
  EXPECT_TRUE(std::is_sorted(files.begin(), files.end(), [](const auto& a, const auto& b) {
    return a.at("filename").as_string() < b.at("filename").as_string();
  }));
  EXPECT_EQ(run({"errors", "--strict"}).status.code, 1);
  EXPECT_EQ(run({"documents", "--strict"}).status.code, 0);
  EXPECT_EQ(run({"documents", "--collection", "nowhere"}).status.code, 3);
}

TEST_F(ReadingCommandTest, JobsLedgerAndCheckAgree) {
  const auto jobs = lines(output({"jobs", "--json"}));
  ASSERT_EQ(jobs.size(), 1u);
  std::string names;
  for (const auto& [name, value] : jobs[0]) names += std::string(name) + " ";
  EXPECT_EQ(names, "job kind collection state progress files documents errors ");
  const auto ledger = lines(output({"ledger", "--json"})).at(0);
  EXPECT_EQ(ledger.at("files"), jobs[0].at("files"));
  EXPECT_EQ(ledger.at("documents").as_int64(), 5);
  EXPECT_TRUE(ledger.at("balanced").as_bool());
  EXPECT_EQ(run({"ledger", "--strict"}).status.code, 1) << "there are errors";
  EXPECT_NE(output({"ledger", "default"}).find("it balances"), std::string::npos);
  EXPECT_EQ(output({"check"}), "clean\n");
  EXPECT_NE(output({"job", "1"}).find("5 documents"), std::string::npos);
}

TEST_F(ReadingCommandTest, ExplainSaysWhy) {
  EXPECT_NE(output({"explain", "leak/run.bin"}).find("it failed (unhandled)"), std::string::npos);
  EXPECT_NE(output({"explain", "leak/letter.txt"}).find("Text"), std::string::npos);
  EXPECT_EQ(run({"explain", "leak/nothing"}).status.code, 3);
}

TEST(ReadingChangesTest, RetryAndDeleteWorkOnAFolderThatNobodyServes) {
  const DataFolder folder;
  const std::string unhandled = std::string(kLeak) + "/run.bin";
  output_in(folder, {"add", unhandled});
  EXPECT_EQ(output_in(folder, {"retry", "run.bin"}), "1 tried again: 0 documents, 1 error\n");
  EXPECT_EQ(lines(output_in(folder, {"errors", "--json"})).size(), 1u) << "the new one only";
  EXPECT_EQ(lines(output_in(folder, {"errors", "--json", "--superseded"})).size(), 2u);
  EXPECT_EQ(run_in(folder, {"retry"}).status.code, 2);
  EXPECT_EQ(run_in(folder, {"retry", "other.bin"}).status.code, 3) << "it did not fail";
  EXPECT_EQ(output_in(folder, {"check"}), "clean\n");
  EXPECT_EQ(output_in(folder, {"delete", "default"}), "default deleted\n");
  EXPECT_EQ(output_in(folder, {"jobs"}) + output_in(folder, {"files"}), "");
  EXPECT_EQ(output_in(folder, {"check"}), "clean\n");
  EXPECT_EQ(run_in(folder, {"delete", "default"}).status.code, 3);
}

TEST_F(ReadingCommandTest, DetectSaysTypeAndStep) {
  const auto seen = lines(output(
      {"detect", "--json", std::string(kLeak) + "/Archive.zip", std::string(kLeak) + "/run.bin"}));
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].at("type").as_string(), "application/zip");
  EXPECT_EQ(seen[0].at("step").as_string(), "Archive");
  EXPECT_TRUE(seen[1].at("step").is_null());
}

TEST_F(ReadingCommandTest, ProveKillsImportsAndFindsThemEqual) {
  const auto report =
      lines(output({"prove", std::string(kLeak) + "/run.bin", "--writes", "2", "--json"}));
  ASSERT_EQ(report.size(), 1u);
  EXPECT_TRUE(report[0].at("equal").as_bool()) << boost::json::serialize(report[0]);
  EXPECT_EQ(report[0].at("kills").as_int64(), 2);
  EXPECT_GT(report[0].at("died").as_int64(), 0);
  EXPECT_EQ(run({"prove", "/nonexistent"}).status.code, 2);
}

TEST_F(ReadingCommandTest, EveryCommandHasHelpWithExamples) {
  for (const char* command : {"jobs", "job", "cancel", "retry", "delete", "files", "tree",
                              "documents", "errors", "explain", "ledger", "detect", "prove"}) {
    EXPECT_NE(output({command, "--help"}).find("Examples:\n  quern "), std::string::npos)
        << command;
  }
}

}  // namespace
}  // namespace quern::e2e
