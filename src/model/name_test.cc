#include "model/name.h"

#include <gtest/gtest.h>

namespace quern::model {
namespace {

TEST(NameTest, LettersDigitsAndSomeSignsAreNames) {
  for (const char* name : {"a", "Z9", "_x", "leak-2016.v2", "0"}) {
    EXPECT_TRUE(validate_name("a counter", name).ok()) << name;
  }
  EXPECT_TRUE(validate_name("a counter", std::string(kNameBytesMax, 'x')).ok());
}

TEST(NameTest, WhatWouldNeedQuotingOrHidingIsNot) {
  for (const char* name : {"", ".", "..", ".hidden", "-rf", "a b", "a/b", "ü", "a\n", "a%"}) {
    const Result<> refused = validate_name("a counter", name);
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.error().kind(), Errc::Invalid);
    EXPECT_NE(refused.error().message().find("a counter"), std::string::npos);
  }
  EXPECT_FALSE(validate_name("a counter", std::string(kNameBytesMax + 1, 'x')).ok());
  EXPECT_FALSE(validate_name("a counter", std::string_view("a\0b", 3)).ok());
}

}  // namespace
}  // namespace quern::model
