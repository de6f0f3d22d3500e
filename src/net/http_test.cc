#include "net/http.h"

#include <gtest/gtest.h>

namespace quern::net {
namespace {

TEST(HeadersTest, FindsNamesWithoutCaseAndKeepsOrder) {
  Headers headers;
  headers.add("Content-Type", "text/plain");
  headers.add("X-Tag", "one");
  headers.add("x-tag", "two");
  ASSERT_NE(headers.find("content-TYPE"), nullptr);
  EXPECT_EQ(*headers.find("content-TYPE"), "text/plain");
  EXPECT_EQ(headers.find("Content"), nullptr);
  EXPECT_EQ(headers.find_all("X-TAG"), (std::vector<std::string_view>{"one", "two"}));
  headers.set("X-Tag", "three");
  EXPECT_EQ(headers.find_all("X-TAG"), (std::vector<std::string_view>{"three"}));
  headers.remove("x-TAG");
  EXPECT_EQ(headers.size(), 1u);
}

TEST(HeadersTest, FindsTokensInLists) {
  const Headers headers{{"Connection", "keep-alive, Upgrade"}, {"Connection", "close"}};
  EXPECT_TRUE(headers.has_token("connection", "upgrade"));
  EXPECT_TRUE(headers.has_token("connection", "CLOSE"));
  EXPECT_FALSE(headers.has_token("connection", "up"));
  EXPECT_FALSE(headers.has_token("upgrade", "close"));
}

TEST(HeadersTest, ValuesCannotSmuggleAHeader) {
  Headers headers;
  headers.add("X-Name", "a\r\nSet-Cookie: b\n\0c");
  EXPECT_EQ(headers.find("X-Name")->find_first_of("\r\n"), std::string::npos);
}

TEST(HeadersDeathTest, HoldNoMoreThanTheirLimit) {
  Headers headers;
  for (std::size_t i = 0; i < kHeadersMax; ++i) headers.add("X", "y");
  EXPECT_DEATH(headers.add("X", "y"), "kHeadersMax");
}

TEST(ResponseTest, ProblemsNameStatusKindAndDetail) {
  const Response response = problem(Error{Errc::Busy, "the \"writer\" is full"});
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(*response.headers.find("Content-Type"), "application/problem+json");
  EXPECT_EQ(*response.headers.find("Retry-After"), "1");
  EXPECT_EQ(response.body,
            R"({"kind":"busy","type":"about:blank","title":"Service Unavailable","status":503,)"
            R"("detail":"the \"writer\" is full"})");
}

TEST(MethodTest, NamesMapBothWays) {
  for (const auto method : {Method::Get, Method::Head, Method::Post, Method::Put, Method::Patch,
                            Method::Delete, Method::Options}) {
    EXPECT_EQ(method_of(to_string(method)), method);
  }
  EXPECT_EQ(method_of("get"), Method::Other);
  EXPECT_EQ(method_of("PROPFIND"), Method::Other);
  EXPECT_TRUE(is_idempotent(Method::Put));
  EXPECT_FALSE(is_idempotent(Method::Post));
  EXPECT_FALSE(is_idempotent(Method::Other));
}

}  // namespace
}  // namespace quern::net
