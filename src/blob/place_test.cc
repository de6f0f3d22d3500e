#include "blob/place.h"

#include <gtest/gtest.h>

namespace quern::blob {
namespace {

TEST(PlaceTest, NamesAreMadeOfTheSessionAndANumber) {
  const std::string session = session_name(17, "3f9a2c1b");
  EXPECT_EQ(session, "17-3f9a2c1b");
  EXPECT_EQ(place_name(session, 0), "17-3f9a2c1b/000/000000");
  EXPECT_EQ(place_name(session, 999), "17-3f9a2c1b/000/000999");
  EXPECT_EQ(place_name(session, 1000), "17-3f9a2c1b/001/001000");
  EXPECT_EQ(place_name(session, 123'456'789), "17-3f9a2c1b/123456/123456789");
}

TEST(PlaceTest, WhatItMakesItKnows) {
  for (const std::int64_t number : {0, 1, 999, 1000, 999'999, 1'000'000, 2'000'000'000}) {
    EXPECT_TRUE(is_place(place_name(session_name(1, "0badcafe"), number))) << number;
  }
  EXPECT_TRUE(is_session("17-3f9a2c1b"));
}

TEST(PlaceTest, WhatOthersMadeItLeavesAlone) {
  for (const char* text :
       {"", "17", "17-", "-3f", "17-xyz", "a7-3f", "17-3f/000", "17-3f//000000", "17-3f/000/",
        "17-3f/000/00000a", "17-3f/000/.quern-tmp-1", "17-3f/000/000/1", "../17-3f/000/000000",
        "17-3f/../000000", "17-3f/000/000000/"}) {
    EXPECT_FALSE(is_place(text)) << text;
  }
  for (const char* text : {"", "17", "lost+found", "17-3f/", ".", "17-3F"}) {
    EXPECT_FALSE(is_session(text)) << text;
  }
}

}  // namespace
}  // namespace quern::blob
