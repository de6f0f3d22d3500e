// A crawl as a job: what it is told to leave out, how it is stopped, and what it may not ask.
#include "e2e/crawl_fixture.h"

namespace quern::e2e {
namespace {

class CrawlCommandTest : public CrawlTest {
 protected:
  // Without a server. Returns what the program says in JSON, with its exit code.
  Json run_crawl(Names arguments, int code, const support::Environment& more = {}) {
    arguments.insert(arguments.begin(), {"crawl", "--json"});
    auto program = folder_.start(arguments, environment(more));
    const auto ended = program->wait(kCrawlPatience);
    EXPECT_TRUE(ended.ok());
    if (!ended.ok()) return {};
    EXPECT_EQ(ended->code, code) << program->text(support::Output::Error);
    boost::system::error_code failed;
    boost::json::value said = boost::json::parse(program->text(support::Output::Standard), failed);
    EXPECT_FALSE(failed) << program->text(support::Output::Standard);
    return failed ? Json() : said.as_object();
  }
};

// -- what is left out --

TEST_P(CrawlCommandTest, NoMorePagesThanAsked) {
  const Json crawl = run_crawl({"http://plain.test/", "--delay", "0", "--max-pages", "7"}, 0);
  EXPECT_EQ(crawl.at("pages").at("admitted").as_int64(), 7);
  EXPECT_EQ(asked("plain.test").size(), 7u);
  serve();
  EXPECT_NE(field(explained("http://plain.test/s3/p190"), "verdict").find("limit of 7 pages"),
            std::string::npos);
}

TEST_P(CrawlCommandTest, NoDeeperThanAsked) {
  run_crawl({"http://plain.test/", "--delay", "0", "--max-depth", "1"}, 0);
  const Targets seen = asked("plain.test");
  EXPECT_GT(seen.size(), 1u);
  EXPECT_LT(seen.size(), 20u) << "the first page and what it links to";
}

TEST_P(CrawlCommandTest, ADomainHasManyHosts) {
  site_.set("plain.test", "pages", "1");
  site_.set("written.test", "/",
            "<a href=http://www.written.test/x>x</a>"
            "<a href=http://sub.written.test/y>y</a><a href=http://plain.test/>z</a>");
  run_crawl({"http://written.test/", "--delay", "0", "--scope", "domain"}, 0);
  serve();
  // Names that the site does not know are elsewhere.test.
  EXPECT_EQ(asked("elsewhere.test"), (Targets{"/x", "/y"}));
  EXPECT_EQ(asked("plain.test"), Targets{});
  EXPECT_NE(field(explained("http://plain.test/"), "verdict").find("outside the crawl's scope"),
            std::string::npos);
}

TEST_P(CrawlCommandTest, ABeginningOfAddressesIsAScope) {
  site_.set("plain.test", "pages", "120");
  run_crawl({"http://plain.test/s0/p1", "--delay", "0", "--scope", "http://plain.test/s0/"}, 0);
  const Targets seen = asked("plain.test");
  EXPECT_GT(seen.size(), 10u);
  for (const std::string& target : seen) EXPECT_TRUE(target.starts_with("/s0/")) << target;
}

// -- addresses of this network --

TEST_P(CrawlCommandTest, APrivateAddressIsRefusedBeforeAnybodyConnects) {
  const Json crawl = run_crawl({"http://plain.test/", "http://127.0.0.1/", "http://[::1]:8080/"}, 3,
                               {{"QUERN_ALLOW_PRIVATE", ""}});
  EXPECT_EQ(crawl.at("pages").at("in").as_int64(), 0);
  EXPECT_EQ(asked_so_far(), 0);
  serve({{"QUERN_ALLOW_PRIVATE", ""}});
  const Json story = explained("http://plain.test/");
  EXPECT_EQ(story.at("in").as_bool(), false);
  EXPECT_NE(field(story, "verdict").find("address"), std::string::npos) << field(story, "verdict");
  expect_clean();
}

// -- the job --

TEST_P(CrawlCommandTest, WhatIsNotWaitedForGoesOnInTheNextServer) {
  site_.set("plain.test", "pages", "10");
  const Json crawl = run_crawl({"http://plain.test/", "--delay", "0", "--no-wait"}, 0);
  const std::int64_t job = crawl.at("job").as_int64();
  serve();
  EXPECT_TRUE(ends(job)) << shown(job);
  EXPECT_EQ(sum(job, "in"), 10);
  EXPECT_EQ(site_.expected("plain.test").complaint(site_.log(0, "plain.test")), "");
  expect_clean();
}

TEST_P(CrawlTest, ACanceledCrawlAsksNothingMoreAndKeepsWhatItHas) {
  serve();
  const std::int64_t job = begin({"http://plain.test/"}, {{"delay", 0.1}});
  ASSERT_TRUE(in_time([&] { return sum(job, "in") >= 5; }));
  EXPECT_EQ(post(fmt::format("/api/v1/jobs/{}/cancel", job)).status, 200);
  ASSERT_TRUE(ends(job)) << shown(job);
  EXPECT_EQ(field(crawl_json(job), "state"), "canceled");
  const std::int64_t so_far = asked_so_far();
  EXPECT_LT(so_far, 150);
  EXPECT_EQ(sum(job, "open"), 0);
  EXPECT_GE(found("version1").size(), 5u);
  // The same order is another crawl, which takes all.
  site_.set("plain.test", "pages", "20");
  const std::int64_t again = crawl({"http://plain.test/"});
  EXPECT_NE(again, job);
  EXPECT_EQ(targets_in(again, "plain.test"), site_.expected("plain.test").documents);
  expect_clean();
}

TEST_P(CrawlTest, ADeletedCrawlTakesItsDocumentsAlong) {
  serve();
  site_.set("plain.test", "pages", "5");
  const std::int64_t job = crawl({"http://plain.test/"});
  EXPECT_EQ(found("version1").size(), 5u);
  const net::Response answer = remove(fmt::format("/api/v1/jobs/{}", job));
  EXPECT_TRUE(answer.status == 200 || answer.status == 202 || answer.status == 204) << answer.body;
  EXPECT_TRUE(in_time([&] { return found("version1").empty(); }));
  expect_clean();
  const std::int64_t again = crawl({"http://plain.test/"}, {{"force", true}});
  EXPECT_EQ(sum(again, "in"), 5) << shown(again);
  EXPECT_EQ(found("version1").size(), 5u);
  expect_clean();
}

// -- many sites --

// The order is answered before its sites are admitted, and none is lost with the server.
TEST_P(CrawlTest, AnOrderOfManySitesIsNotWaitedForAndSurvives) {
  constexpr std::int64_t kHosts = 300;
  serve();
  Names urls;
  for (std::int64_t i = 0; i < kHosts; ++i)
    urls.push_back(fmt::format("http://host{:04}.test/", i));
  const Json order{{"urls", boost::json::array(urls.begin(), urls.end())}, {"max_depth", 0}};
  const net::Response answer = post("/api/v1/crawls", boost::json::serialize(order));
  ASSERT_EQ(answer.status, 201) << answer.body;
  kill_and_restart();
  const Json begun = boost::json::parse(answer.body).as_object();
  EXPECT_LT(begun.at("sites").as_int64(), kHosts) << "they were waited for";
  const std::int64_t job = begun.at("job").as_int64();
  ASSERT_TRUE(ends(job)) << shown(job);
  EXPECT_EQ(crawl_json(job).at("sites").as_int64(), kHosts);
  EXPECT_EQ(sum(job, "in"), kHosts);
  for (std::int64_t i = 0; i < kHosts; ++i) {
    const std::string host = fmt::format("host{:04}.test", i);
    EXPECT_EQ(asked(host), Targets{"/"}) << host;
  }
  expect_clean();
}

TEST_P(CrawlTest, ManyFirstPagesOfASiteAskForItsRobotsOnce) {
  serve();
  site_.set("plain.test", "pages", "40");
  site_.set("plain.test", "delay_ms", "50");
  Names urls{"http://plain.test/"};
  for (int page = 1; page < 30; ++page) {
    if (page % 13 != 3) urls.push_back(fmt::format("http://plain.test/s0/p{}", page));
  }
  const std::int64_t job = crawl(urls);
  EXPECT_EQ(times("plain.test", "/robots.txt"), 1);
  EXPECT_EQ(targets_in(job, "plain.test"), site_.expected("plain.test").documents);
  EXPECT_EQ(site_.expected("plain.test").complaint(site_.log(0, "plain.test")), "");
}

// -- messages --

TEST_P(CrawlTest, AMessageBringsASiteIntoACollectionOfItsName) {
  serve();
  site_.set("plain.test", "pages", "3");
  tell({{"type", "index+crawl"}, {"site", "http://plain.test"}});
  for (const auto& [message, status] : told()) EXPECT_EQ(status, "complete") << message;
  EXPECT_TRUE(is_quiet());
  EXPECT_EQ(documents("plain.test").size(), 3u);
  // Packed as a whole when it has been quiet for long.
  const std::vector<Json> timers = items("/api/v1/timers");
  ASSERT_EQ(timers.size(), 1u);
  EXPECT_EQ(field(timers[0], "timer"), "plain.test");
  EXPECT_EQ(field(timers[0], "timeout"), "300");
  EXPECT_EQ(field(timers[0].at("callback_msg").as_object(), "type"), "pack_full");
  // A page that is not there, and a path that leads nowhere.
  tell({{"type", "index"}, {"site", "http://plain.test"}, {"path", "/no/such/page"}});
  tell({{"type", "index"}, {"site", "ftp://plain.test"}, {"path", "/"}});
  const auto statuses = told();
  EXPECT_EQ(std::count_if(statuses.begin(), statuses.end(),
                          [](const auto& one) { return one.second == "failed"; }),
            1);
  EXPECT_TRUE(is_quiet());
  const Json story = explained("http://plain.test/no/such/page", "plain.test");
  EXPECT_NE(field(story, "verdict").find("404"), std::string::npos) << field(story, "verdict");
  EXPECT_EQ(documents("plain.test").size(), 3u);
  expect_clean();
}

TEST_P(CrawlTest, APageWantedByIndexAndByCrawlIsFetchedOnce) {
  serve();
  site_.set("plain.test", "pages", "8");
  site_.set("plain.test", "delay_ms", "300");
  tell({{"type", "index"}, {"site", "http://plain.test"}, {"path", "/"}});
  tell({{"type", "index+crawl"}, {"site", "http://plain.test"}});
  told();
  EXPECT_TRUE(is_quiet());
  EXPECT_EQ(site_.expected("plain.test").complaint(site_.log(0, "plain.test")), "");
  EXPECT_EQ(documents("plain.test").size(), 8u);
}

INSTANTIATE_TEST_SUITE_P(Stores, CrawlCommandTest, testing::Values(Store::Sqlite, Store::Postgres),
                         name_of);

}  // namespace
}  // namespace quern::e2e
