#include "net/range.h"

#include <gtest/gtest.h>

namespace quern::net {
namespace {

struct RangeCase {
  const char* header;
  std::uint64_t size;
  RangeChoice choice;
};

TEST(RangeTest, FollowsTheRfc) {
  const RangeCase cases[] = {
      {"bytes=0-499", 1000, ByteRange{0, 500}},
      {"bytes=500-999", 1000, ByteRange{500, 500}},
      {"bytes=999-", 1000, ByteRange{999, 1}},
      {"bytes=0-", 1000, ByteRange{0, 1000}},
      {"bytes=0-0", 1000, ByteRange{0, 1}},
      {"bytes=990-2000", 1000, ByteRange{990, 10}},
      {"bytes=-500", 1000, ByteRange{500, 500}},
      {"bytes=-5000", 1000, ByteRange{0, 1000}},
      {"Bytes = 0-1 ", 1000, ByteRange{0, 2}},
      {"bytes=1000-", 1000, NotSatisfiable{}},
      {"bytes=1000-1001", 1000, NotSatisfiable{}},
      {"bytes=-0", 1000, NotSatisfiable{}},
      {"bytes=0-", 0, NotSatisfiable{}},
      {"bytes=-1", 0, NotSatisfiable{}},
      {"bytes=0-0,5-6", 1000, WholeContent{}},
      {"bytes=5-4", 1000, WholeContent{}},
      {"bytes=a-b", 1000, WholeContent{}},
      {"bytes=", 1000, WholeContent{}},
      {"bytes=-", 1000, WholeContent{}},
      {"bytes=5", 1000, WholeContent{}},
      {"bytes", 1000, WholeContent{}},
      {"", 1000, WholeContent{}},
      {"lines=0-1", 1000, WholeContent{}},
      {"bytes=--1", 1000, WholeContent{}},
      {"bytes=0 - 1", 1000, WholeContent{}},
      {"bytes=99999999999999999999-", 1000, WholeContent{}},
      {"bytes=0-9223372036854775807", 1000, ByteRange{0, 1000}},
  };
  for (const RangeCase& one : cases) {
    EXPECT_EQ(choose_range(one.header, one.size), one.choice) << one.header << " of " << one.size;
  }
}

TEST(RangeTest, IfRangeWantsTheSameStrongTag) {
  EXPECT_TRUE(if_range_allows(" \"a\" ", "\"a\""));
  EXPECT_FALSE(if_range_allows("\"b\"", "\"a\""));
  EXPECT_FALSE(if_range_allows("W/\"a\"", "W/\"a\""));
  EXPECT_FALSE(if_range_allows("Sat, 29 Oct 1994 19:43:31 GMT", "\"a\""));
}

TEST(RangeTest, IfNoneMatchTakesListsAndStars) {
  EXPECT_TRUE(etag_listed("\"x\", W/\"a\"", "\"a\""));
  EXPECT_TRUE(etag_listed(" * ", "\"a\""));
  EXPECT_FALSE(etag_listed("\"x\", \"y\"", "\"a\""));
  EXPECT_FALSE(etag_listed("", "\"a\""));
}

}  // namespace
}  // namespace quern::net
