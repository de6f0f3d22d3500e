#include "step/clean_text.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/utf8.h"

namespace quern::step {
namespace {

std::string cleaned_in_two(std::string_view bytes, std::size_t cut, std::int64_t characters_max) {
  TextCleaner cleaner(characters_max);
  std::string out;
  cleaner.feed(bytes.substr(0, cut), out);
  cleaner.feed(bytes.substr(cut), out);
  cleaner.finish(out);
  return out;
}

std::string cleaned_by_bytes(std::string_view bytes) {
  TextCleaner cleaner;
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); ++i) cleaner.feed(bytes.substr(i, 1), out);
  cleaner.finish(out);
  return out;
}

TEST(CleanTextTest, CleanTextStaysAsItIs) {
  for (const char* text : {"", "plain", "tab\there\nand there\n", "Grüße, Привет, 日本語, 🙂",
                           "\xEF\xBB\xBFmark", "U+FFFD itself: \xEF\xBF\xBD"}) {
    EXPECT_EQ(clean_text(text), text);
  }
}

TEST(CleanTextTest, LineEndsBecomeLineFeeds) {
  EXPECT_EQ(clean_text("a\r\nb\rc\nd\xC2\x85"
                       "e\r\r\nf\n\rg\r"),
            "a\nb\nc\nd\ne\n\nf\n\ng\n");
}

TEST(CleanTextTest, ControlsBecomeBlanks) {
  using namespace std::string_view_literals;
  EXPECT_EQ(clean_text("a\0b\f\x1B[0m\x7F\xC2\x80\xC2\x9F!"sv), "a b  [0m   !");
}

TEST(CleanTextTest, BytesThatAreNoCharacterAreReplacedOneByOne) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(clean_text("caf\xE9!"), "caf" + bad + "!");
  EXPECT_EQ(clean_text("\xC3(\xE2\x82 \xF0\x9F\x99"),
            bad + "(" + bad + bad + " " + bad + bad + bad);
  EXPECT_EQ(clean_text("\xC0\x80\xED\xA0\x80\xF4\x90\x80\x80\xFF"),
            bad + bad + bad + bad + bad + bad + bad + bad + bad + bad);
}

TEST(CleanTextTest, NoncharactersGo) {
  EXPECT_EQ(clean_text("a\xEF\xBF\xBE"
                       "b\xEF\xBF\xBF"
                       "c\xEF\xB7\x90"
                       "d\xF0\x9F\xBF\xBE"
                       "e"),
            "abcde");
  // Private use and unassigned ones stay.
  EXPECT_EQ(clean_text("\xEE\x80\x80\xF3\xA0\x80\x80"), "\xEE\x80\x80\xF3\xA0\x80\x80");
}

TEST(CleanTextTest, TheTextIsCutOnACharacter) {
  struct Row {
    std::string_view text;
    std::string_view first_three;
    bool was_cut;
  };
  for (const auto& [text, first_three, was_cut] :
       std::vector<Row>{{"abc", "abc", false},
                        {"abcd", "abc", true},
                        {"äöü", "äöü", false},
                        {"äöüß", "äöü", true},
                        {"ab\r\n", "ab\n", false},
                        {"ab\r\n\n", "ab\n", true},
                        {"ab\xFF\xFF", "ab\xEF\xBF\xBD", true},
                        {"abc\xEF\xBF\xBE", "abc", false},
                        {"🙂🙂🙂🙂", "🙂🙂🙂", true},
                        {"abc\xC3", "abc", true}}) {
    TextCleaner cleaner(3);
    std::string out;
    cleaner.feed(text, out);
    cleaner.finish(out);
    EXPECT_EQ(out, first_three);
    EXPECT_EQ(cleaner.was_cut(), was_cut) << text;
    EXPECT_EQ(cleaner.characters(), 3);
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
      EXPECT_EQ(cleaned_in_two(text, cut, 3), first_three) << text << " cut at " << cut;
    }
  }
}

TEST(CleanTextTest, EverySplitGivesTheSame) {
  // Bytes that begin, continue, break and end characters, in every row of four.
  const std::string bytes = {'a',    '\r',   '\n',   '\x85', '\xC2', '\xE2', '\x82', '\xAC',
                             '\xF0', '\x9F', '\xBF', '\xBE', '\xED', '\xFF', '\0',   '\xE0'};
  for (std::size_t i = 0; i < bytes.size() * bytes.size() * bytes.size() * bytes.size(); ++i) {
    std::string text;
    for (std::size_t n = i, k = 0; k < 4; ++k, n /= bytes.size()) text += bytes[n % bytes.size()];
    const std::string whole = clean_text(text);
    ASSERT_TRUE(is_valid_utf8(whole));
    ASSERT_EQ(cleaned_by_bytes(text), whole);
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
      ASSERT_EQ(cleaned_in_two(text, cut, kTextCharactersMax), whole);
    }
    ASSERT_EQ(clean_text(whole), whole) << "cleaning twice changes nothing";
  }
}

TEST(CleanTextTest, ATextIsCutAtACharacter) {
  EXPECT_EQ(cut_at_character("abc", 3), "abc");
  EXPECT_EQ(cut_at_character("abcd", 3), "abc");
  EXPECT_EQ(cut_at_character("abä", 3), "ab");
  EXPECT_EQ(cut_at_character("🙂", 3), "");
  EXPECT_EQ(cut_at_character("x", 0), "");
}

}  // namespace
}  // namespace quern::step
