#include "net/head_parser.h"

#include <gtest/gtest.h>

#include <string>

namespace quern::net {
namespace {

TEST(HeadParserTest, ReadsARequest) {
  const auto head =
      parse_request_head("POST /a?b=c HTTP/1.1\r\nHost: x\r\nX-Two:  spaced out \t\r\n");
  ASSERT_TRUE(head.ok()) << head.error().message();
  EXPECT_EQ(head->method, Method::Post);
  EXPECT_EQ(head->target, "/a?b=c");
  EXPECT_EQ(head->version_minor, 1);
  EXPECT_EQ(*head->headers.find("x-two"), "spaced out");
}

TEST(HeadParserTest, KeepsMethodsItDoesNotKnow) {
  const auto head = parse_request_head("PROPFIND / HTTP/1.0\r\n");
  ASSERT_TRUE(head.ok());
  EXPECT_EQ(head->method, Method::Other);
  EXPECT_EQ(head->method_text, "PROPFIND");
  EXPECT_EQ(head->version_minor, 0);
}

TEST(HeadParserTest, RefusesWhatIsNotARequest) {
  const std::string host = "Host: x\r\n";
  const std::string wrong[] = {
      "",
      "GET / HTTP/1.1",
      "GET /\r\n" + host,
      "GET  HTTP/1.1\r\n" + host,
      "GET / HTTP/2.0\r\n" + host,
      "GET / http/1.1\r\n" + host,
      "GET / HTTP/1.1\n" + host,
      "G@T / HTTP/1.1\r\n" + host,
      "GET /a b HTTP/1.1\r\n" + host,
      "GET /a\tb HTTP/1.1\r\n" + host,
      "GET / HTTP/1.1\r\n",
      "GET / HTTP/1.1\r\n" + host + host,
      "GET / HTTP/1.1\r\n" + host + "X: a\n",
      "GET / HTTP/1.1\r\n" + host + "X : a\r\n",
      "GET / HTTP/1.1\r\n" + host + " folded\r\n",
      "GET / HTTP/1.1\r\n" + host + "no colon\r\n",
      "GET / HTTP/1.1\r\n" + host + ": nameless\r\n",
      "GET / HTTP/1.1\r\n" + host + "X: a\rb\r\n",
      std::string("GET / HTTP/1.1\r\n" + host + "X: a") + '\0' + "b\r\n",
  };
  for (const std::string& text : wrong) {
    const auto head = parse_request_head(text);
    ASSERT_FALSE(head.ok()) << text;
    EXPECT_EQ(head.error().kind(), Errc::Invalid) << text;
  }
}

TEST(HeadParserTest, LimitsTheNumberOfFields) {
  std::string text = "GET / HTTP/1.1\r\nHost: x\r\n";
  for (std::size_t i = 1; i < kHeadersMax; ++i) text += "X: y\r\n";
  EXPECT_TRUE(parse_request_head(text).ok());
  EXPECT_EQ(parse_request_head(text + "X: y\r\n").error().kind(), Errc::TooLarge);
}

TEST(HeadParserTest, FindsTheEndWhereverItWasCut) {
  const std::string bytes = "GET / HTTP/1.1\r\nHost: x\r\n\r\nbody";
  const std::size_t end = bytes.find("body");
  for (std::size_t scanned = 0; scanned < end; ++scanned) {
    EXPECT_EQ(find_head_end(bytes, scanned), end) << scanned;
    EXPECT_EQ(find_head_end(bytes.substr(0, scanned)), std::string::npos) << scanned;
  }
}

TEST(HeadParserTest, ReadsAnAnswer) {
  const auto parsed = parse_response_head("HTTP/1.1 404 Not Found\r\nA: b\r\n");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->head.status, 404);
  EXPECT_EQ(*parsed->head.headers.find("a"), "b");
  EXPECT_TRUE(parse_response_head("HTTP/1.0 200\r\n").ok());
  for (const char* wrong : {"HTTP/1.1\r\n", "HTTP/1.1 20\r\n", "HTTP/1.1 2000 OK\r\n",
                            "ICY 200 OK\r\n", "HTTP/1.1 099 OK\r\n", "HTTP/1.1 -12 OK\r\n"}) {
    EXPECT_FALSE(parse_response_head(wrong).ok()) << wrong;
  }
}

struct FramingCase {
  std::string fields;
  int version_minor;
  bool ok;
  Framing::Kind kind;
  std::uint64_t length;
};

TEST(FramingTest, ARequestHasOneLengthOrChunks) {
  using Kind = Framing::Kind;
  const FramingCase cases[] = {
      {"", 1, true, Kind::None, 0},
      {"Content-Length: 0\r\n", 1, true, Kind::None, 0},
      {"Content-Length: 12\r\n", 1, true, Kind::Length, 12},
      {"Content-Length: 12\r\nContent-Length: 12\r\n", 1, true, Kind::Length, 12},
      {"Content-Length: 12, 12\r\n", 1, true, Kind::Length, 12},
      {"Transfer-Encoding: Chunked\r\n", 1, true, Kind::Chunked, 0},
      {"Content-Length: 12\r\nContent-Length: 13\r\n", 1, false, {}, 0},
      {"Content-Length: 12, 13\r\n", 1, false, {}, 0},
      {"Content-Length: \r\n", 1, false, {}, 0},
      {"Content-Length: -1\r\n", 1, false, {}, 0},
      {"Content-Length: +1\r\n", 1, false, {}, 0},
      {"Content-Length: 0x10\r\n", 1, false, {}, 0},
      {"Content-Length: 99999999999999999999\r\n", 1, false, {}, 0},
      {"Content-Length: 9223372036854775808\r\n", 1, false, {}, 0},
      {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 1, false, {}, 0},
      {"Transfer-Encoding: gzip, chunked\r\n", 1, false, {}, 0},
      {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 1, false, {}, 0},
      {"Transfer-Encoding: identity\r\n", 1, false, {}, 0},
      {"Transfer-Encoding: chunked\r\n", 0, false, {}, 0},
  };
  for (const FramingCase& one : cases) {
    const std::string version = one.version_minor == 1 ? "HTTP/1.1" : "HTTP/1.0";
    const auto head = parse_request_head("PUT / " + version + "\r\nHost: x\r\n" + one.fields);
    ASSERT_TRUE(head.ok()) << one.fields;
    const auto framing = request_framing(*head);
    ASSERT_EQ(framing.ok(), one.ok) << one.fields;
    if (!one.ok) continue;
    EXPECT_EQ(framing->kind, one.kind) << one.fields;
    EXPECT_EQ(framing->length, one.length) << one.fields;
  }
}

TEST(FramingTest, AnAnswerMayLastUntilTheConnectionCloses) {
  using Kind = Framing::Kind;
  const auto kind = [](int status, const Headers& headers, Method method) {
    return response_framing({status, headers}, method)->kind;
  };
  EXPECT_EQ(kind(200, {}, Method::Get), Kind::UntilClose);
  EXPECT_EQ(kind(200, {{"Content-Length", "3"}}, Method::Get), Kind::Length);
  EXPECT_EQ(kind(200, {{"Content-Length", "3"}}, Method::Head), Kind::None);
  EXPECT_EQ(kind(304, {{"Content-Length", "3"}}, Method::Get), Kind::None);
  EXPECT_EQ(kind(204, {}, Method::Get), Kind::None);
  EXPECT_EQ(kind(200, {{"Transfer-Encoding", "chunked"}}, Method::Get), Kind::Chunked);
  EXPECT_FALSE(response_framing({200, {{"Transfer-Encoding", "gzip"}}}, Method::Get).ok());
}

TEST(FramingTest, KeepAliveFollowsTheVersion) {
  EXPECT_TRUE(wants_keep_alive({}, 1));
  EXPECT_FALSE(wants_keep_alive({}, 0));
  EXPECT_FALSE(wants_keep_alive({{"Connection", "Close"}}, 1));
  EXPECT_TRUE(wants_keep_alive({{"Connection", "Keep-Alive"}}, 0));
}

}  // namespace
}  // namespace quern::net
