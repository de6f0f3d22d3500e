#include "fileset/judge.h"

#include <gtest/gtest.h>

#include "fileset/part_note.h"

namespace quern::fileset {
namespace {

using Verdict = Judged::Verdict;

Expected half() {
  Expected expected;
  expected.have = 50;
  expected.total = 100;
  expected.etag = "\"a\"";
  expected.last_modified = "then";
  expected.bytes_max = 1000;
  return expected;
}
Expected nothing() {
  Expected expected;
  expected.bytes_max = 1000;
  return expected;
}
Verdict verdict(const Expected& expected, int status, const web::HeaderList& headers) {
  return judge_answer(expected, status, headers).verdict;
}

TEST(JudgeTest, ARangeIsTakenOnlyIfItIsExactlyTheRest) {
  EXPECT_EQ(verdict(half(), 206, {{"Content-Range", "bytes 50-99/100"}}), Verdict::Append);
  EXPECT_EQ(verdict(half(), 206, {{"Content-Range", "bytes 50-79/100"}}), Verdict::Append)
      << "some of it, with more to come";
  EXPECT_EQ(verdict(half(), 206, {{"Content-Range", "bytes 50-99/*"}}), Verdict::Append);
  for (const char* range :
       {"", "bytes", "bytes 0-99/100", "bytes 49-99/100", "bytes 51-99/100", "bytes 50-99/101",
        "bytes 50-100/100", "bytes 50-49/100", "bytes 50-/100", "bytes -99/100", "items 50-99/100",
        "bytes 50-99", "bytes */100", "bytes +50-99/100", "bytes 50-99/100x",
        "bytes 50-9223372036854775807/*", "bytes 50-99999999999999999999/*"}) {
    EXPECT_EQ(verdict(half(), 206, {{"Content-Range", range}}), Verdict::Odd) << range;
  }
  EXPECT_EQ(verdict(half(), 206, {{"Content-Range", "bytes 50-99/100"}, {"Content-Length", "51"}}),
            Verdict::Odd);
  EXPECT_EQ(
      verdict(half(), 206, {{"Content-Range", "bytes 50-99/100"}, {"Content-Encoding", "gzip"}}),
      Verdict::Odd);
  EXPECT_EQ(verdict(nothing(), 206, {{"Content-Range", "bytes 0-99/100"}}), Verdict::Odd)
      << "nobody asked for a range";
}

TEST(JudgeTest, ARangeOfAnotherVersionIsAChange) {
  const web::HeaderList::value_type range{"Content-Range", "bytes 50-99/100"};
  EXPECT_EQ(verdict(half(), 206, {range, {"ETag", "\"a\""}, {"Last-Modified", "then"}}),
            Verdict::Append);
  EXPECT_EQ(verdict(half(), 206, {range, {"ETag", "\"b\""}}), Verdict::Changed);
  EXPECT_EQ(verdict(half(), 206, {range, {"Last-Modified", "now"}}), Verdict::Changed);
}

TEST(JudgeTest, AWholeAnswerBeginsAgain) {
  const Judged judged = judge_answer(half(), 200, {{"Content-Length", "90"}, {"ETag", "\"b\""}});
  EXPECT_EQ(judged.verdict, Verdict::Begin);
  EXPECT_EQ(judged.total, 90);
  EXPECT_EQ(judge_answer(nothing(), 200, {}).total, std::nullopt);
  EXPECT_EQ(verdict(nothing(), 200, {}), Verdict::Begin);
  EXPECT_EQ(verdict(half(), 200, {{"Content-Length", "90"}}), Verdict::Odd)
      << "another length, and no tag any more";
  EXPECT_EQ(verdict(nothing(), 200, {{"Content-Length", "-1"}}), Verdict::Odd);
  EXPECT_EQ(verdict(nothing(), 200, {{"Content-Length", "99999999999999999999"}}), Verdict::Odd);
}

TEST(JudgeTest, TheManifestsSizeIsToldFromAnothers) {
  Expected expected = nothing();
  expected.size = 100;
  EXPECT_EQ(verdict(expected, 200, {{"Content-Length", "100"}}), Verdict::Begin);
  EXPECT_EQ(verdict(expected, 200, {{"Content-Length", "40"}, {"Content-Encoding", "gzip"}}),
            Verdict::Begin)
      << "it may be what the coding makes of it";
  const Judged other = judge_answer(expected, 200, {{"Content-Length", "99"}});
  EXPECT_EQ(other.verdict, Verdict::Odd);
  EXPECT_TRUE(other.other_size);
  EXPECT_FALSE(other.other_tag);
  Expected tagged = half();
  tagged.size = 100;
  EXPECT_TRUE(judge_answer(tagged, 200, {{"Content-Length", "99"}, {"ETag", "\"b\""}}).other_tag);
}

TEST(JudgeTest, WhatIsTooLargeIsNotBegun) {
  EXPECT_EQ(verdict(nothing(), 200, {{"Content-Length", "1001"}}), Verdict::TooLarge);
  Expected expected = half();
  expected.total.reset();
  EXPECT_EQ(verdict(expected, 206, {{"Content-Range", "bytes 50-99/1001"}}), Verdict::TooLarge);
}

TEST(JudgeTest, ARangeThatCannotBeMeansTheEndOrAChange) {
  Expected expected = half();
  EXPECT_EQ(verdict(expected, 416, {{"Content-Range", "bytes */100"}}), Verdict::Changed);
  EXPECT_EQ(verdict(expected, 416, {{"Content-Range", "bytes */50"}}), Verdict::Changed);
  EXPECT_EQ(verdict(expected, 416, {}), Verdict::Changed);
  expected.total.reset();
  EXPECT_EQ(verdict(expected, 416, {{"Content-Range", "bytes */50"}}), Verdict::Complete);
  EXPECT_EQ(verdict(nothing(), 416, {{"Content-Range", "bytes */0"}}), Verdict::NotBytes);
}

TEST(JudgeTest, OtherStatusesHaveNoBytes) {
  for (const int status : {0, 202, 204, 301, 304, 403, 404, 500}) {
    EXPECT_EQ(verdict(half(), status, {}), Verdict::NotBytes) << status;
  }
}

TEST(JudgeTest, OnlyAStrongTagOrADateMarksAVersion) {
  EXPECT_EQ(if_range_of("\"a\"", "then"), "\"a\"");
  EXPECT_EQ(if_range_of("W/\"a\"", "then"), "then");
  EXPECT_EQ(if_range_of("a", ""), "");
  EXPECT_EQ(if_range_of("", ""), "");
}

TEST(PartNoteTest, ANoteComesBackAsItWas) {
  PartNote note;
  note.url = "https://a/b";
  note.total = 12;
  note.etag = "\"x\"";
  note.last_modified = "then";
  note.encoding = "gzip";
  note.synced = 7;
  note.complete = true;
  note.answers = 3;
  note.terminal_url = "https://c/d";
  note.headers = {{"A", "b"}, {"A", "c \xC3\xBC"}};
  note.request_head = "GET / HTTP/1.1\r\n\r\n";
  note.address = "192.0.2.1";
  note.began_us = 99;
  const std::string text = to_text(note);
  EXPECT_EQ(to_text(parse_part_note(text).value()), text);
  EXPECT_EQ(parse_part_note(text)->headers, note.headers);
  note.total.reset();
  EXPECT_EQ(parse_part_note(to_text(note))->total, std::nullopt);
  note.etag = "\xFF";
  EXPECT_TRUE(parse_part_note(to_text(note)).ok()) << "whatever bytes a header has";
}

TEST(PartNoteTest, WhatIsNoNoteIsCorrupt) {
  const std::string good = to_text({});
  ASSERT_TRUE(parse_part_note(good).ok());
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(parse_part_note(good.substr(0, size)).ok()) << size;
  }
  for (const char* change : {"\"synced\":-1", "\"synced\":\"1\"", "\"synced\":null"}) {
    std::string text = good;
    text.replace(text.find("\"synced\":0"), 10, change);
    EXPECT_EQ(parse_part_note(text).error().kind(), Errc::Corrupt) << text;
  }
  for (const char* text : {"[]", "null", "{}", "7"}) EXPECT_FALSE(parse_part_note(text).ok());
}

}  // namespace
}  // namespace quern::fileset
