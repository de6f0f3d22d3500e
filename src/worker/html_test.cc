// Html: words as they stand on the page, charsets, harmless layout, web archives, hostile pages.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "worker/base64.h"
#include "worker/html_clean.h"
#include "worker/html_decode.h"
#include "worker/html_text.h"
#include "worker/mht.h"
#include "worker/step_harness.h"
#include "worker/steps.h"

namespace quern::worker {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::uint64_t kMany = 1'000'000;

std::string words_of(std::string_view html) {
  const auto tree = HtmlTree::parse(html);
  return tree ? html_words(*tree, kMany).text : "(late)";
}

std::string cleaned(std::string_view html) {
  return clean_html(*HtmlTree::parse(html), {}).xhtml;
}

// The PDF's own text, by the Pdf step.
std::string text_in_pdf(const StepRun& run) {
  return run_step(pdf_step(), "a.pdf", run.part("0.blob")).part("0.txt");
}

TEST(HtmlTest, APageBecomesAPdfWithWordsTitleAndThumbnail) {
  const StepRun run = run_step(html_step(), "a.html",
                               "<title>The\n title</title><meta name=author content=Somebody>"
                               "<h1>Hello</h1><p>all of <b>you</b>");
  ASSERT_FALSE(run.end);
  EXPECT_THAT(run.part("0.json"),
              HasSubstr(R"("metadata":{"Title":"The title","Author":"Somebody"})"));
  EXPECT_EQ(run.part("0.txt"), "Hello\n\nall of you\n");
  EXPECT_THAT(run.part("0-thumbnail.jpg"), StartsWith("\xFF\xD8\xFF"));
  EXPECT_THAT(text_in_pdf(run), HasSubstr("all of you"));
}

TEST(HtmlTest, APageThatWasFetchedIsReadInTheCharsetOfItsAnswer) {
  StepTask task;
  task.filename = "a.test/";
  task.metadata = R"({"content_type":"text/html; charset=windows-1251"})";
  const StepRun run = run_task(html_step(), task, "<p>\xEF\xF0\xE8\xE2\xE5\xF2");
  EXPECT_EQ(run.part("0.txt"), "привет\n");
}

TEST(HtmlTextTest, LinesParagraphsAndCellsStandWhereTheyStood) {
  EXPECT_EQ(words_of("<p>One<br>two<p>three &amp;\n  four<ul><li>i<li>j</ul>"),
            "One\ntwo\n\nthree & four\n\ni\nj\n");
  EXPECT_EQ(words_of("<table><tr><td>a<td>b<tr><td>c<td>d</table>"), "a\tb\nc\td\n");
  EXPECT_EQ(words_of("<pre>x\n  y\n\n\nz</pre>"), "x\n  y\n\n\nz\n");
  EXPECT_EQ(words_of("a<span>b</span> c&nbsp;d ex&shy;ample"), "ab c d example\n");
  EXPECT_EQ(words_of("see <img src=x alt='a house'>now <input value=text>"),
            "see a house now text\n");
}

TEST(HtmlTextTest, WhatNobodySeesIsNotThere) {
  EXPECT_EQ(words_of("<script>a()</script><style>b{}</style><template>c</template><!-- d -->e"),
            "e\n");
}

TEST(HtmlTextTest, ATextBeyondItsLimitIsCutOnACharacter) {
  const HtmlWords words = html_words(*HtmlTree::parse("äöüß"), 3);
  EXPECT_EQ(words.text, "äöü\n");
  EXPECT_TRUE(words.was_cut);
}

TEST(HtmlDecodeTest, CharsetsAreFoundByMarkValidityWordAndGuess) {
  const auto decoded = [](std::string_view bytes) { return decode_html(bytes, "", kMany); };
  EXPECT_EQ(decoded("<meta charset=iso-8859-1>Größe"), "<meta charset=iso-8859-1>Größe");
  EXPECT_THAT(decoded("<meta charset='windows-1251'>\xCF\xF0\xE8"), HasSubstr("При"));
  EXPECT_THAT(decoded("<meta content='text/html; charset=Shift_JIS'>\x8A\xBF\x8E\x9A"),
              HasSubstr("漢字"));
  EXPECT_THAT(decoded("<?xml version='1.0' encoding='ISO-8859-2'?>\xB3"), HasSubstr("ł"));
  EXPECT_THAT(decoded("<meta charset=iso-2022-jp>\x1B$B4A;z\x1B(B"), HasSubstr("漢字"));
  EXPECT_EQ(decode_html("\xE9t\xE9", "latin1", kMany), "été");
  EXPECT_EQ(decoded(std::string_view("\xFF\xFE<\0p\0>\0\xE9\0", 10)), "<p>é");
  EXPECT_EQ(decoded("<meta charset=no-such-thing>caf\xE9"), "<meta charset=no-such-thing>café");
}

TEST(HtmlCleanTest, NothingIsLeftThatRunsOrFetches) {
  const std::string clean = cleaned(
      "<a href='http://x'>link</a><img src='http://x/y.png' alt=pic><p onclick='a()' "
      "style='background:url(http://x)'>p</p><script>s()</script><link href=http://x>");
  EXPECT_THAT(clean, Not(HasSubstr("http")));
  EXPECT_THAT(clean, Not(HasSubstr("onclick")));
  EXPECT_THAT(clean, Not(HasSubstr("s()")));
  EXPECT_THAT(clean, HasSubstr("linkpic<p>p</p>"));
}

TEST(HtmlCleanTest, DepthAndNestedTablesAreBounded) {
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "<div>";
  const std::string clean = cleaned(deep + "bottom");
  EXPECT_THAT(clean, HasSubstr("bottom"));
  EXPECT_LT(clean.size(), 2'000U);
  std::string tables;
  for (int i = 0; i < 20; ++i) tables += "<table><tr><td>";
  std::size_t count = 0;
  const std::string few = cleaned(tables + "inside");
  for (std::size_t at = few.find("<table"); at != std::string::npos;
       at = few.find("<table", at + 1)) {
    ++count;
  }
  EXPECT_EQ(count, static_cast<std::size_t>(kHtmlTablesMax));
}

TEST(HtmlCleanTest, ALongPageIsCut) {
  EXPECT_FALSE(clean_html(*HtmlTree::parse("short"), {}).was_cut);
  std::string page;
  while (page.size() <= kCleanBytesMax) page += "A line of a long page that says little. ";
  page += "<p>more<p>and more";
  EXPECT_TRUE(clean_html(*HtmlTree::parse(page), {}).was_cut);
}

TEST(HtmlHostileTest, TagsInTagsWithoutEndBecomeADocument) {
  std::string page;
  for (int i = 0; i < 20'000; ++i) page += "<div><b>";
  const StepRun run = run_step(html_step(), "a.html", page + "at last");
  ASSERT_FALSE(run.end);
  EXPECT_THAT(run.part("0.txt"), HasSubstr("at last"));
  EXPECT_THAT(run.part("0.blob"), StartsWith("%PDF-"));
}

TEST(HtmlHostileTest, APageThatTakesTooLongIsLeft) {
  std::string page;
  for (int i = 0; i < 200'000; ++i) page += "<div><b>";
  EXPECT_FALSE(HtmlTree::parse(page, 50));
  EXPECT_EQ(without_tags("<a>b<c>d"), " b d");
}

TEST(HtmlHostileTest, PagesOfNothingAreDocumentsToo) {
  for (const std::string page : {"", "<", "\xFF\xFE", "<!--", "<table>"}) {
    const StepRun run = run_step(html_step(), "a.html", page);
    ASSERT_FALSE(run.end);
    EXPECT_THAT(run.part("0.blob"), StartsWith("%PDF-")) << page;
    EXPECT_TRUE(run.has("0-thumbnail.jpg")) << page;
  }
}

// A red dot.
constexpr char kPng[] =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";

std::string web_archive() {
  return std::string(
             "From: <Saved>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related;\r\n"
             "\tboundary=\"x=y\"\r\n\r\n--x=y\r\nContent-Type: text/html; "
             "charset=\"iso-8859-1\"\r\n"
             "Content-Transfer-Encoding: quoted-printable\r\n\r\n"
             "<p>caf=E9 and a lo=\r\nng line<img src=3D\"cid:dot\">\r\n--x=y\r\n"
             "Content-Type: image/png\r\nContent-Transfer-Encoding: base64\r\n"
             "Content-ID: <dot>\r\n\r\n") +
         kPng + "\r\n--x=y--\r\n";
}

TEST(WebArchiveTest, ThePageAndItsPicturesAreFound) {
  const auto archive = read_web_archive(web_archive());
  ASSERT_TRUE(archive);
  EXPECT_THAT(archive->html, StartsWith("<p>caf\xE9 and a long line<img src=\"cid:dot\">"));
  EXPECT_EQ(archive->charset, "iso-8859-1");
  EXPECT_EQ(archive->pictures.at("cid:dot"), *base64_decoded(kPng));
}

TEST(WebArchiveTest, ItBecomesADocument) {
  StepTask task;
  task.filename = "a.mht";
  task.detected_type = "multipart/related";
  const StepRun run = run_task(html_step(), task, web_archive());
  ASSERT_FALSE(run.end);
  EXPECT_EQ(run.part("0.txt"), "café and a long line\n");
  EXPECT_THAT(run.part("0.blob"), HasSubstr("/Image"));
}

TEST(WebArchiveTest, PartsInPartsEnd) {
  std::string bytes;
  for (int i = 0; i < 100; ++i) {
    bytes += fmt::format("Content-Type: multipart/related; boundary=b{0}x\n\n--b{0}x\n", i);
  }
  EXPECT_FALSE(read_web_archive(bytes + "Content-Type: text/html\n\nhello"));
}

TEST(HtmlTest, APdfCarriesOnlyTheLettersThatItUses) {
  const std::string page = "<h1>Grüße</h1><p>Ein <b>kurzer</b> Brief, Привет, שלום";
  const StepRun run = run_step(html_step(), "a.html", page);
  EXPECT_LT(run.part("0.blob").size(), 20'000U);
  EXPECT_EQ(text_in_pdf(run), "Grüße\nEin kurzer Brief, Привет, שלום\n");
}

TEST(HtmlTest, TheSameBytesGiveTheSamePartsOnAnyDay) {
  const std::string page = "<h1>A</h1>漢字 שלום<table><tr><td>x</table>";
  const StepRun first = run_step(html_step(), "a.html", page);
  ::setenv("TZ", "Asia/Tokyo", 1);
  ::tzset();
  const timespec pause{1, 100'000'000};
  ::nanosleep(&pause, nullptr);
  const StepRun second = run_step(html_step(), "a.html", page);
  ::unsetenv("TZ");
  EXPECT_EQ(first.parts, second.parts);
  EXPECT_EQ(first.parts.size(), 4U);
}

}  // namespace
}  // namespace quern::worker
