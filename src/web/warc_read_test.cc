#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/warc_fixture.h"
#include "web/warc.h"

namespace quern::web {
namespace {

using support::gzipped;
using support::read_records;
using ::testing::HasSubstr;

constexpr char kFirst[] =
    "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: <http://a.example/>\r\n"
    "WARC-Date: 2020-02-03T04:05:06Z\r\nContent-Length: 5\r\n\r\nhello\r\n\r\n";
constexpr char kSecond[] =
    "WARC/1.1\nwarc-type: metadata\nX-Folded: one\n\ttwo\nWARC-Date: 5088968-11-06T12:31:23Z\n"
    "CONTENT-LENGTH:  0 \n\n\n\n";

TEST(WarcReadTest, PlainAndCompressedFilesHaveTheSameRecords) {
  const std::string first = gzipped(kFirst);
  const std::string second = gzipped(kSecond);
  for (const std::string& bytes :
       {std::string(kFirst) + kSecond, first + second, gzipped(std::string(kFirst) + kSecond)}) {
    for (const std::size_t piece : {1, 2, 7, 100'000}) {
      const auto records = read_records(bytes, piece);
      ASSERT_TRUE(records.ok()) << records.error().message();
      ASSERT_EQ(records->size(), 2U);
      EXPECT_EQ((*records)[0].record.type, "resource");
      EXPECT_EQ((*records)[0].record.url, "http://a.example/");
      EXPECT_EQ((*records)[0].record.at_us, 1'580'702'706'000'000);
      EXPECT_EQ((*records)[0].content, "hello");
      EXPECT_EQ((*records)[1].record.type, "metadata");
      EXPECT_EQ(find_header((*records)[1].record, "x-folded"), "one two");
      EXPECT_EQ((*records)[1].record.at_us, std::nullopt);
      EXPECT_EQ((*records)[1].content, "");
    }
  }
}

TEST(WarcReadTest, PlacesAreThoseInTheFile) {
  const std::string first = gzipped(kFirst);
  const std::string second = gzipped(kSecond);
  const auto apart = *read_records(first + second, 3);
  EXPECT_EQ(apart[0].record.offset, 0);
  EXPECT_EQ(apart[0].length, static_cast<std::int64_t>(first.size()));
  EXPECT_EQ(apart[1].record.offset, static_cast<std::int64_t>(first.size()));
  EXPECT_EQ(apart[1].length, static_cast<std::int64_t>(second.size()));
  EXPECT_FALSE(apart[0].record.shares_member);
  EXPECT_FALSE(apart[1].record.shares_member);

  const auto plain = *read_records(std::string(kFirst) + kSecond, 3);
  EXPECT_EQ(plain[0].length, static_cast<std::int64_t>(sizeof kFirst - 1));
  EXPECT_EQ(plain[1].record.offset, static_cast<std::int64_t>(sizeof kFirst - 1));
  EXPECT_EQ(plain[1].length, static_cast<std::int64_t>(sizeof kSecond - 1));
  EXPECT_FALSE(plain[1].record.shares_member);
}

TEST(WarcReadTest, RecordsInOneMemberSaySo) {
  const auto records = *read_records(gzipped(std::string(kFirst) + kSecond + kFirst));
  ASSERT_EQ(records.size(), 3U);
  EXPECT_FALSE(records[0].record.shares_member);
  EXPECT_TRUE(records[1].record.shares_member);
  EXPECT_TRUE(records[2].record.shares_member);
  EXPECT_EQ(records[0].length, 0);
  EXPECT_EQ(records[1].record.offset, 0);
}

TEST(WarcReadTest, WhatIsNotReadIsSkipped) {
  const std::string bytes = gzipped(kFirst) + gzipped(kSecond);
  WarcReader reader(support::source_of(bytes, 10));
  ASSERT_TRUE(*reader.next());
  char two[2];
  EXPECT_EQ(*reader.read(two, 2), 2U);
  EXPECT_EQ((*reader.next())->type, "metadata");
  EXPECT_EQ(*reader.next(), std::nullopt);
  EXPECT_EQ(*reader.next(), std::nullopt);
  EXPECT_EQ(*reader.read(two, 2), 0U);
}

TEST(WarcReadTest, LineEndsBetweenRecordsMayBeAnyNumber) {
  const std::string bare(kFirst, sizeof kFirst - 1 - 4);
  EXPECT_EQ(read_records(bare)->size(), 1U);
  EXPECT_EQ(read_records(bare + kFirst)->size(), 2U);
  EXPECT_EQ(read_records("\r\n\r\n" + bare + "\r\n\r\n\r\n\r\n" + kFirst + "\n\n\n")->size(), 2U);
  EXPECT_EQ(read_records(gzipped(bare) + gzipped(bare))->size(), 2U);
  EXPECT_EQ(read_records("")->size(), 0U);
  EXPECT_EQ(read_records("\r\n")->size(), 0U);
  EXPECT_EQ(read_records(gzipped("") + gzipped(kFirst) + gzipped("\r\n"))->size(), 1U);
}

TEST(WarcReadTest, ALengthThatIsTooSmallCostsTheRestOfTheLine) {
  const std::string bytes =
      "WARC/1.0\r\nContent-Length: 3\r\n\r\nhello\r\n\r\n" + std::string(kFirst);
  EXPECT_EQ(read_records(bytes)->size(), 2U);
  EXPECT_EQ(read_records(bytes)->front().content, "hel");
  const std::string beyond =
      "WARC/1.0\r\nContent-Length: 3\r\n\r\n" + std::string(10'000, 'x') + "\r\n\r\n";
  EXPECT_EQ(read_records(beyond).error().kind(), Errc::TooLarge);
}

TEST(WarcReadTest, ZerosBehindTheLastMemberArePadding) {
  EXPECT_EQ(read_records(gzipped(kFirst) + std::string(100'000, '\0'), 1000)->size(), 1U);
  EXPECT_EQ(read_records(gzipped(kFirst) + "rubbish").error().kind(), Errc::Corrupt);
}

TEST(WarcReadTest, WhatIsCutOffIsAnErrorAndWhatCameBeforeIsRight) {
  const std::string first = gzipped(kFirst);
  for (const std::string& bytes : {first + first, std::string(kFirst) + kFirst}) {
    const std::size_t whole = bytes.size() / 2;
    for (std::size_t cut = 1; cut < whole; ++cut) {
      const std::string part = bytes.substr(0, whole + cut);
      WarcReader reader(support::source_of(part));
      ASSERT_TRUE(*reader.next());
      EXPECT_EQ(*support::content_of(reader), "hello");
      const auto second = reader.next();
      if (second.ok()) {
        const auto content = support::content_of(reader);
        // Only line ends may be missing, and only in a plain file.
        if (content.ok()) EXPECT_GE(part.size() + 4, bytes.size()) << cut;
        if (content.ok()) continue;
        EXPECT_EQ(content.error().kind(), Errc::Corrupt) << cut;
      } else {
        EXPECT_EQ(second.error().kind(), Errc::Corrupt) << cut;
      }
      EXPECT_EQ(reader.next().error().kind(), Errc::Corrupt) << "an error stays";
    }
  }
}

TEST(WarcReadTest, DamageIsFoundByTheMember) {
  std::string bytes = gzipped(kFirst);
  bytes[bytes.size() - 6] = static_cast<char>(bytes[bytes.size() - 6] ^ 1);  // its checksum
  const auto records = read_records(bytes);
  ASSERT_FALSE(records.ok());
  EXPECT_EQ(records.error().kind(), Errc::Corrupt);
}

TEST(WarcReadTest, WhatIsNoArchiveIsAnErrorWithAPlace) {
  const auto records = read_records(std::string(kFirst) + "\r\n<html>");
  ASSERT_FALSE(records.ok());
  EXPECT_EQ(records.error().kind(), Errc::Corrupt);
  EXPECT_THAT(records.error().message(), HasSubstr(std::to_string(sizeof kFirst + 1)));
  EXPECT_EQ(read_records("WARC/1.0\r\nA: b\r\n\r\n").error().kind(), Errc::Corrupt);
  for (const char* length : {"-1", "x", "1x", "99999999999999999999", ""}) {
    const std::string bytes = std::string("WARC/1.0\r\nContent-Length: ") + length + "\r\n\r\n";
    EXPECT_EQ(read_records(bytes).error().kind(), Errc::Corrupt) << length;
  }
}

TEST(WarcReadTest, AHeadIsBounded) {
  const auto record = [](std::size_t value_bytes) {
    return "WARC/1.0\r\nContent-Length: 0\r\nA: " + std::string(value_bytes, 'x') +
           "\r\n\r\n\r\n\r\n";
  };
  const std::size_t fits = kWarcHeadBytesMax - (record(0).size() - 4);
  EXPECT_EQ(read_records(record(fits))->size(), 1U);
  EXPECT_EQ(read_records(record(fits + 1)).error().kind(), Errc::TooLarge);
  EXPECT_EQ(read_records(std::string(kWarcHeadBytesMax + 1, 'x')).error().kind(), Errc::TooLarge);
}

TEST(WarcReadTest, AnErrorOfTheSourceIsReturned) {
  WarcReader reader([](char*, std::size_t) -> Result<std::size_t> {
    return Error{Errc::Unavailable, "the disk"};
  });
  EXPECT_EQ(reader.next().error().kind(), Errc::Unavailable);
}

TEST(WarcReadTest, ArcFilesOfBothVersionsAreRead) {
  const std::string v1 =
      "filedesc://a.arc 0.0.0.0 20140216050221 text/plain 75\n1 0 LiveWeb Capture\n"
      "URL IP-address Archive-date Content-type Archive-length\n\n\n"
      "http://a.example/x y 20140216050221 z 93.184.216.119 20140216050221 text/html 26\n"
      "HTTP/1.0 200 OK\r\n\r\nhello\r\n\n"
      "dns:a.example 2001:db8::1 201402160502 text/dns 3\nabc\n";
  const auto records = read_records(v1, 5);
  ASSERT_TRUE(records.ok()) << records.error().message();
  ASSERT_EQ(records->size(), 3U);
  EXPECT_EQ((*records)[0].record.type, "warcinfo");
  EXPECT_EQ((*records)[1].record.type, "response");
  EXPECT_EQ((*records)[1].record.url, "http://a.example/x y 20140216050221 z");
  EXPECT_EQ((*records)[1].record.at_us, 1'392'526'941'000'000);
  EXPECT_EQ((*records)[1].content, "HTTP/1.0 200 OK\r\n\r\nhello\r\n");
  EXPECT_EQ(find_header((*records)[1].record, "WARC-IP-Address"), "93.184.216.119");
  EXPECT_EQ(find_header((*records)[1].record, "WARC-Identified-Payload-Type"), "text/html");
  EXPECT_EQ((*records)[2].record.type, "resource");
  EXPECT_EQ((*records)[2].record.at_us, 1'392'526'920'000'000);
  EXPECT_EQ((*records)[2].content, "abc");

  const std::string v2 =
      "http://a.example/ 93.184.216.119 20140216050221 text/html 200 fac069150613fe55599cc7fa88aa"
      " - 209 a.arc 5\nhello\n";
  const auto one = read_records(v2);
  ASSERT_TRUE(one.ok()) << one.error().message();
  EXPECT_EQ((*one)[0].record.url, "http://a.example/");
  EXPECT_EQ((*one)[0].content, "hello");
}

}  // namespace
}  // namespace quern::web
