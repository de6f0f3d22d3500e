#include <gtest/gtest.h>

#include "web/body.h"
#include "web/warc.h"

namespace quern::web {
namespace {

Fetched answer() {
  Fetched fetched;
  fetched.status = 200;
  fetched.reason = "OK";
  fetched.version = "1.1";
  fetched.headers = {{"Content-Type", "text/html"}, {"Set-Cookie", "a"}, {"Set-Cookie", "b"}};
  fetched.raw = BodyWriter::in_memory("12345");
  return fetched;
}

TEST(WarcHeadTest, AHeadIsKeptInOrderWithItsDuplicates) {
  EXPECT_EQ(archived_head(answer()),
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\n");
}

TEST(WarcHeadTest, WhatIsNoLongerTrueIsKeptUnderAnotherName) {
  Fetched fetched = answer();
  fetched.headers = {{"transfer-encoding", "chunked"},
                     {"Content-Length", "5"},
                     {"content-length", "6"},
                     {"Content-Encoding", "gzip"}};
  EXPECT_EQ(archived_head(fetched),
            "HTTP/1.1 200 OK\r\nX-Archive-Orig-transfer-encoding: chunked\r\nContent-Length: 5\r\n"
            "X-Archive-Orig-content-length: 6\r\nContent-Encoding: gzip\r\n\r\n");
}

TEST(WarcHeadTest, AnAnswerOfAnyVersionGetsAStatusLineThatReadersKnow) {
  Fetched fetched = answer();
  fetched.headers.clear();
  fetched.version = "2";
  fetched.reason = "";
  fetched.status = 404;
  EXPECT_EQ(archived_head(fetched), "HTTP/1.1 404 Not Found\r\n\r\n");
  fetched.status = 299;
  EXPECT_EQ(archived_head(fetched), "HTTP/1.1 299 Unknown\r\n\r\n");
  fetched.version = "1.0";
  fetched.reason = "a\r\nb";
  EXPECT_EQ(archived_head(fetched), "HTTP/1.0 299 a  b\r\n\r\n");
}

TEST(WarcHeadTest, WhatWasWrittenIsReadBack) {
  const std::string head = archived_head(answer());
  const auto parsed = parse_archived_head(head + "12345\r\n\r\nmore");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->status, 200);
  EXPECT_EQ(parsed->reason, "OK");
  EXPECT_EQ(parsed->headers, answer().headers);
  EXPECT_EQ(parsed->bytes, head.size());
}

TEST(WarcHeadTest, HeadsOfStrangersAreReadAsTheyAreMeant) {
  const std::string odd =
      "HTTP/2 204\n  lost: 1\nA : b\nno colon\nFolded: one\n\ttwo\n  three\n: empty\n\nbody";
  const auto parsed = parse_archived_head(odd);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->status, 204);
  EXPECT_EQ(parsed->reason, "");
  EXPECT_EQ(parsed->headers, (HeaderList{{"A", "b"}, {"Folded", "one two three"}}));
  EXPECT_EQ(odd.substr(parsed->bytes), "body");
  // Without an empty line, all of it is head.
  EXPECT_EQ(parse_archived_head("HTTP/1.1 200 OK\r\nA: b")->bytes, 21U);
}

TEST(WarcHeadTest, WhatIsNoAnswerIsAnError) {
  EXPECT_EQ(parse_archived_head("").error().kind(), Errc::Corrupt);
  EXPECT_EQ(parse_archived_head("<html>").error().kind(), Errc::Corrupt);
  EXPECT_EQ(parse_archived_head("HTTP/1.1\r\n\r\n").error().kind(), Errc::Corrupt);
  EXPECT_EQ(parse_archived_head("HTTP/1.1 2x0 OK\r\n\r\n").error().kind(), Errc::Corrupt);
}

TEST(WarcHeadTest, AHeadIsBounded) {
  std::string head = "HTTP/1.1 200 OK\r\nA: ";
  head.append(kWarcHeadBytesMax - head.size() - 4, 'x');
  EXPECT_EQ(parse_archived_head(head + "\r\n\r\nbody")->bytes, kWarcHeadBytesMax);
  EXPECT_EQ(parse_archived_head(head + "x\r\n\r\nbody").error().kind(), Errc::TooLarge);
}

}  // namespace
}  // namespace quern::web
