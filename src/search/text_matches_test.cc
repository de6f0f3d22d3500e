#include "search/text_matches.h"

#include <gtest/gtest.h>

namespace quern::search {
namespace {

TextMatches find(std::string_view query, std::string_view text,
                 std::vector<std::uint32_t> page_ends = {}) {
  return find_matches(parse_query(query), text, page_ends);
}

using Words = std::vector<std::string>;
using Pages = std::vector<PageMatches>;

TEST(TextMatchesTest, WordsAreToldAsTheyStandInTheText) {
  const TextMatches found =
      find("kingfisher", "Kingfisher, two kingfishers and a KINGFISHER. Kingfisher!");
  EXPECT_EQ(found.words, (Words{"Kingfisher", "kingfishers", "KINGFISHER"}));
  EXPECT_EQ(found.total, 4);
  EXPECT_FALSE(found.cut);
  EXPECT_TRUE(found.pages.empty()) << "nobody said where pages end";
}

TEST(TextMatchesTest, PrefixesAndPhrasesCountLikeInSnippets) {
  EXPECT_EQ(find("conn*", "a connection connects").words, (Words{"connection", "connects"}));
  EXPECT_EQ(find("\"running dogs\"", "running\r\n  dogs, dogs running").words,
            Words{"running dogs"});
  EXPECT_EQ(find("dog -cat", "dog cat").words, Words{"dog"});
  EXPECT_EQ(find("author:dog", "dog").total, 0) << "that was asked of another field";
  EXPECT_EQ(find("type:pdf", "pdf").total, 0);
  EXPECT_EQ(find("", "pdf").total, 0);
}

TEST(TextMatchesTest, OnePlaceIsOneMatchWhateverMatchesThere) {
  const TextMatches found = find("dog* dogs \"running dogs\"", "running dogs");
  EXPECT_EQ(found.total, 1);
  EXPECT_EQ(found.words.size(), 2u);
}

TEST(TextMatchesTest, EachPageHasItsCount) {
  //                                    0      7      14  18
  const TextMatches found = find("a", "a bb a\fcc a a\fdd\fa", {7, 14, 17, 17});
  EXPECT_EQ(found.pages, (Pages{{1, 2}, {2, 2}, {4, 1}}));
  EXPECT_EQ(found.total, 5);
  EXPECT_EQ(find("a", "a a", {1}).pages, (Pages{{1, 2}})) << "behind the last end: the last page";
}

TEST(TextMatchesTest, ListsAreBounded) {
  std::string text;
  std::vector<std::uint32_t> ends;
  for (std::size_t i = 0; i < kMatchPagesMax + 5; ++i) {
    text += "word" + std::to_string(i) + " ";
    ends.push_back(static_cast<std::uint32_t>(text.size()));
  }
  const TextMatches found = find("word*", text, ends);
  EXPECT_EQ(found.words.size(), kMatchWordsMax);
  EXPECT_EQ(found.pages.size(), kMatchPagesMax);
  EXPECT_EQ(found.total, static_cast<std::int64_t>(kMatchPagesMax) + 5);
  EXPECT_TRUE(found.cut);
}

TEST(TextMatchesTest, WordsOfAPhraseThatStandFarApartAreCountedOnly) {
  const std::string apart(kMatchWordBytesMax, '.');
  const TextMatches found = find("\"a b\"", "a" + apart + "b");
  EXPECT_EQ(found.total, 1);
  EXPECT_TRUE(found.words.empty());
}

TEST(TextMatchesTest, WhatStandsBehindTheLimitIsNotLookedFor) {
  std::string text(kMatchedTextBytesMax + 100, ' ');
  text.replace(5, 3, "dog");
  text.replace(text.size() - 5, 3, "dog");
  const TextMatches found = find("dog", text);
  EXPECT_EQ(found.total, 1);
  EXPECT_TRUE(found.cut);
}

}  // namespace
}  // namespace quern::search
