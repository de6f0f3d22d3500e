#include <gtest/gtest.h>

#include "web/warc.h"
#include "web/warc_digest.h"
#include "web/warc_time.h"

namespace quern::web {
namespace {

CdxjLine line() {
  CdxjLine line;
  line.surt = "gov,site)/a";
  line.timestamp = "20261116060000";
  line.url = "https://site.gov/a?\"q\"";
  line.mime = "text/html";
  line.status = 200;
  line.digest = "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ";
  line.length = 1234;
  line.offset = 5'000'000'000;
  line.filename = "a.warc.gz";
  return line;
}

TEST(CdxjTest, ALineComesBackAsItWas) {
  const std::string text = line().text();
  EXPECT_EQ(text,
            "gov,site)/a 20261116060000 {\"url\":\"https://site.gov/a?\\\"q\\\"\","
            "\"mime\":\"text/html\",\"status\":200,"
            "\"digest\":\"sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\",\"length\":1234,"
            "\"offset\":5000000000,\"filename\":\"a.warc.gz\"}");
  const auto parsed = parse_cdxj(text + "\n");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message();
  EXPECT_EQ(parsed->text(), text);
}

TEST(CdxjTest, NumbersMayStandInQuotes) {
  const auto parsed = parse_cdxj(
      "com,a)/ 2020 {\"status\": \"404\", \"length\": \"12\", \"offset\": \"34\", \"x\": [1]}");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message();
  EXPECT_EQ(parsed->status, 404);
  EXPECT_EQ(parsed->length, 12);
  EXPECT_EQ(parsed->offset, 34);
  EXPECT_EQ(parse_cdxj("com,a)/ 2020 {\"status\": \"-\"}")->status, 0);
}

TEST(CdxjTest, WhatIsNoLineIsAnError) {
  for (const char* text : {"", "a", "a 2020", "a 2020 [1]", "a 2020 {", "a x {}", "a 20201 {}",
                           "a 2020 {\"offset\":-1}"}) {
    EXPECT_FALSE(parse_cdxj(text).ok()) << text;
  }
  EXPECT_EQ(parse_cdxj(std::string(70'000, 'x')).error().kind(), Errc::TooLarge);
}

TEST(CdxjTest, TextThatIsNoUnicodeStaysJson) {
  CdxjLine odd = line();
  odd.mime = "text/\xFF\x01";
  const auto parsed = parse_cdxj(odd.text());
  ASSERT_TRUE(parsed.ok()) << parsed.error().message();
}

TEST(CdxjTest, TimestampsOfAnyLengthAreRead) {
  EXPECT_EQ(timestamp14(1'794'808'800'123'456), "20261116060000");
  EXPECT_EQ(*parse_timestamp14("20261116060000"), 1'794'808'800'000'000);
  EXPECT_EQ(timestamp14(*parse_timestamp14("2026")), "20260101000000");
  EXPECT_EQ(timestamp14(*parse_timestamp14("2026111606")), "20261116060000");
  EXPECT_EQ(timestamp14(*parse_timestamp14("19691231235959")), "19691231235959");
  for (const char* text : {"", "202", "20261", "2026111606000", "202611160600000", "20261316",
                           "20260230", "2026111624", "20261116066000", "2026-11-16", "20 6"}) {
    EXPECT_EQ(parse_timestamp14(text).error().kind(), Errc::Invalid) << text;
  }
}

TEST(CdxjTest, DatesOfRecordsAreRead) {
  EXPECT_EQ(warc_date(1'794'808'800'000'001), "2026-11-16T06:00:00.000001Z");
  EXPECT_EQ(parse_warc_date("2026-11-16T06:00:00.000001Z"), 1'794'808'800'000'001);
  EXPECT_EQ(parse_warc_date("2026-11-16T06:00:00.123456789Z"), 1'794'808'800'123'456);
  EXPECT_EQ(parse_warc_date("2026-11-16T06:00:00Z"), 1'794'808'800'000'000);
  EXPECT_EQ(parse_warc_date("2026-11-16T06:00Z"), 1'794'808'800'000'000);
  EXPECT_EQ(parse_warc_date("2026-11-16"), 1'794'787'200'000'000);
  EXPECT_EQ(parse_warc_date("1970"), 0);
  for (const char* text :
       {"", "x", "5088968-11-06T12:31:23Z", "2026-11-16T06:00:00", "2026-13-01T00:00:00Z",
        "2026-11-16T06:00:00.Z", "2026-11-16T06:00:00.1234567890Z", "2026-11-16 06:00:00Z"}) {
    EXPECT_EQ(parse_warc_date(text), std::nullopt) << text;
  }
}

TEST(CdxjTest, Base32IsThatOfTheRfc) {
  EXPECT_EQ(base32_encoded(""), "");
  EXPECT_EQ(base32_encoded("f"), "MY======");
  EXPECT_EQ(base32_encoded("fo"), "MZXQ====");
  EXPECT_EQ(base32_encoded("foo"), "MZXW6===");
  EXPECT_EQ(base32_encoded("foob"), "MZXW6YQ=");
  EXPECT_EQ(base32_encoded("fooba"), "MZXW6YTB");
}

}  // namespace
}  // namespace quern::web
