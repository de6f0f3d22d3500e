// Crawling the test site with the real program: what a crawl makes of each host as a whole, and of
// one that changes.
#include "e2e/crawl_fixture.h"

namespace quern::e2e {
namespace {

// -- every host --

// What is wrong with the pages that are in; empty: nothing is.
std::string complaint(const SiteExpected& expected, const Targets& in) {
  std::string wrong;
  for (const std::string& target : expected.documents) {
    if (!in.contains(target)) wrong += "not in: " + target + "\n";
  }
  for (const std::string& target : in) {
    bool open = expected.documents.contains(target) || expected.maybe.contains(target);
    for (const auto& [prefix, most] : expected.prefixes_at_most) open |= target.starts_with(prefix);
    if (!open) wrong += "in: " + target + "\n";
  }
  return wrong;
}

TEST_P(CrawlTest, EveryHostIsFetchedExactly) {
  const Names hosts = {"plain.test",    "robots.test",   "sitemap.test", "feed.test",
                       "nofollow.test", "redirect.test", "charset.test", "coding.test",
                       "cookie.test",   "files.test",    "bodies.test",  "trap.test"};
  site_.set("plain.test", "pages", "60");
  site_.set("robots.test", "crawl_delay", "0.2");
  site_.set("trap.test", "many", "100");
  site_.set("coding.test", "bomb_mebibytes", "1024");
  Names arguments = {"crawl", "--json", "--delay", "0"};
  for (const std::string& host : hosts) arguments.push_back("http://" + host + "/");
  auto crawl = folder_.start(arguments, environment());
  const auto ended = crawl->wait(kCrawlPatience);
  ASSERT_TRUE(ended.ok()) << ended.error().message();
  ASSERT_EQ(ended->code, 0) << crawl->text(support::Output::Error);
  const Json order = boost::json::parse(crawl->text(support::Output::Standard)).as_object();
  const std::int64_t job = order.at("job").as_int64();
  serve();
  for (const std::string& host : hosts) {
    const SiteExpected expected = site_.expected(host);
    EXPECT_EQ(expected.complaint(site_.log(0, host)), "") << host;
    EXPECT_EQ(complaint(expected, targets_in(job, host)), "") << host;
    for (const auto& [target, words] : expected.texts) {
      const Names names = found("\"" + words + "\"");
      EXPECT_TRUE(std::find(names.begin(), names.end(), host + target) != names.end())
          << words << " is not found on " << host << target;
    }
  }
  EXPECT_EQ(site_.log(0, "elsewhere.test").size(), 0u) << "nothing of it was asked for";
  expect_clean();
}

// -- one that changes --

TEST_P(CrawlTest, A8_AWholeCrawlReplacesAndAPageAlonePutsItselfBeside) {
  serve();
  const Json own{{"collection", "set.test"}, {"force", true}};
  crawl({"http://set.test/"}, own);
  EXPECT_EQ(found("version1"), (Names{"set.test/a", "set.test/b"}));
  site_.set("set.test", "set", "a");
  crawl({"http://set.test/"}, own);
  EXPECT_EQ(found("version1"), Names{"set.test/a"});
  site_.set("set.test", "unlisted", "c");
  const net::Response posted = post("/api/v1/queues/INDEX/messages",
                                    R"({"type":"index","site":"http://set.test","path":"/c"})");
  EXPECT_EQ(posted.status, 202) << posted.body;
  EXPECT_TRUE(in_time([&] { return found("version1") == Names{"set.test/a", "set.test/c"}; }));
  EXPECT_EQ(times("set.test", "/c"), 1);
  expect_clean();
}

TEST_P(CrawlTest, A9_AnUnchangedPageIsOneHitAndOneBody) {
  serve();
  const std::string url = "http://written.test/";
  site_.set("written.test", "/", "<title>Dike</title><p>A dike holds the river.");
  crawl({url});
  const std::vector<Json> first = documents();
  ASSERT_EQ(first.size(), 1u);
  const std::vector<Json> files = items("/api/v1/files?collection=default");
  for (int again = 2; again <= 5; ++again) {
    // The last time all it says of itself has changed, but not its bytes.
    if (again == 5) site_.set("written.test", "version", "2");
    const std::int64_t job = crawl({url}, {{"force", true}});
    EXPECT_EQ(sum(job, "unchanged"), 1);
  }
  const std::vector<SiteRequest> log = site_.log(0, "written.test");
  std::map<int, int> statuses;
  for (const SiteRequest& request : log) statuses[request.target == "/" ? request.status : 0] += 1;
  EXPECT_EQ(statuses[200], 2);
  EXPECT_EQ(statuses[304], 3);
  EXPECT_EQ(statuses[0], 1) << "robots.txt is good for a day";
  EXPECT_EQ(found("dike"), Names{"written.test/"});
  EXPECT_EQ(documents(), first) << "the same document: nothing was read again";
  EXPECT_EQ(items("/api/v1/files?collection=default"), files);
  const std::vector<Json> stored = captures(url);
  ASSERT_EQ(stored.size(), 5u);
  for (const Json& capture : stored) {
    const bool last = capture.at("at_us") == stored.back().at("at_us");
    EXPECT_EQ(capture.at("revisit").as_bool(), !last) << boost::json::serialize(capture);
    EXPECT_EQ(capture.at("digest"), stored.back().at("digest"));
  }
  expect_clean();
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Stores, CrawlTest, testing::Values(Store::Sqlite, Store::Postgres),
                         name_of);

}  // namespace quern::e2e
