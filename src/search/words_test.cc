#include "search/words.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "base/utf8.h"
#include "search/letter.h"

namespace quern::search {
namespace {

std::string_view mark_of(Token::Kind kind) {
  switch (kind) {
    case Token::Kind::Word:
      return "";
    case Token::Kind::Stem:
      return "=";
    case Token::Kind::Pair:
      return "+";
    case Token::Kind::Last:
      return ".";
  }
  return "?";
}

// "runs =run": words as they are, stems with =, pairs with +, last letters with a dot.
std::string cut(std::string_view text) {
  WordCutter cutter;
  cutter.begin(text);
  std::string all;
  for (Token token; cutter.next(token);) {
    if (!all.empty()) all += ' ';
    all.append(mark_of(token.kind)).append(token.text);
  }
  return all;
}

// The words alone.
std::string cut_words(WordCutter& cutter, const std::string& text) {
  std::string all;
  cutter.begin(text);
  for (Token token; cutter.next(token);) {
    if (token.kind == Token::Kind::Word) all.append(token.text).append(" ");
  }
  return all;
}

TEST(WordsTest, WordsAreFoldedAndTheirStemsStandBesideThem) {
  EXPECT_EQ(cut("The Running dogs"), "the running =run dogs =dog");
  EXPECT_EQ(cut("run dog"), "run dog");
  EXPECT_EQ(cut(""), "");
  EXPECT_EQ(cut(" \t\n-()"), "");
}

TEST(WordsTest, CaseAccentsWidthAndLigaturesGo) {
  EXPECT_EQ(cut("STRASSE Straße"), "strasse =strass strasse =strass");
  EXPECT_EQ(cut("ﬁ ﬃ"), "fi ffi");
  EXPECT_EQ(cut("ＡＢＣ１２"), "abc12");
  EXPECT_EQ(cut("Žižek ŽIŽEK Z\u030Ciz\u030Cek"), "zizek zizek zizek");
  EXPECT_EQ(cut("ΆΛΦΑ άλφα Σίσυφος ΣΊΣΥΦΟΣ"), "αλφα αλφα σισυφοσ σισυφοσ");
  EXPECT_EQ(cut("Ёлка елка"), "елка елка");
  EXPECT_EQ(cut("Ørsted Łódź encyclopædia"), "orsted =orst lodz encyclopaedia");
  EXPECT_EQ(cut("x² ①"), "x2 1");
}

TEST(WordsTest, TurkishLettersFoldAsUnicodeSaysForAllLanguages) {
  EXPECT_EQ(cut("İstanbul ISTANBUL"), "istanbul istanbul");
  EXPECT_EQ(cut("ırmak"), "ırmak");
}

TEST(WordsTest, AWordWithAccentsHasTheStemOfTheWordWithout) {
  EXPECT_EQ(cut("résumés"), "resumes =resum");
}

TEST(WordsTest, ApostrophesBetweenLettersAreNothing) {
  EXPECT_EQ(cut("don't don’t DON＇T"), "dont dont dont");
  EXPECT_EQ(cut("O'Brien obrien"), "obrien =brien obrien");
  EXPECT_EQ(cut("Smith's"), "smiths =smith");
  EXPECT_EQ(cut("'quoted' ‘quoted’"), "quoted =quot quoted =quot");
  EXPECT_EQ(cut("5'10 rock'n'roll"), "5 10 rocknroll =rocknrol");
  EXPECT_EQ(cut("צה״ל"), "צהל");
}

TEST(WordsTest, WhatAnArticleIsJoinedToIsFoundAlone) {
  EXPECT_EQ(cut("l'homme"), "lhomme =lhomm =homme =homm");
  EXPECT_EQ(cut("L’été qu'elle x"), "lete =ete quelle =quell =elle =ell x");
  EXPECT_EQ(cut("l'été x"), "lete =ete x");
  EXPECT_EQ(cut("I'll I've d'a x"), "ill ive da x");
}

TEST(WordsTest, PunctuationSeparates) {
  EXPECT_EQ(cut("3.14 1,000"), "3 14 1 000");
  EXPECT_EQ(cut("c++ e-mail foo_bar"), "c e mail foo bar");
  EXPECT_EQ(cut("Quern™ ½ (1)⑴"), "quern 1");
  EXPECT_EQ(cut("a\u200Bb"), "a b");
}

TEST(WordsTest, InvisibleCharactersEndNoWord) {
  EXPECT_EQ(cut("soft\u00ADhyphen"), "softhyphen");
  EXPECT_EQ(cut("\uFEFFword\u200D"), "word");
  EXPECT_EQ(cut("\u0301\u00AD"), "");
}

TEST(WordsTest, VowelSignsOfIndicScriptsStayAndArabicOnesGo) {
  EXPECT_EQ(cut("हिन्दी"), "हिन्दी");
  EXPECT_EQ(cut("தமிழ்"), "தமிழ்");
  EXPECT_EQ(cut("مُحَمَّد محمد أحمد"), "محمد محمد احمد");
  EXPECT_EQ(cut("كتـــاب"), "كتاب");
}

TEST(WordsTest, DigitsOfAnyScriptAreTheSame) {
  EXPECT_EQ(cut("٢٠٢٠ २०२० ๒๐๒๐"), "2020 2020 2020");
}

TEST(WordsTest, HangulIsWordsHoweverItIsStored) {
  EXPECT_EQ(cut("한국어 검색"), "한국어 검색");
  EXPECT_EQ(cut("\u1112\u1161\u11AB\u1100\u116E\u11A8"), "한국");
}

TEST(WordsTest, ScriptsWithoutBlanksBecomePairs) {
  EXPECT_EQ(cut("東京都"), "+東京 +京都 .都");
  EXPECT_EQ(cut("山"), ".山");
  EXPECT_EQ(cut("iPhone手机 x"), "iphone =iphon +手机 .机 x");
  EXPECT_EQ(cut("ﾃﾞｰﾀ データ"), "+デー +ータ .タ +デー +ータ .タ");
  EXPECT_EQ(cut("か\u3099く"), "+がく .く");
  EXPECT_EQ(cut("㍿x"), "+株式 +式会 +会社 .社 x");
  EXPECT_EQ(cut("ไทย"), "+ไท +ทย .ย");
}

TEST(WordsTest, EmojiAreWordsWithoutTheirSkin) {
  EXPECT_EQ(cut("ok👍🏽!"), "ok 👍");
  EXPECT_EQ(cut("👍👍"), "👍 👍");
  EXPECT_EQ(cut("❤\uFE0F"), "❤");
}

TEST(WordsTest, BytesThatAreNoTextSeparate) {
  EXPECT_EQ(cut(std::string_view("a\0b\xff"
                                 "c\xc3",
                                 6)),
            "a b c");
  EXPECT_EQ(cut("\xed\xa0\x80x\xf4\x90\x80\x80y"), "x y");
}

TEST(WordsTest, TokensSayWhereTheyStand) {
  const std::string text = "¡Hé\u0301llo! 東京";
  WordCutter cutter;
  cutter.begin(text);
  Token token;
  ASSERT_TRUE(cutter.next(token));
  EXPECT_EQ(text.substr(token.begin, token.end - token.begin), "Hé\u0301llo");
  ASSERT_TRUE(cutter.next(token));
  EXPECT_EQ(text.substr(token.begin, token.end - token.begin), "東京");
  ASSERT_TRUE(cutter.next(token));
  EXPECT_EQ(text.substr(token.begin, token.end - token.begin), "京");
  EXPECT_FALSE(cutter.next(token));
  EXPECT_FALSE(cutter.next(token));
}

TEST(WordsTest, TokensLongerThanTheLimitAreCutAtACharacter) {
  EXPECT_EQ(cut(std::string(70'000, 'x')), std::string(kTokenBytesMax, 'x'));
  std::string wide = "x";
  for (int i = 0; i < 100; ++i) wide += "ж";
  const std::string folded = cut(wide);
  EXPECT_EQ(folded.size(), kTokenBytesMax - 1);
  EXPECT_TRUE(is_valid_utf8(folded));
}

TEST(WordsTest, TheStemOfAFoldedWord) {
  WordCutter cutter;
  EXPECT_EQ(cutter.stem("connections"), "connect");
  EXPECT_EQ(cutter.stem("connections"), "connect");
  EXPECT_EQ(cutter.stem("связи"), "связи");
  EXPECT_EQ(cutter.stem("x2s"), "x2s");
  EXPECT_EQ(cutter.stem(""), "");
  const std::string too_long(kTokenBytesMax, 's');
  EXPECT_EQ(cutter.stem(too_long), too_long);
}

TEST(WordsTest, FoldingIsIdempotentForEveryCharacter) {
  WordCutter cutter;
  for (char32_t c = 1; c <= 0x10ffff; ++c) {
    if (c >= 0xd800 && c < 0xe000) continue;
    std::array<char, 4> bytes = {};
    const std::string text = "a" + std::string(bytes.data(), write_utf8(c, bytes.data()));
    const std::string once = cut_words(cutter, text);
    ASSERT_EQ(cut_words(cutter, once), once) << "U+" << std::hex << static_cast<std::uint32_t>(c);
    ASSERT_TRUE(is_valid_utf8(once));
  }
}

TEST(WordsTest, AnyBytesAreCutIntoBoundedTokensInOrder) {
  std::mt19937 random(7);
  WordCutter cutter;
  for (int round = 0; round < 20'000; ++round) {
    std::string text(random() % 60, '\0');
    for (char& c : text)
      c = static_cast<char>(random() % 4 == 0 ? 0x20 + random() % 0x60 : random());
    std::size_t before = 0;
    cutter.begin(text);
    for (Token token; cutter.next(token);) {
      ASSERT_FALSE(token.text.empty());
      ASSERT_LE(token.text.size(), kTokenBytesMax);
      ASSERT_TRUE(is_valid_utf8(token.text));
      ASSERT_LE(before, token.begin);
      ASSERT_LT(token.begin, token.end);
      ASSERT_LE(token.end, text.size());
      before = token.begin;
    }
  }
}

}  // namespace
}  // namespace quern::search
