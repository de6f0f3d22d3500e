// Exchange::respond_content over real sockets: HEAD, ranges and conditions.
#include <gtest/gtest.h>

#include <algorithm>

#include "net/raw_peer.h"
#include "net/server.h"

namespace quern::net {
namespace {

char byte_at(std::uint64_t offset) {
  return static_cast<char>('a' + offset % 23);
}

std::string bytes_of(std::uint64_t offset, std::uint64_t count) {
  std::string text;
  for (std::uint64_t i = 0; i < count; ++i) text += byte_at(offset + i);
  return text;
}

// Gives odd pieces, and can fail at an offset.
class Pattern : public ContentSource {
 public:
  explicit Pattern(std::uint64_t fails_at) : fails_at_(fails_at) {}

  Task<Result<std::size_t>> read_at(std::uint64_t offset, std::span<char> output) override {
    EXPECT_LE(output.size(), kContentBufferBytes);
    if (offset >= fails_at_) co_return Error{Errc::Missing, "the blob is gone"};
    const std::size_t bytes = std::min<std::size_t>(output.size(), 70'001);
    for (std::size_t i = 0; i < bytes; ++i) output[i] = byte_at(offset + i);
    co_return bytes;
  }

 private:
  std::uint64_t fails_at_;
};

constexpr std::uint64_t kSize = 1'000'000;

Task<Result<>> serve(Exchange& exchange) {
  const std::string& target = exchange.request().target;
  Content content;
  content.size = target == "/empty" ? 0 : kSize;
  content.content_type = "application/pdf";
  content.etag = target == "/untagged" ? "" : "\"v1\"";
  content.headers.add("Content-Disposition", "inline");
  Pattern source(target == "/gone" ? 0 : target == "/breaks" ? 500'000 : UINT64_MAX);
  co_return co_await exchange.respond_content(source, std::move(content));
}

struct Got {
  std::string status;
  std::string head;
  std::string body;
};

class ContentTest : public testing::Test {
 protected:
  Got get(std::string_view method, std::string_view target, std::string_view fields = {}) {
    peer_.send(request_text(method, target, fields));
    Got got;
    got.head = peer_.read_until("\r\n\r\n");
    got.status = got.head.substr(9, 3);
    const auto at = got.head.find("Content-Length: ");
    if (at != std::string::npos && method != "HEAD") {
      got.body = peer_.read_bytes(std::stoul(got.head.substr(at + 16)));
    }
    return got;
  }
  static bool has(const Got& got, std::string_view line) {
    return got.head.find("\r\n" + std::string(line) + "\r\n") != std::string::npos;
  }

  ServerOnThread server_{{}, serve};
  RawPeer peer_ = server_.peer();
};

TEST_F(ContentTest, ServesTheWhole) {
  const Got got = get("GET", "/");
  EXPECT_EQ(got.status, "200");
  EXPECT_TRUE(has(got, "Accept-Ranges: bytes"));
  EXPECT_TRUE(has(got, "Content-Type: application/pdf"));
  EXPECT_TRUE(has(got, "Content-Disposition: inline"));
  EXPECT_TRUE(has(got, "ETag: \"v1\""));
  EXPECT_EQ(got.body, bytes_of(0, kSize));
}

TEST_F(ContentTest, ServesRanges) {
  const Got first = get("GET", "/", "Range: bytes=10-19\r\n");
  EXPECT_EQ(first.status, "206");
  EXPECT_TRUE(has(first, "Content-Range: bytes 10-19/1000000"));
  EXPECT_EQ(first.body, bytes_of(10, 10));
  EXPECT_EQ(get("GET", "/", "Range: bytes=-7\r\n").body, bytes_of(kSize - 7, 7));
  EXPECT_EQ(get("GET", "/", "Range: bytes=300000-\r\n").body, bytes_of(300'000, kSize - 300'000));
  EXPECT_EQ(get("GET", "/", "Range: bytes=1-2,5-6\r\n").status, "200");
}

TEST_F(ContentTest, RefusesARangeBehindTheEnd) {
  const Got got = get("GET", "/", "Range: bytes=1000000-\r\n");
  EXPECT_EQ(got.status, "416");
  EXPECT_TRUE(has(got, "Content-Range: bytes */1000000"));
}

TEST_F(ContentTest, IfRangeGivesTheWholeWhenItHasChanged) {
  EXPECT_EQ(get("GET", "/", "Range: bytes=1-2\r\nIf-Range: \"v1\"\r\n").status, "206");
  EXPECT_EQ(get("GET", "/", "Range: bytes=1-2\r\nIf-Range: \"v0\"\r\n").status, "200");
  EXPECT_EQ(get("GET", "/untagged", "Range: bytes=1-2\r\nIf-Range: \"v1\"\r\n").status, "200");
}

TEST_F(ContentTest, IfNoneMatchSavesTheBody) {
  const Got got = get("GET", "/", "If-None-Match: \"v0\", \"v1\"\r\n");
  EXPECT_EQ(got.status, "304");
  EXPECT_EQ(got.head.find("Content-Length"), std::string::npos);
  EXPECT_EQ(get("GET", "/", "If-None-Match: \"v0\"\r\n").status, "200");
}

TEST_F(ContentTest, HeadTellsTheLengthAndReadsNothing) {
  EXPECT_TRUE(has(get("HEAD", "/"), "Content-Length: 1000000"));
  EXPECT_EQ(get("HEAD", "/gone").status, "200");
  EXPECT_EQ(get("HEAD", "/", "Range: bytes=1-2\r\n").status, "200") << "Range is for GET";
}

TEST_F(ContentTest, EmptyContentIsServed) {
  EXPECT_TRUE(has(get("GET", "/empty"), "Content-Length: 0"));
  EXPECT_EQ(get("GET", "/empty", "Range: bytes=0-\r\n").status, "416");
}

TEST_F(ContentTest, OtherMethodsAreNotAllowed) {
  const Got got = get("POST", "/");
  EXPECT_EQ(got.status, "405");
  EXPECT_TRUE(has(got, "Allow: GET, HEAD"));
}

TEST_F(ContentTest, ASourceThatFailsAtOnceIsAnErrorLaterACut) {
  EXPECT_EQ(get("GET", "/gone").status, "404");
  peer_.send(request_text("GET", "/breaks"));
  const std::string all = peer_.read_to_end();
  EXPECT_NE(all.find("Content-Length: 1000000\r\n"), std::string::npos);
  EXPECT_LT(all.size(), kSize);
}

}  // namespace
}  // namespace quern::net
