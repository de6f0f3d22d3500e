#include "tree/page_ends.h"

#include <gtest/gtest.h>

namespace quern::tree {
namespace {

TEST(PageEndsTest, AListComesBackAsItWas) {
  const PageEnds ends = {4, 4, 10};
  EXPECT_EQ(to_json(ends), "[4,4,10]");
  EXPECT_EQ(parse_page_ends("[4,4,10]"), ends);
  EXPECT_EQ(parse_page_ends("[4294967295]"), PageEnds{UINT32_MAX});
}

TEST(PageEndsTest, WhatIsNoListIsNone) {
  for (const char* text : {"", "[", "]", "[]", "4,4", "[4", "[4,]x", "[-1]", "[4 5]", "[5,4]",
                           "[1.5]", "[4294967296]", "[a]", "null"}) {
    EXPECT_TRUE(parse_page_ends(text).empty()) << text;
  }
}

TEST(PageEndsTest, TheyAscendWithinTheTextAndAreNotTooMany) {
  EXPECT_TRUE(are_page_ends({0, 3, 3, 9}, 9));
  EXPECT_FALSE(are_page_ends({0, 3, 9}, 8));
  EXPECT_FALSE(are_page_ends({3, 0}, 8));
  EXPECT_FALSE(are_page_ends({}, 8));
  EXPECT_TRUE(are_page_ends(PageEnds(kPageEndsMax, 1), 8));
  EXPECT_FALSE(are_page_ends(PageEnds(kPageEndsMax + 1, 1), 8));
  EXPECT_TRUE(parse_page_ends(to_json(PageEnds(kPageEndsMax + 1, 1))).empty());
}

}  // namespace
}  // namespace quern::tree
