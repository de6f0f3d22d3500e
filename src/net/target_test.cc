#include "net/target.h"

#include <gtest/gtest.h>

namespace quern::net {
namespace {

using Segments = std::vector<std::string>;
using Parameters = std::vector<std::pair<std::string, std::string>>;

struct TargetCase {
  std::string text;
  Segments segments;
  Parameters parameters;
};

TEST(TargetTest, SplitsThenDecodes) {
  const TargetCase cases[] = {
      {"/", {}, {}},
      {"*", {}, {}},
      {"/a", {"a"}, {}},
      {"/a/", {"a", ""}, {}},
      {"//a", {"", "a"}, {}},
      {"/a%2Fb/c", {"a/b", "c"}, {}},
      {"/../%2e%2E", {"..", ".."}, {}},
      {"/a+b%20c", {"a+b c"}, {}},
      {"/%C3%A9", {"\xC3\xA9"}, {}},
      {"/?", {}, {}},
      {"/s?q=a+b&n=1", {"s"}, {{"q", "a b"}, {"n", "1"}}},
      {"/s?flag&e=&=v&&x=%26%3D", {"s"}, {{"flag", ""}, {"e", ""}, {"", "v"}, {"x", "&="}}},
      {"/s?a=b=c?d", {"s"}, {{"a", "b=c?d"}}},
      {"http://host:80/a?b=c", {"a"}, {{"b", "c"}}},
      {"http://host", {}, {}},
      {"http://host?x=y", {}, {{"x", "y"}}},
  };
  for (const TargetCase& one : cases) {
    const auto target = parse_target(one.text);
    ASSERT_TRUE(target.ok()) << one.text;
    EXPECT_EQ(target->segments, one.segments) << one.text;
    EXPECT_EQ(target->parameters, one.parameters) << one.text;
  }
}

TEST(TargetTest, RefusesMalformedOnes) {
  for (const char* text : {"", "a", "/%", "/%4", "/%4g", "/%g4", "/a?b=%", "/a?%zz=1", "/%00",
                           "/a?b=%00", "/a#b", "ftp://host/a", "host:80"}) {
    const auto target = parse_target(text);
    ASSERT_FALSE(target.ok()) << text;
    EXPECT_EQ(target.error().kind(), Errc::Invalid) << text;
  }
}

TEST(TargetTest, EachLimitIsTheLargestThatPasses) {
  const auto kind = [](const std::string& text) { return parse_target(text).error().kind(); };
  std::string segments;
  for (std::size_t i = 0; i < kTargetSegmentsMax; ++i) segments += "/s";
  EXPECT_TRUE(parse_target(segments).ok());
  EXPECT_EQ(kind(segments + "/s"), Errc::TooLarge);

  std::string parameters = "/?";
  for (std::size_t i = 0; i < kTargetParametersMax; ++i) parameters += "p&";
  EXPECT_TRUE(parse_target(parameters).ok());
  EXPECT_EQ(kind(parameters + "p"), Errc::TooLarge);

  const std::string longest = "/" + std::string(kTargetBytesMax - 1, 'x');
  EXPECT_TRUE(parse_target(longest).ok());
  EXPECT_EQ(kind(longest + "x"), Errc::TooLarge);
}

TEST(TargetTest, FindsTheFirstParameter) {
  const auto target = parse_target("/?a=1&b=2&a=3");
  EXPECT_EQ(*target->find("a"), "1");
  EXPECT_EQ(target->find("c"), nullptr);
}

TEST(TargetTest, WhatAClientBuildsComesBack) {
  const std::string awkward = "a/b c?d&e=f%g+h#\xC3\xA9\x01";
  std::string text;
  append_segment(text, "files");
  append_segment(text, awkward);
  append_query(text, awkward, awkward);
  append_query(text, "n", "1");
  const auto target = parse_target(text);
  ASSERT_TRUE(target.ok()) << text;
  EXPECT_EQ(target->segments, (Segments{"files", awkward}));
  EXPECT_EQ(target->parameters, (Parameters{{awkward, awkward}, {"n", "1"}}));
}

}  // namespace
}  // namespace quern::net
