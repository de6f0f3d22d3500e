#include "support/test_site.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "net/raw_peer.h"
#include "support/test_site_crawler.h"

namespace quern::support {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string header_of(const net::Response& response, const char* name) {
  const std::string* found = response.headers.find(name);
  return found == nullptr ? "" : *found;
}

std::vector<std::string> targets_of(const std::vector<SiteRequest>& requests) {
  std::vector<std::string> all;
  for (const SiteRequest& request : requests) all.push_back(request.target);
  return all;
}

class TestSiteTest : public ::testing::Test {
 protected:
  // What differs between a plain crawl and the site's expectation; empty: nothing.
  std::string crawl(const std::string& host, const std::string& authority) {
    SmallCrawler crawler(site_, authority);
    crawler.run();
    const SiteExpected expected = site_.expected(host, authority);
    std::string wrong = expected.complaint(site_.log(0, host));
    for (const std::string& target : expected.documents)
      if (!crawler.documents().contains(target)) wrong += "no document: " + target + "\n";
    for (const std::string& target : crawler.documents()) {
      bool open = expected.documents.contains(target) || expected.maybe.contains(target);
      for (const auto& [prefix, most] : expected.prefixes_at_most)
        open |= target.starts_with(prefix);
      if (!open) wrong += "a document: " + target + "\n";
    }
    for (const std::string& target : expected.never)
      if (expected.fetched.contains(target)) wrong += "never and fetched: " + target + "\n";
    return wrong;
  }
  std::string crawl(const std::string& host) { return crawl(host, host); }

  TestSite site_;
};

TEST_F(TestSiteTest, LogsWhatWasAskedBeforeItIsAnswered) {
  EXPECT_EQ(site_.get("plain.test", "/", {{"User-Agent", "tester"}}).status, 200);
  EXPECT_EQ(site_.get("PLAIN.test:99", "/nowhere").status, 404);
  const auto log = site_.log();
  ASSERT_EQ(log.size(), 2U);
  EXPECT_EQ(log[0].host, "plain.test");
  EXPECT_EQ(log[0].user_agent, "tester");
  EXPECT_EQ(log[0].status, 200);
  EXPECT_LE(log[0].began_us, log[0].ended_us);
  EXPECT_EQ(log[1].host, "plain.test");
  EXPECT_EQ(log[1].target, "/nowhere");
  EXPECT_EQ(log[1].status, 404);
  EXPECT_EQ(site_.log(1).size(), 1U);
  std::ifstream file(site_.log_file());
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  EXPECT_THAT(line, HasSubstr("\"user_agent\":\"tester\""));
}

TEST_F(TestSiteTest, AnAddressIsThePlainHost) {
  const auto by_address = site_.get("127.0.0.1:" + std::to_string(site_.port()), "/");
  EXPECT_THAT(by_address.body, HasSubstr("word0"));
  EXPECT_THAT(by_address.body, HasSubstr("127.0.0.1:" + std::to_string(site_.port())));
}

TEST_F(TestSiteTest, ValidatorsAnswer304UntilTheVersionChanges) {
  const auto first = site_.get("plain.test", "/");
  const std::string etag = header_of(first, "ETag");
  const std::string modified = header_of(first, "Last-Modified");
  EXPECT_EQ(site_.get("plain.test", "/", {{"If-None-Match", etag}}).status, 304);
  EXPECT_EQ(site_.get("plain.test", "/", {{"If-Modified-Since", modified}}).status, 304);
  EXPECT_EQ(site_.log().back().if_modified_since, modified);
  site_.set("plain.test", "version", "2");
  const auto second = site_.get("plain.test", "/", {{"If-None-Match", etag}});
  EXPECT_EQ(second.status, 200);
  EXPECT_THAT(second.body, HasSubstr("version2"));
}

TEST_F(TestSiteTest, PagesVanishAsTold) {
  EXPECT_EQ(site_.get("plain.test", "/s3/p190").status, 200);
  site_.set("plain.test", "pages", "100");
  EXPECT_EQ(site_.get("plain.test", "/s3/p190").status, 404);
  site_.set("plain.test", "gone", "410");
  EXPECT_EQ(site_.get("plain.test", "/s3/p190").status, 410);
  site_.set("set.test", "set", "a");
  EXPECT_EQ(site_.get("set.test", "/b").status, 404);
  EXPECT_THAT(site_.expected("set.test").documents, ::testing::ElementsAre("/a"));
  site_.reset();
  EXPECT_THAT(site_.expected("set.test").documents, ::testing::ElementsAre("/a", "/b"));
  EXPECT_THAT(site_.log(), IsEmpty());
}

TEST_F(TestSiteTest, StormsHealAfterSoManyTriesOfEachTarget) {
  site_.set("host0007.test", "storm", "2");
  site_.set("host0007.test", "storm_status", "503");
  site_.set("host0007.test", "retry_after", "7");
  const auto first = site_.get("host0007.test", "/p1");
  EXPECT_EQ(first.status, 503);
  EXPECT_EQ(header_of(first, "Retry-After"), "7");
  EXPECT_EQ(site_.get("host0007.test", "/p1").status, 503);
  EXPECT_EQ(site_.get("host0007.test", "/p1").status, 200);
  EXPECT_EQ(site_.get("host0007.test", "/p2").status, 503);
  EXPECT_EQ(site_.get("host0008.test", "/p2").status, 200);
}

TEST_F(TestSiteTest, ErrorsAreWhatTheyAreCalled) {
  EXPECT_EQ(site_.get("errors.test", "/410").status, 410);
  const auto busy = site_.get("errors.test", "/429");
  EXPECT_EQ(busy.status, 429);
  EXPECT_EQ(header_of(busy, "Retry-After"), "5");
  EXPECT_EQ(site_.get("errors.test", "/429").status, 200);
  EXPECT_EQ(site_.get("errors.test", "/reset").status, 0);
  EXPECT_EQ(site_.get("errors.test", "/silent").status, 0);
  EXPECT_EQ(site_.log().back().status, 0);
}

TEST_F(TestSiteTest, ARequestThatHangsEndsWithItsClient) {
  site_.set("errors.test", "hang", "1");
  net::RawPeer peer(site_.endpoint());
  peer.send("GET /hangs HTTP/1.1\r\nHost: errors.test\r\n\r\n");
  // Others are served meanwhile, and the log shows the one that waits.
  while (site_.log().empty()) {
  }
  EXPECT_EQ(site_.log()[0].target, "/hangs");
  EXPECT_EQ(site_.log()[0].ended_us, 0);
  peer.close();
  while (site_.log()[0].ended_us == 0) {
  }
}

TEST_F(TestSiteTest, LargeBodiesAreAsLargeAsTheySay) {
  EXPECT_EQ(site_.get("bodies.test", "/empty").body, "");
  EXPECT_GT(site_.get("bodies.test", "/1m").body.size(), 1024U * 1024);
  const auto known = site_.get("bodies.test", "/70m-known");
  EXPECT_GT(known.body.size(), 70U * 1024 * 1024);
  EXPECT_EQ(header_of(known, "Content-Length"), std::to_string(known.body.size()));
  EXPECT_EQ(site_.get("bodies.test", "/70m").body.size(), known.body.size());
}

TEST_F(TestSiteTest, ABombIsSmallOnTheWire) {
  site_.set("coding.test", "bomb_mebibytes", "100");
  const auto bomb = site_.get("coding.test", "/bomb");
  EXPECT_LT(bomb.body.size(), 200U * 1024);
  EXPECT_EQ(header_of(bomb, "Content-Encoding"), "gzip");
}

TEST_F(TestSiteTest, ComplainsOfWhatIsMissingAndOfWhatIsTooMuch) {
  SiteExpected expected;
  expected.fetched = {"/a", "/b"};
  expected.maybe = {"/c"};
  expected.prefixes_at_most = {{"/trap/", 1}};
  const auto asked = [](std::vector<std::string> targets) {
    std::vector<SiteRequest> all;
    for (std::string& target : targets) all.push_back({.target = std::move(target)});
    return all;
  };
  EXPECT_EQ(expected.complaint(asked({"/a", "/b", "/a", "/c", "/trap/1"})), "");
  EXPECT_EQ(expected.complaint(asked({"/a"})), "not fetched: /b\n");
  EXPECT_EQ(expected.complaint(asked({"/a", "/b", "/d"})), "fetched: /d\n");
  EXPECT_EQ(expected.complaint(asked({"/a", "/b", "/trap/1", "/trap/2"})), "too many of /trap/\n");
}

// The sets that the site expects, against a crawler that knows nothing of them.
class ExpectedSetTest : public TestSiteTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(ExpectedSetTest, IsWhatASimpleCrawlFinds) {
  site_.set("slow.test", "slow_ms", "0");
  site_.set("trap.test", "many", "50");
  const std::string host = GetParam();
  EXPECT_EQ(crawl(host), "");
  EXPECT_THAT(site_.log(0, "elsewhere.test"), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Hosts, ExpectedSetTest,
                         ::testing::Values("plain.test", "set.test", "robots.test", "sitemap.test",
                                           "feed.test", "nofollow.test", "redirect.test",
                                           "errors.test", "slow.test", "trap.test", "charset.test",
                                           "cookie.test", "host0123.test"),
                         [](const auto& info) {
                           const std::string name = info.param;
                           return name.substr(0, name.find('.'));
                         });

TEST_F(TestSiteTest, ExpectedSetHoldsForAnAddressWithAPort) {
  EXPECT_EQ(crawl("plain.test", "127.0.0.1:" + std::to_string(site_.port())), "");
}

TEST_F(TestSiteTest, FilesAreTakenByTheirSuffixAndLength) {
  SmallCrawler crawler(site_, "files.test");
  crawler.run();
  const auto log = site_.log(0, "files.test");
  EXPECT_EQ(site_.expected("files.test").complaint(log), "");
  site_.set("files.test", "url_bytes_max", "200");
  EXPECT_THAT(site_.expected("files.test").complaint(log), HasSubstr("fetched: /uuu"));
  EXPECT_THAT(targets_of(site_.log()), ::testing::Contains("/price$5"));
}

TEST_F(TestSiteTest, RobotsThatCannotBeReadForbidAll) {
  site_.set("robots.test", "robots_status", "503");
  EXPECT_EQ(site_.get("robots.test", "/robots.txt").status, 503);
  EXPECT_THAT(site_.expected("robots.test").fetched, ::testing::ElementsAre("/robots.txt"));
  EXPECT_THAT(site_.expected("robots.test").documents, IsEmpty());
}

TEST_F(TestSiteTest, RobotsAreAsTold) {
  EXPECT_EQ(site_.get("errors.test", "/robots.txt").status, 404);
  site_.set("host0001.test", "robots_text", "User-agent: *\nDisallow: /x");
  EXPECT_EQ(site_.get("host0001.test", "/robots.txt").body, "User-agent: *\nDisallow: /x");
  site_.set("host0001.test", "robots_status", "301");
  site_.set("host0001.test", "robots_location", "/other");
  EXPECT_EQ(header_of(site_.get("host0001.test", "/robots.txt"), "Location"), "/other");
  site_.set("robots.test", "crawl_delay", "0.25");
  EXPECT_THAT(site_.get("robots.test", "/robots.txt").body, HasSubstr("Crawl-delay: 0.25\r\n"));
}

TEST_F(TestSiteTest, UnknownHostsAreElsewhere) {
  EXPECT_THAT(site_.get("no-such.test", "/a").body, HasSubstr("elsewhereword"));
  EXPECT_EQ(site_.log(0, "elsewhere.test").size(), 1U);
}

TEST_F(TestSiteTest, HasAThousandSmallHosts) {
  EXPECT_GT(site_.hosts().size(), 1000U);
  site_.set("hosts", "pages", "3");
  EXPECT_EQ(site_.get("host0999.test", "/p2").status, 200);
  EXPECT_EQ(site_.get("host0999.test", "/p3").status, 404);
  EXPECT_EQ(site_.expected("host0000.test").documents.size(), 3U);
}

}  // namespace
}  // namespace quern::support
