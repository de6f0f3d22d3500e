#include "web/idna.h"

#include <gtest/gtest.h>

namespace quern::web {
namespace {

TEST(IdnaTest, NewerLettersAreKnownToAnOlderLibrary) {
  EXPECT_EQ(domain_to_ascii("\u1E9E.com").value(), "xn--zca.com") << "a capital sharp s";
  EXPECT_EQ(domain_to_ascii("\u10A0.com").value(), domain_to_ascii("\u2D00.com").value());
  EXPECT_EQ(domain_to_ascii("a\u180Eb\u206Ac.com").value(), "abc.com") << "passed over";
}

TEST(IdnaTest, LengthsAndHyphensAreForgiven) {
  const std::string label(70, 'x');
  EXPECT_EQ(domain_to_ascii(label + ".\u00DF").value(), label + ".xn--zca");
  EXPECT_EQ(domain_to_ascii("-a-.\u00DF..").value(), "-a-.xn--zca..");
}

TEST(IdnaTest, WhatMayNotStandInANameIsRefused) {
  for (const std::string_view name : {"\u202E.com", "\u0378.com", "\u064Aa", "\u200D.com"}) {
    EXPECT_EQ(domain_to_ascii(name).error().kind(), Errc::Invalid) << name;
  }
}

TEST(IdnaTest, ANameBeyondTheLimitIsRefused) {
  std::string name = "\u00FC";
  while (name.size() <= kDomainBytesMax) name += ".a";
  EXPECT_EQ(domain_to_ascii(name).error().kind(), Errc::Invalid);
  name.resize(kDomainBytesMax);
  EXPECT_TRUE(domain_to_ascii(name).ok());
}

}  // namespace
}  // namespace quern::web
