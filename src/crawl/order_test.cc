#include "crawl/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quern::crawl {
namespace {

using testing::HasSubstr;

constexpr int kNow = 2026;

CrawlOrder order_of(const std::string& json) {
  const Result<CrawlOrder> order = parse_order(json);
  EXPECT_TRUE(order.ok()) << order.error().message();
  return *order;
}

web::Url url_of(const std::string& text) {
  const Result<web::Url> url = web::Url::parse(text);
  EXPECT_TRUE(url.ok()) << text;
  return *url;
}

std::string kind_of(const Scope& scope, const std::string& url, std::int64_t depth = 1) {
  return scope.judge(web::canonical_url(url_of(url)), depth, kNow).kind;
}

TEST(OrderTest, ASiteIsEnoughAndJsonComesBack) {
  const CrawlOrder order = order_of(R"({"urls":["site.gov","http://B.example:80/x#y"]})");
  EXPECT_EQ(order.urls, (std::vector<std::string>{"https://site.gov/", "http://b.example/x"}));
  EXPECT_EQ(order.delay_ms, 1000);
  EXPECT_EQ(to_json(order_of(to_json(order))), to_json(order));
}

TEST(OrderTest, WhatIsWrongIsSaid) {
  const auto why = [](const std::string& json) { return parse_order(json).error().message(); };
  EXPECT_THAT(why("[]"), HasSubstr("a crawl is an object"));
  EXPECT_THAT(why("{}"), HasSubstr("'urls'"));
  EXPECT_THAT(why(R"({"urls":["ftp://a"]})"), HasSubstr("no address of the web"));
  EXPECT_THAT(why(R"({"urls":["a.b"],"delay":-1})"), HasSubstr("'delay' must be a number"));
  EXPECT_THAT(why(R"({"urls":["a.b"],"dela":1})"), HasSubstr("no field 'dela'"));
  EXPECT_THAT(why(R"({"urls":["a.b"],"scope":"all of it"})"), HasSubstr("no address"));
  EXPECT_THAT(why(R"({"urls":["a.b"],"max_pages":0})"), HasSubstr("from 1"));
}

TEST(ScopeTest, AHostADomainAndAPrefixCoverDifferentThings) {
  const Scope host(order_of(R"({"urls":["https://www.site.gov/a"]})"));
  EXPECT_EQ(kind_of(host, "http://site.gov/b"), "");
  EXPECT_EQ(kind_of(host, "https://www.site.gov/"), "");
  EXPECT_EQ(kind_of(host, "https://data.site.gov/"), "scope");
  EXPECT_EQ(kind_of(host, "https://site.gov:8443/"), "scope");
  const Scope domain(order_of(R"({"urls":["https://www.site.co.uk/a"],"scope":"domain"})"));
  EXPECT_EQ(kind_of(domain, "https://data.site.co.uk/"), "");
  EXPECT_EQ(kind_of(domain, "https://other.co.uk/"), "scope");
  const Scope prefix(order_of(R"({"urls":["https://a.b/x/"],"scope":"https://a.b/x/"})"));
  EXPECT_EQ(kind_of(prefix, "https://a.b/x/y"), "");
  EXPECT_EQ(kind_of(prefix, "https://a.b/y"), "scope");
}

TEST(ScopeTest, A17SkipsPicturesAndLongAddressesAndNoWords) {
  const Scope scope(order_of(R"({"urls":["https://h.gov/"],"max_url":200})"));
  EXPECT_EQ(kind_of(scope, "https://h.gov/wikidoc"), "");
  EXPECT_EQ(kind_of(scope, "https://h.gov/a.JPG"), "skip");
  EXPECT_EQ(kind_of(scope, "https://h.gov/price$5"), "");
  const std::string at_limit = "https://h.gov/" + std::string(200 - 14, 'x');
  EXPECT_EQ(kind_of(scope, at_limit), "");
  EXPECT_EQ(kind_of(scope, at_limit + "x"), "limit");
  const Scope own(order_of(R"({"urls":["https://h.gov/"],"skip":[".PDF"]})"));
  EXPECT_EQ(kind_of(own, "https://h.gov/a.pdf"), "skip");
  EXPECT_EQ(kind_of(own, "https://h.gov/a.jpg"), "");
}

TEST(ScopeTest, DepthIsCounted) {
  const Scope scope(order_of(R"({"urls":["https://h.gov/"],"max_depth":2})"));
  EXPECT_EQ(kind_of(scope, "https://h.gov/a", 2), "");
  EXPECT_EQ(kind_of(scope, "https://h.gov/a", 3), "limit");
}

TEST(TrapTest, EndlessAddressesAreSeen) {
  const auto trap = [](const std::string& url) { return trap_of(url_of(url), kNow); };
  EXPECT_EQ(trap("https://h/a/b/a/b/a/b"), "");
  EXPECT_THAT(trap("https://h/a/b/a/b/a/b/a"), HasSubstr("'a' stands more than 3 times"));
  EXPECT_EQ(trap("https://h/calendar?month=5&year=2027"), "");
  EXPECT_THAT(trap("https://h/calendar?month=5&year=2028"), HasSubstr("calendar"));
  EXPECT_THAT(trap("https://h/events/1889/12"), HasSubstr("calendar"));
  EXPECT_EQ(trap("https://h/law/1889/paragraph"), "");
  EXPECT_THAT(trap("https://h/x?a=1&a=2&a=3&a=4"), HasSubstr("'a' stands"));
  EXPECT_EQ(trap("https://h/item?id=99999999&product=1234"), "");
  std::string deep = "https://h";
  for (int i = 0; i < 40; ++i) deep += "/" + std::to_string(i);
  EXPECT_THAT(trap(deep), HasSubstr("segments"));
}

}  // namespace
}  // namespace quern::crawl
