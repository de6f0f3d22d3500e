// What is deleted leaves the disk, too: WARC files of crawls and of collections, and nothing else.
#include <fstream>

#include "e2e/crawl_fixture.h"

namespace quern::e2e {
namespace {

class CrawlDeleteTest : public CrawlTest {
 protected:
  // Names of WARC files that begin so.
  Targets warcs(const std::string& beginning = "") const {
    Targets names;
    for (const auto& file : std::filesystem::directory_iterator(folder_.path() / "warcs")) {
      const std::string name = file.path().filename().string();
      if (name.starts_with(beginning)) names.insert(name);
    }
    return names;
  }
  Targets warcs_of(std::int64_t job) const {
    Targets names;
    for (const std::string& name : warcs("quern-")) {
      if (name.find(fmt::format("-j{}-", job)) != std::string::npos) names.insert(name);
    }
    return names;
  }
  void put(const std::string& name) const {
    std::ofstream(folder_.path() / "warcs" / name) << "somebody's";
  }
  void remove_and_wait(const std::string& target) {
    const net::Response answer = remove(target);
    EXPECT_TRUE(answer.status == 200 || answer.status == 202 || answer.status == 204)
        << answer.body;
  }
};

TEST_P(CrawlDeleteTest, ItsArchiveGoesWithACrawlAndThatOfOthersStays) {
  serve();
  site_.set("plain.test", "pages", "5");
  const std::int64_t first = crawl({"http://plain.test/"});
  const std::int64_t second = crawl({"http://host0001.test/"}, {{"max_depth", 0}});
  // What this store never wrote, though it is called so, and what is called otherwise.
  const Targets others{
      fmt::format("quern-c1-j{}-00000000-20261116070606-b2a983962b8d.warc.gz", first),
      "quern-c1-20261116070606-b2a983962b8d.warc.gz", "mine.warc.gz"};
  const std::size_t own = warcs_of(first).size();
  ASSERT_GE(own, 1u);
  const Targets kept = warcs_of(second);
  ASSERT_FALSE(kept.empty());
  for (const std::string& name : others) put(name);
  remove_and_wait(fmt::format("/api/v1/jobs/{}", first));
  EXPECT_TRUE(in_time([&] { return warcs_of(first).size() == 1; })) << "all but somebody's";
  EXPECT_EQ(warcs_of(second), kept);
  EXPECT_TRUE(captures("http://plain.test/").empty());
  EXPECT_TRUE(captures("http://plain.test/robots.txt").empty());
  EXPECT_EQ(captures("http://host0001.test/").size(), 1u);
  EXPECT_EQ(get(fmt::format("/api/v1/crawls/{}", first)).status, 404);
  expect_clean();
  remove_and_wait("/api/v1/collections/default");
  EXPECT_TRUE(in_time([&] { return warcs() == others; }));
  expect_clean();
}

// Its file is open: it is closed when the last fetch of it is done.
TEST_P(CrawlDeleteTest, TheArchiveOfACrawlThatRunsGoesWhenItsWriterIsDone) {
  serve();
  const std::int64_t job = begin({"http://plain.test/"}, {{"delay", 0.05}});
  ASSERT_TRUE(in_time([&] { return sum(job, "in") >= 3; }));
  ASSERT_FALSE(warcs_of(job).empty());
  remove_and_wait(fmt::format("/api/v1/jobs/{}", job));
  EXPECT_TRUE(in_time([&] { return warcs_of(job).empty(); }));
  EXPECT_TRUE(captures("http://plain.test/").empty());
  expect_clean();
}

// By the command line, which is the server of its folder for that time.
TEST_P(CrawlDeleteTest, TheCommandLeavesNothing) {
  serve();
  site_.set("plain.test", "pages", "3");
  const std::int64_t job = crawl({"http://plain.test/"});
  server_->kill();
  ASSERT_FALSE(warcs_of(job).empty());
  const support::Ran ran = folder_.run({"delete", std::to_string(job)}, environment());
  EXPECT_EQ(ran.status.code, 0) << ran.standard_error;
  EXPECT_EQ(warcs(), Targets());
  expect_clean();
}

// Who removes a job does not see the folder of who fetched for it, which may not even run.
TEST_P(CrawlDeleteTest, EachServerCleansItsOwnFolder) {
  if (GetParam() == Store::Sqlite) return;  // it has one server
  const support::TempFolder blobs;
  const support::Environment shared{{"QUERN_BLOBS", "file:" + (blobs.path() / "blobs").string()}};
  serve(shared);
  site_.set("plain.test", "pages", "3");
  const std::int64_t job = crawl({"http://plain.test/"});
  server_->kill();
  support::Environment of_other = environment(shared);
  for (const auto& setting : folder_.options({}).environment) {
    if (setting.first == "QUERN_DB") of_other.push_back(setting);
  }
  DataFolder elsewhere;
  const auto other = elsewhere.start({"serve", "--listen", "127.0.0.1:0"}, of_other);
  const auto line = other->wait_for_line(support::Output::Standard, "http://");
  CHECK_OK(line);
  address_ = line->substr(line->find("http://"));
  remove_and_wait(fmt::format("/api/v1/jobs/{}", job));
  EXPECT_TRUE(in_time([&] { return get(fmt::format("/api/v1/jobs/{}", job)).status == 404; }));
  EXPECT_EQ(warcs_of(job).size(), 1u);
  serve(shared);
  EXPECT_TRUE(warcs_of(job).empty());
  const support::Ran ran = folder_.run({"check"}, environment(shared));
  EXPECT_EQ(ran.status.code, 0) << ran.standard_output << ran.standard_error;
}

INSTANTIATE_TEST_SUITE_P(Stores, CrawlDeleteTest, testing::Values(Store::Sqlite, Store::Postgres),
                         name_of);

}  // namespace
}  // namespace quern::e2e
