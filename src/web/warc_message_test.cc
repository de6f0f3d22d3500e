#include "web/warc_message.h"

#include <gtest/gtest.h>

#include "support/warc_fixture.h"
#include "web/warc_digest.h"

namespace quern::web {
namespace {

std::string record_of(const std::string& content, const std::string& headers = "") {
  return "WARC/1.0\r\nWARC-Type: response\r\nContent-Type: application/http;msgtype=response\r\n" +
         headers + "Content-Length: " + std::to_string(content.size()) + "\r\n\r\n" + content +
         "\r\n\r\n";
}

Result<std::string> payload_of(const std::string& content, std::size_t piece) {
  const std::string bytes = record_of(content);
  WarcReader reader(support::source_of(bytes));
  TRY(reader.next());
  TRY_ASSIGN(ArchivedMessage message, ArchivedMessage::open(reader));
  std::string payload;
  std::vector<char> buffer(piece);
  while (true) {
    TRY_ASSIGN(const std::size_t got, message.read(buffer.data(), buffer.size()));
    if (got == 0) return payload;
    payload.append(buffer.data(), got);
  }
}

std::string payload(const std::string& content) {
  const auto small = payload_of(content, 1);
  const auto large = payload_of(content, 100'000);
  EXPECT_TRUE(small.ok());
  EXPECT_TRUE(large.ok());
  EXPECT_EQ(*small, *large);
  return *large;
}

const std::string kPlain = "HTTP/1.1 200 OK\r\n\r\n";
const std::string kChunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n";

TEST(WarcMessageTest, ThePayloadIsWhatLiesBehindTheHead) {
  EXPECT_EQ(payload(kPlain), "");
  EXPECT_EQ(payload(kPlain + "hello\r\n\r\n"), "hello\r\n\r\n");
  EXPECT_EQ(payload("HTTP/1.1 200 OK\nA: b\n\nhello"), "hello");
  EXPECT_EQ(payload("HTTP/1.1 200 OK\r\nA: b"), "");
  const std::string large(1'000'000, 'x');
  EXPECT_EQ(payload_of(kPlain + large, 7777).value_or(""), large);
}

TEST(WarcMessageTest, ChunksArePutTogether) {
  EXPECT_EQ(payload(kChunked + "5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nA: b\r\n\r\n"),
            "hello world");
  EXPECT_EQ(payload(kChunked + "00a\nhello worl\n1\nd\n0\n\n"), "hello world");
  const std::string large(100'000, 'x');
  EXPECT_EQ(payload(kChunked + "186A0\r\n" + large + "\r\n0\r\n\r\n"), large);
  EXPECT_EQ(payload(kChunked + "0\r\n\r\n"), "");
  EXPECT_EQ(payload(kChunked), "");
}

TEST(WarcMessageTest, WrongChunksComeAsTheyAreStored) {
  EXPECT_EQ(payload(kChunked + "<html>\r\nhello"), "<html>\r\nhello");
  EXPECT_EQ(payload(kChunked + "5\r\nhello\r\nzz\r\nmore"), "hello\r\nzz\r\nmore");
  EXPECT_EQ(payload(kChunked + "5\r\nhel"), "hel");
  EXPECT_EQ(payload(kChunked + "5\r\nhello\r\n5"), "hello\r\n5");
  EXPECT_EQ(payload(kChunked + "5\r\nhello\r\n"), "hello");
  EXPECT_EQ(payload(kChunked + "FFFFFFFFFFFFFFFFF\r\nx"), "FFFFFFFFFFFFFFFFF\r\nx");
}

TEST(WarcMessageTest, TheLineOfAChunkIsBounded) {
  const std::string fits(kChunkLineBytesMax - 4, 'e');
  EXPECT_EQ(payload(kChunked + "1;" + fits + "\r\nx\r\n0\r\n"), "x");
  const std::string longer = "1;" + fits + "e\r\nx";
  EXPECT_EQ(payload(kChunked + longer), longer);
}

TEST(WarcMessageTest, WhatIsNoAnswerIsAnError) {
  EXPECT_EQ(payload_of("<html>", 10).error().kind(), Errc::Corrupt);
  EXPECT_EQ(payload_of("HTTP/1.1 200 OK\r\n" + std::string(300'000, 'x'), 10).error().kind(),
            Errc::TooLarge);
}

RecordCheck check_of(const std::string& content, const std::string& headers) {
  const std::string bytes = record_of(content, headers);
  WarcReader reader(support::source_of(bytes, 3));
  const auto record = reader.next();
  EXPECT_TRUE(record.ok() && *record);
  const auto check = verify_record(reader, **record);
  EXPECT_TRUE(check.ok());
  return *check;
}

TEST(WarcMessageTest, DigestsInAnyNotationAreVerified) {
  const std::string content = kPlain + "hello";
  const std::string sha1 = blob::sha1_of("hello");
  for (const std::string& text : {"sha1:" + base32_encoded(sha1), "SHA-1:" + blob::hex_of(sha1),
                                  std::string("sha1:qvTGHdzF6KLavt4PO0gs2a6pQ00="),
                                  std::string("sha1:qvTGHdzF6KLavt4PO0gs2a6pQ00"),
                                  "sha256:" + blob::hex_of(blob::sha256_of("hello"))}) {
    const RecordCheck check = check_of(content, "WARC-Payload-Digest: " + text + "\r\n");
    EXPECT_EQ(check.payload, DigestState::Right) << text;
    EXPECT_EQ(check.block, DigestState::Absent);
  }
}

TEST(WarcMessageTest, AWrongDigestIsFoundAndAForeignOneIsUnknown) {
  const std::string content = kPlain + "hello";
  const std::string right = sha1_label(blob::sha1_of(content));
  RecordCheck check = check_of(
      content, "WARC-Block-Digest: " + right + "\r\nWARC-Payload-Digest: " + right + "\r\n");
  EXPECT_EQ(check.block, DigestState::Right);
  EXPECT_EQ(check.payload, DigestState::Wrong);
  check = check_of(content, "WARC-Block-Digest: blake3:x\r\nWARC-Payload-Digest: x\r\n");
  EXPECT_EQ(check.block, DigestState::Unknown);
  EXPECT_EQ(check.payload, DigestState::Unknown);
}

}  // namespace
}  // namespace quern::web
