#include "search/snippet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/utf8.h"

namespace quern::search {
namespace {

Snippet snippet(std::string_view query, std::string_view text) {
  const Query parsed = parse_query(query);
  Highlighter highlighter(parsed);
  return highlighter.snippet(text);
}

std::string html(std::string_view query, std::string_view text) {
  return snippet(query, text).html;
}

// Characters that a reader sees.
std::size_t visible(std::string html) {
  for (const std::string_view tag : {"<mark>", "</mark>", "…"}) {
    for (std::size_t at = 0; (at = html.find(tag, at)) != std::string::npos;) {
      html.erase(at, tag.size());
    }
  }
  return static_cast<std::size_t>(
      std::ranges::count_if(html, [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string filler(int words) {
  std::string text;
  for (int i = 0; i < words; ++i) text += "filler" + std::to_string(i) + " ";
  return text;
}

TEST(SnippetTest, HitsAreMarkedInAllTheirForms) {
  EXPECT_EQ(html("run", "The running dogs run."),
            "The <mark>running</mark> dogs <mark>run</mark>.");
  EXPECT_EQ(html("\"running dogs\"", "Running dogs, dogs running"),
            "<mark>Running dogs</mark>, dogs running");
  EXPECT_EQ(html("conn*", "a connection"), "a <mark>connection</mark>");
  EXPECT_EQ(html("resume", "his Résumé"), "his <mark>Résumé</mark>");
  EXPECT_EQ(html("e-mail", "my e-mails"), "my <mark>e-mails</mark>");
}

TEST(SnippetTest, WhatMustNotBeThereIsNotMarked) {
  EXPECT_EQ(html("dog -cat", "dog cat"), "<mark>dog</mark> cat");
}

TEST(SnippetTest, ScriptsWithoutBlanksAreMarkedToTheLetter) {
  EXPECT_EQ(html("京都", "東京都庁"), "東<mark>京都</mark>庁");
  EXPECT_EQ(html("東京都", "東京都庁"), "<mark>東京都</mark>庁");
  EXPECT_EQ(html("京", "東京都庁"), "東<mark>京</mark>都庁");
  EXPECT_EQ(html("庁", "東京都庁"), "東京都<mark>庁</mark>");
}

TEST(SnippetTest, TheTextIsEscapedAndItsBlanksFolded) {
  EXPECT_EQ(html("x", " <b>&\"x\"\n\t\x01 y"), "&lt;b&gt;&amp;&quot;<mark>x</mark>&quot; y");
  EXPECT_EQ(html("x", "<mark>x</mark>"), "&lt;mark&gt;<mark>x</mark>&lt;/mark&gt;");
  EXPECT_EQ(html("x", "a \u202Ex\xff"), "a <mark>x</mark>\uFFFD");
}

TEST(SnippetTest, WithoutAHitItIsTheBeginningOfTheText) {
  const Snippet found = snippet("absent", "  " + filler(100));
  EXPECT_TRUE(found.html.starts_with("filler0 filler1")) << found.html;
  EXPECT_TRUE(found.html.ends_with("…"));
  EXPECT_FALSE(found.hit.has_value());
  EXPECT_EQ(html("type:pdf", "short"), "short");
  EXPECT_EQ(html("x", ""), "");
}

TEST(SnippetTest, AWindowIsCutBetweenWordsAndSaysSo) {
  const std::string text = filler(100) + "needle " + filler(100);
  const Snippet found = snippet("needle", text);
  EXPECT_TRUE(found.html.starts_with("…filler")) << found.html;
  EXPECT_TRUE(found.html.ends_with("…")) << found.html;
  EXPECT_NE(found.html.find(" <mark>needle</mark> "), std::string::npos);
  EXPECT_EQ(found.hit, text.find("needle"));
  EXPECT_LE(visible(found.html), kSnippetCharactersMax);
  EXPECT_GE(visible(found.html), kSnippetCharactersMax - 40);
}

TEST(SnippetTest, ThePlaceWithTheMostDifferentTermsIsShown) {
  const std::string text =
      "apple apple apple " + filler(100) + "apple and pear " + filler(100) + "pear apple";
  const Snippet found = snippet("apple pear", text);
  EXPECT_NE(found.html.find("<mark>apple</mark> and <mark>pear</mark>"), std::string::npos);
  EXPECT_EQ(found.hit, text.find("apple and"));
}

TEST(SnippetTest, OfPlacesAsGoodTheFirstIsShown) {
  const std::string text = filler(60) + "pear " + filler(60) + "pear";
  EXPECT_EQ(snippet("pear", text).hit, text.find("pear"));
}

TEST(SnippetTest, APhraseIsShownWhole) {
  const std::string text = "green " + filler(60) + "green apple pie " + filler(60);
  const Snippet found = snippet("\"green apple pie\"", text);
  EXPECT_NE(found.html.find("<mark>green apple pie</mark>"), std::string::npos) << found.html;
  EXPECT_EQ(found.hit, text.find("green apple"));
}

TEST(SnippetTest, BehindTheFirstHitOnlySoMuchIsLookedAt) {
  const std::string far(kSnippetBytesAfterHit + 100, '.');
  EXPECT_EQ(snippet("apple pear", "apple " + far + " apple pear").hit, 0U);
  const std::string near(kSnippetBytesAfterHit - 100, '.');
  EXPECT_GT(snippet("apple pear", "apple " + near + " apple pear").hit, 100U);
  // Before it, everything.
  EXPECT_EQ(snippet("pear", far + "pear").hit, far.size());
}

TEST(SnippetTest, AQuestionOfOneFieldIsMarkedOnlyWhereTitlesAre) {
  const Query query = parse_query("title:dog cat");
  Highlighter highlighter(query);
  EXPECT_EQ(highlighter.snippet("dog cat").html, "dog <mark>cat</mark>");
  EXPECT_EQ(highlighter.mark("Dogs & cat"), "<mark>Dogs</mark> &amp; <mark>cat</mark>");
}

TEST(SnippetTest, TitlesAreMarkedWhole) {
  const Query query = parse_query("needle");
  Highlighter highlighter(query);
  const std::string title = filler(100) + "needle";
  EXPECT_EQ(highlighter.mark(title), filler(100) + "<mark>needle</mark>");
}

TEST(SnippetTest, MatchesThatOverlapAreOneMark) {
  EXPECT_EQ(html("\"a b\" \"b c\"", "a b c"), "<mark>a b c</mark>");
  EXPECT_EQ(html("\"a a\"", "a a a"), "<mark>a a a</mark>");
  EXPECT_EQ(html("run runn*", "running"), "<mark>running</mark>");
}

TEST(SnippetTest, ATextWithoutBlanksIsCutAtCharacters) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "文字";
  const Snippet found = snippet("文字", text);
  EXPECT_TRUE(is_valid_utf8(found.html));
  EXPECT_LE(visible(found.html), kSnippetCharactersMax);
  EXPECT_EQ(visible(html("absent", std::string(5000, 'x'))), kSnippetCharactersMax);
}

TEST(SnippetTest, AnyBytesGiveValidShortHtml) {
  std::mt19937 random(11);
  const Query query = parse_query("a OR \"b a\" OR c* OR é OR 文");
  Highlighter highlighter(query);
  constexpr std::string_view kPieces[] = {"a ", "b ", "c",    "é",    "文",
                                          "<",  " ",  "\xff", "\xc3", "\x80"};
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    const std::size_t pieces = random() % 600;
    const std::size_t kinds = 1 + random() % std::size(kPieces);
    for (std::size_t i = 0; i < pieces; ++i) text += kPieces[random() % kinds];
    const Snippet found = highlighter.snippet(text);
    ASSERT_TRUE(is_valid_utf8(found.html));
    ASSERT_TRUE(!found.hit || *found.hit < text.size());
    ASSERT_LE(found.html.size(), kSnippetCharactersMax * 20);
    ASSERT_EQ(found.html.find("<mark></mark>"), std::string::npos);
    ASSERT_EQ(found.hit.has_value(), found.html.find("<mark>") != std::string::npos) << text;
  }
}

}  // namespace
}  // namespace quern::search
