// Datasets, through the command line and HTTP, from a site of this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>

#include "e2e/quern.h"
#include "support/dataset_site.h"

namespace quern::e2e {
namespace {

namespace json = boost::json;
using support::DatasetSite;
using support::Ran;
using testing::HasSubstr;

const support::Environment kHere = {
    {"QUERN_ALLOW_PRIVATE", "*"}, {"QUERN_STEPS", "none"}, {"QUERN_FREE_MIN", "0"}};

std::string text(const json::value& value, const char* key) {
  const json::value* found = value.as_object().if_contains(key);
  return found == nullptr || !found->is_string() ? "" : std::string(found->get_string());
}

class DatasetTest : public testing::Test {
 protected:
  Ran run(std::vector<std::string> arguments) { return folder_.run(std::move(arguments), kHere); }
  json::value run_json(std::vector<std::string> arguments, int code) {
    arguments.emplace_back("--json");
    const Ran ran = run(std::move(arguments));
    EXPECT_TRUE(ran.status.exited_with(code)) << ran.standard_error << ran.standard_output;
    boost::system::error_code failed;
    json::value said = json::parse(ran.standard_output, failed);
    EXPECT_FALSE(failed) << ran.standard_output;
    return said;
  }

  DataFolder folder_;
};

TEST_F(DatasetTest, AUserKeepsADataset) {
  DatasetSite site({100'000, 0, 3});
  const json::value result = run_json({"dataset", site.url()}, 0);
  EXPECT_EQ(text(result, "status"), "success");
  EXPECT_EQ(result.at("file_count"), 3);
  EXPECT_EQ(result.at("total_size"), 100'003);
  EXPECT_EQ(text(result, "ingest_strategy"), "web-fileset");
  for (const json::value& file : result.at("manifest").as_array()) {
    EXPECT_EQ(text(file, "status"), "success");
    EXPECT_EQ(text(file, "sha256").size(), 64U);
  }
  const Ran again = run({"dataset", site.url()});
  EXPECT_THAT(again.standard_output, HasSubstr("success"));
  const Ran shown = run({"dataset", "show", "1"});
  EXPECT_THAT(shown.standard_output, HasSubstr("It has ended as success."));
  const Ran checked = run({"check"});
  EXPECT_TRUE(checked.status.exited_with(0)) << checked.standard_output << checked.standard_error;
}

TEST_F(DatasetTest, ACommandWithAKeyIsDoneOnce) {
  DatasetSite site({10, 20});
  const std::vector<std::string> command = {"dataset",   site.url(), "--ingest",
                                            "--no-wait", "--key",    "rescue-1"};
  const json::value first = run_json(command, 0);
  const json::value second = run_json(command, 0);
  EXPECT_EQ(first.at("job"), second.at("job"));
  EXPECT_EQ(run_json({"dataset", site.url(), "--key", "r2"}, 0).at("status"), "success");
  site.files().forget_requests();
  EXPECT_EQ(run_json({"dataset", site.url(), "--key", "r2"}, 0).at("status"), "success");
  for (const std::string& name : site.names()) EXPECT_TRUE(site.files().requests(name).empty());
  const Ran other = run({"dataset", site.url(), "--bundle", "--key", "r2"});
  EXPECT_TRUE(other.status.exited_with(3)) << other.standard_output;
  EXPECT_THAT(other.standard_error, HasSubstr("use a fresh key"));
}

TEST_F(DatasetTest, LinesWithAKeyAreDoneOnceEach) {
  DatasetSite site({10});
  const std::filesystem::path file = folder_.path().parent_path() / "requests.jsonl";
  std::filesystem::create_directories(file.parent_path());
  const std::string line = R"({"ingest_type":"dataset","base_url":")" + site.url() + "\"}\n";
  std::ofstream(file) << line << line;
  const std::vector<std::string> command = {"dataset", "--requests", file.string(), "--key", "k"};
  const Ran first = run(command);
  const Ran second = run(command);
  EXPECT_TRUE(second.status.exited_with(0)) << second.standard_error;
  EXPECT_EQ(first.standard_output, second.standard_output);
  EXPECT_THAT(run({"jobs", "--json"}).standard_output, testing::Not(HasSubstr("\"job\":3")));
}

TEST_F(DatasetTest, WhatFailedIsDoneAgain) {
  DatasetSite site({1000, 2000});
  support::Fault gone;
  gone.status = 404;
  gone.times = 100;
  site.files().add_fault(site.names()[1], gone);
  const json::value result = run_json({"dataset", site.url()}, 1);
  EXPECT_EQ(text(result, "status"), "error-platform-download");
  site.files().clear_faults();
  site.files().forget_requests();
  const json::value retried = run_json({"dataset", "retry", "1"}, 0);
  EXPECT_EQ(text(retried, "status"), "success");
  EXPECT_EQ(site.files().requests(site.names()[1]).size(), 1U);
}

TEST_F(DatasetTest, OneBadLineHarmsNoOther) {
  DatasetSite site({10});
  const std::filesystem::path file = folder_.path().parent_path() / "requests.jsonl";
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << R"({"ingest_type":"dataset","base_url":")" << site.url() << "\"}\n"
                      << "nonsense\n"
                      << R"({"ingest_type":"pdf","base_url":"https://a.test/"})"
                      << "\n"
                      << R"({"ingest_type":"dataset"})"
                      << "\n";
  const Ran ran = run({"dataset", "--requests", file.string()});
  std::istringstream lines(ran.standard_output);
  std::vector<std::string> statuses;
  for (std::string line; std::getline(lines, line);) {
    statuses.push_back(text(json::parse(line), "status"));
  }
  EXPECT_THAT(statuses, testing::ElementsAre("success-file", "bad-request", "not-implemented",
                                             "bad-request"));
}

TEST_F(DatasetTest, ResultsBecomeEntities) {
  DatasetSite site({10, 20});
  const std::filesystem::path file = folder_.path().parent_path() / "results.jsonl";
  const Ran kept = run({"dataset", site.url(), "--json"});
  std::ofstream(file) << kept.standard_output << kept.standard_output << "{}\n";
  const Ran ran = run({"dataset", "import", file.string()});
  const json::value entity = json::parse(ran.standard_output);
  EXPECT_EQ(text(entity, "kind"), "fileset");
  EXPECT_EQ(entity.at("entity").at("manifest").as_array().size(), 2U);
  EXPECT_THAT(ran.standard_error, HasSubstr("skip-in-queue: 1"));
  EXPECT_THAT(ran.standard_error, HasSubstr("skip-no-hit: 1"));
}

TEST_F(DatasetTest, ExplainTellsOfADatasetByItsAddressAndItsJob) {
  DatasetSite site({10, 20});
  run({"dataset", site.url()});
  const Ran shown = run({"dataset", "show", "1"});
  const Ran by_job = run({"explain", "--job", "1"});
  EXPECT_EQ(by_job.standard_output, shown.standard_output);
  const Ran by_url = run({"explain", site.url()});
  EXPECT_TRUE(by_url.status.exited_with(0)) << by_url.standard_error;
  EXPECT_THAT(by_url.standard_output, HasSubstr("it is a dataset: job 1"));
  EXPECT_THAT(by_url.standard_output, HasSubstr("It has ended as success."));
  const Ran nothing = run({"explain"});
  EXPECT_FALSE(nothing.status.exited_with(0));
  EXPECT_THAT(nothing.standard_error, HasSubstr("name a file"));
  const Ran other = run({"explain", "--job", "99"});
  EXPECT_FALSE(other.status.exited_with(0));
  EXPECT_THAT(other.standard_error, HasSubstr("job 99 is no dataset"));
}

TEST_F(DatasetTest, DocumentsAreFoundByHowTheirDatasetEnded) {
  DatasetSite site({});
  const std::string note = "The gauge at the weir was read every morning.\n";
  support::FaultyFile file;
  file.content_type = "text/plain";
  file.bytes = note;
  site.files().put("/files/note.txt", file);
  site.put_page("/set/2",
                R"({"@context":"https://schema.org","@type":"Dataset","name":"A set",)"
                R"("distribution":[{"@type":"DataDownload","name":"note.txt","contentUrl":")" +
                    site.files().url("/files/note.txt") + R"("}]})");
  const support::Environment here = {{"QUERN_ALLOW_PRIVATE", "*"}, {"QUERN_FREE_MIN", "0"}};
  const Ran kept = folder_.run({"dataset", site.files().url("/set/2"), "--ingest"}, here);
  ASSERT_TRUE(kept.status.exited_with(0)) << kept.standard_output << kept.standard_error;
  const auto total = [&](const std::string& query) {
    const Ran found = folder_.run({"search", query, "--json"}, here);
    EXPECT_TRUE(found.status.exited_with(0)) << found.standard_error;
    return json::parse(found.standard_output).at("total").to_number<int>();
  };
  EXPECT_EQ(total("weir"), 1);
  EXPECT_EQ(total("weir dataset:success-file"), 1);
  EXPECT_EQ(total("dataset:success-file in_ia:false"), 1);
  EXPECT_EQ(total("weir dataset:mismatch-md5"), 0);
  EXPECT_EQ(total("weir in_ia:true"), 0);
  EXPECT_EQ(total("weir -in_ia:true"), 1);
  EXPECT_EQ(total("weir -dataset:success-file"), 0);
}

}  // namespace
}  // namespace quern::e2e
