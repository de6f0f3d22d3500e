// Text: charsets, cleaning, pages, the PDF.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "worker/pdf_file.h"
#include "worker/shaping.h"
#include "worker/step_harness.h"
#include "worker/steps.h"
#include "worker/text_decode.h"
#include "worker/text_layout.h"
#include "worker/text_pdf.h"
#include "worker/thumbnail.h"
#include "worker/win_ansi.h"

namespace quern::worker {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::uint64_t kMany = 1'000'000;

TEST(TextDecodeTest, CharsetsAreFoundByMarkValidityPatternAndGuess) {
  const auto decoded = [](std::string_view bytes) { return decode_text(bytes, kMany).text; };
  EXPECT_EQ(decoded("Größe"), "Größe");
  EXPECT_EQ(decoded("\xEF\xBB\xBFGröße"), "Größe");
  EXPECT_EQ(decoded(std::string_view("\xFF\xFEG\0r\0\xF6\0\xDF\0e\0", 12)), "Größe");
  EXPECT_EQ(decoded(std::string_view("\xFE\xFF\0G\0r\0\xF6\0\xDF\0e", 12)), "Größe");
  EXPECT_EQ(decoded(std::string_view("h\0e\0l\0l\0o\0", 10)), "hello");
  EXPECT_EQ(decoded(std::string_view("\0h\0e\0l\0l\0o", 10)), "hello");
  EXPECT_EQ(decoded("Die Gr\xF6\xDF"
                    "e der T\xFCr ist sch\xF6n, \xFC"
                    "ber alles."),
            "Die Größe der Tür ist schön, über alles.");
  EXPECT_EQ(decoded("\xCF\xF0\xE8\xE2\xE5\xF2, \xEC\xE8\xF0! \xDD\xF2\xEE \xF2\xE5\xEA\xF1\xF2 "
                    "\xED\xE0 \xF0\xF3\xF1\xF1\xEA\xEE\xEC \xFF\xE7\xFB\xEA\xE5."),
            "Привет, мир! Это текст на русском языке.");
}

TEST(TextDecodeTest, TextIsCleanedAsTheServerDoes) {
  const auto cleaned = [](std::string_view bytes) { return decode_text(bytes, kMany).text; };
  EXPECT_EQ(cleaned("a\r\nb\rc\nd\xC2\x85"
                    "e"),
            "a\nb\nc\nd\ne");
  EXPECT_EQ(cleaned("a\x01"
                    "b\tc\x7F"
                    "d"),
            "a b\tc d");
  EXPECT_EQ(cleaned("a\xEF\xBF\xBE"
                    "b"),
            "ab");
  EXPECT_EQ(without_form_feeds(cleaned("a\fb")), "a b");
}

TEST(TextDecodeTest, ALongTextIsCutOnACharacter) {
  const DecodedText decoded = decode_text("äöüß", 3);
  EXPECT_EQ(decoded.text, "äöü");
  EXPECT_TRUE(decoded.was_cut);
  EXPECT_FALSE(decode_text("äöü", 3).was_cut);
}

TEST(TextLayoutTest, LinesAreBrokenAtBlanksTabsExpandedAndFormFeedsObeyed) {
  const std::string word(40, 'w');
  const Layout layout = lay_out(word + " " + word + " " + word + "\n\ta\tb\fnext", 100);
  ASSERT_EQ(layout.pages.size(), 2U);
  EXPECT_EQ(layout.pages[0], (Page{word + " " + word, word, "        a       b"}));
  EXPECT_EQ(layout.pages[1], Page{"next"});
  EXPECT_FALSE(layout.was_cut);
}

TEST(TextLayoutTest, AWordLongerThanALineIsCut) {
  const Layout layout = lay_out(std::string(kColumns + 5, 'x'), 100);
  EXPECT_EQ(layout.pages[0], (Page{std::string(kColumns, 'x'), "xxxxx"}));
}

TEST(TextLayoutTest, WideLettersTakeTwoColumns) {
  std::string wide;
  for (int i = 0; i < kColumns; ++i) wide += "漢";
  EXPECT_EQ(lay_out(wide, 100).pages[0].size(), 3U);
}

TEST(TextLayoutTest, PagesAreBounded) {
  std::string lines;
  for (int i = 0; i < kLines * 3; ++i) lines += "line\n";
  EXPECT_EQ(lay_out(lines, 100).pages.size(), 3U);
  const Layout cut = lay_out(lines, 2);
  EXPECT_EQ(cut.pages.size(), 2U);
  EXPECT_TRUE(cut.was_cut);
  EXPECT_EQ(lay_out("", 2).pages.size(), 1U);
}

TEST(WinAnsiTest, LettersOfViewersAreKnown) {
  EXPECT_EQ(to_win_ansi("aé€–"), "a\xE9\x80\x96");
  EXPECT_EQ(to_win_ansi("aж"), "a?");
  EXPECT_TRUE(is_plain("café – €"));
  EXPECT_FALSE(is_plain("привет"));
}

TEST(ShapingTest, RightToLeftRunsStandInTheOrderOfThePage) {
  const ShapedLine line = shape_line("abc שלום def");
  ASSERT_EQ(line.runs.size(), 3U);
  EXPECT_EQ(line.runs[0].plain, "abc ");
  EXPECT_EQ(line.runs[2].plain.find("def"), line.runs[2].plain.size() - 3);
  EXPECT_FALSE(line.right_to_left);
  // The last letter stands first.
  EXPECT_EQ(line.runs[1].glyphs.front().letters, U"ם");
  EXPECT_TRUE(shape_line("שלום עולם").right_to_left);
}

TEST(ShapingTest, LettersThatNobodyHasAreShownAsQuestionMarks) {
  const ShapedLine line = shape_line(
      "a\xF3\xB0\x80\x80"
      "b");  // private use
  std::string plain;
  for (const GlyphRun& run : line.runs) plain += run.plain;
  EXPECT_EQ(plain, "a?b");
}

std::string inflated_streams(const std::string& pdf) {
  std::string all;
  for (std::size_t at = pdf.find("stream\n"); at != std::string::npos;
       at = pdf.find("stream\n", at + 7)) {
    if (pdf.compare(at - 3, 3, "end") == 0) continue;
    std::string text(1 << 20, '\0');
    uLongf size = text.size();
    ::uncompress(reinterpret_cast<Bytef*>(text.data()), &size,
                 reinterpret_cast<const Bytef*>(pdf.data()) + at + 7, pdf.size() - at - 7);
    all += text.substr(0, size);
  }
  return all;
}

TEST(TextPdfTest, LatinTextCostsLittleAndNeedsNoFont) {
  const std::string pdf = text_pdf(lay_out("Hello (world) \\ café", 10));
  EXPECT_THAT(pdf, StartsWith("%PDF-1.6"));
  EXPECT_THAT(pdf, HasSubstr("/BaseFont/Courier"));
  EXPECT_EQ(pdf.find("FontFile"), std::string::npos);
  EXPECT_LT(pdf.size(), 1024U);
  EXPECT_THAT(inflated_streams(pdf), HasSubstr("(Hello \\(world\\) \\\\ caf\xE9)'"));
}

TEST(TextPdfTest, OtherLettersAreEmbeddedAsAFewGlyphs) {
  const std::string pdf = text_pdf(lay_out("Привет, 世界, שלום", 10));
  EXPECT_THAT(pdf, HasSubstr("/FontFile"));
  EXPECT_LT(pdf.size(), 30'000U);
  // Each glyph says which letter it is.
  EXPECT_THAT(inflated_streams(pdf), HasSubstr("<041F>"));
  EXPECT_THAT(inflated_streams(pdf), HasSubstr("<4E16>"));
}

TEST(TextPdfTest, TheSameTextGivesTheSameBytesWhateverWasMadeBefore) {
  const Layout layout = lay_out("Привет, 世界, नमस्ते", 10);
  const std::string first = text_pdf(layout);
  text_pdf(lay_out("สวัสดี ♫ שלום", 10));
  EXPECT_EQ(text_pdf(layout), first);
}

TEST(ThumbnailTest, ThePageBecomesASmallJpeg) {
  const auto jpeg = thumbnail_of(text_pdf(lay_out("Hello", 1)));
  ASSERT_TRUE(jpeg.has_value());
  EXPECT_THAT(*jpeg, StartsWith("\xFF\xD8\xFF"));
  EXPECT_FALSE(thumbnail_of("no PDF at all").has_value());
}

TEST(TextStepTest, ATextBecomesAPdfTextAndThumbnail) {
  const StepRun run = run_step(text_step(), "a/b.txt", "Hello\r\nworld\n");
  EXPECT_FALSE(run.end.has_value());
  ASSERT_EQ(run.parts.size(), 4U);
  EXPECT_EQ(run.parts[0].second,
            R"({"filename":"a/b.txt","contentType":"application/pdf","languageCode":"en",)"
            R"("metadata":{},"wantOcr":false,"wantSplitByPage":false})");
  EXPECT_THAT(run.part("0.blob"), StartsWith("%PDF-"));
  EXPECT_EQ(run.part("0.txt"), "Hello\nworld\n");
  EXPECT_THAT(run.part("0-thumbnail.jpg"), StartsWith("\xFF\xD8\xFF"));
}

TEST(TextStepTest, AnEmptyTextIsAnEmptyDocument) {
  const StepRun run = run_step(text_step(), "empty.txt", "");
  EXPECT_FALSE(run.end.has_value());
  EXPECT_EQ(run.part("0.txt"), "");
  EXPECT_TRUE(run.has("0.blob"));
}

TEST(TextStepTest, LongTextsAreCut) {
  Limits limits;
  limits.text_characters = 10;
  limits.text_pages = 1;
  const StepRun run = run_step(text_step(), "long.txt", std::string(1000, 'x'), limits);
  EXPECT_EQ(run.part("0.txt"), std::string(10, 'x'));
}

}  // namespace
}  // namespace quern::worker
