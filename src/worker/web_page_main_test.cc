// The main text of pages that we made: what stands around it, what stands in it, pages without one.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/web_page_hints.h"
#include "worker/web_page_main.h"
#include "worker/web_page_text.h"

namespace quern::worker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string main_of(const std::string& html) {
  const auto tree = HtmlTree::parse(html);
  const PageOutline outline = outline_of(*tree);
  const PageText text = text_of(outline, main_text_of(outline), 10'000'000);
  return text.text.substr(0, text.main_bytes);
}

// A paragraph as people write them.
std::string paragraph(const std::string& topic) {
  return fmt::format(
      "<p>The {0} of the town is older than its walls, as everybody knows, and those who come to "
      "see it are told so at the gate, in the street, and once more when they leave the {0}.</p>",
      topic);
}

std::string story() {
  return paragraph("bridge") + paragraph("tower") + paragraph("market") + paragraph("harbour");
}

std::string menu(const std::string& word) {
  std::string html = "<ul>";
  for (int i = 0; i < 20; ++i)
    html += fmt::format("<li><a href='/{0}/{1}'>{0} {1}</a></li>", word, i);
  return html + "</ul>";
}

TEST(WebPageMainTest, MenusAndBoxesAroundAStoryAreNotOfIt) {
  const std::string text = main_of(
      "<body><div id=top>" + menu("Section") + "</div><div id=x>" + story() +
      "</div><div class=col>" + menu("Latest") +
      "</div><div class='page-footer'>All rights reserved, in all countries, for ever.</div>");
  EXPECT_THAT(text, AllOf(HasSubstr("The bridge of"), HasSubstr("The harbour of")));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("Section")), Not(HasSubstr("Latest"))));
}

TEST(WebPageMainTest, ListsOfLinksAndFormsInAStoryAreNotOfIt) {
  const std::string text = main_of(
      "<article><header><h1>The town</h1></header>" + paragraph("bridge") + paragraph("tower") +
      "<div class=share>Tell your friends</div>" + menu("Related") + paragraph("market") +
      "<form>Your address, please: <input name=mail><input type=submit></form>" +
      paragraph("harbour") + "<ul><li>the first gate</li><li>the second gate</li></ul></article>");
  EXPECT_THAT(text, AllOf(HasSubstr("The town"), HasSubstr("The harbour of"),
                          HasSubstr("the second gate")));
  EXPECT_THAT(
      text, AllOf(Not(HasSubstr("Related")), Not(HasSubstr("friends")), Not(HasSubstr("address"))));
}

TEST(WebPageMainTest, AStoryInSeveralPiecesIsOne) {
  std::string html = "<body><div class=menu>" + menu("Section") + "</div><div>";
  for (const char* topic : {"bridge", "tower", "market", "harbour"}) {
    html += "<section><div><div>" + paragraph(topic) + paragraph(topic) + "</div></div></section>";
  }
  const std::string text = main_of(html + "</div>");
  for (const char* topic : {"bridge", "tower", "market", "harbour"})
    EXPECT_THAT(text, HasSubstr(topic));
  EXPECT_THAT(text, Not(HasSubstr("Section")));
}

TEST(WebPageMainTest, TextInCellsAndBetweenBreaksIsAStoryToo) {
  const std::string line = "A line, of some length, that nobody has put into a paragraph";
  std::string lines;
  for (int i = 0; i < 12; ++i) lines += line + "<br>";
  const std::string text =
      main_of("<table><tr><td>" + menu("Section") + "</td><td>" + lines + "</td></tr></table>");
  EXPECT_THAT(text, HasSubstr(line));
  EXPECT_THAT(text, Not(HasSubstr("Section")));
}

TEST(WebPageMainTest, ATableOfThingsIsKeptAsAWhole) {
  std::string html = "<div>" + paragraph("bridge") + "</div><table><tr><th>Name<th>Length</tr>";
  for (int i = 0; i < 80; ++i) html += fmt::format("<tr><td>Bridge number {}<td>{} metres", i, i);
  const std::string text = main_of(html + "</table>");
  EXPECT_THAT(text, AllOf(HasSubstr("The bridge of"), HasSubstr("Bridge number 79")));
}

TEST(WebPageMainTest, APageOfLinksIsItsLinks) {
  const std::string text = main_of("<nav>" + menu("Section") + "</nav><h1>All years</h1>" +
                                   menu("Reports of the year of") + menu("Minutes of the year"));
  EXPECT_THAT(text, AllOf(HasSubstr("All years"), HasSubstr("Minutes of the year 19")));
  EXPECT_THAT(text, Not(HasSubstr("Section")));
}

TEST(WebPageMainTest, AListOfThingsWithAFewWordsOnEachIsKept) {
  std::string html = "<nav>" + menu("Section") + "</nav><main><h1>News</h1><ul>";
  for (int i = 0; i < 12; ++i) {
    html += fmt::format(
        "<li><h3><a href='/{0}'>Item number {0}</a></h3><p>What is new about it, in "
        "a few words, so that people go on.</p></li>",
        i);
  }
  const std::string text = main_of(html + "</ul></main>");
  EXPECT_THAT(text, AllOf(HasSubstr("Item number 0"), HasSubstr("Item number 11")));
  EXPECT_THAT(text, Not(HasSubstr("Section")));
}

TEST(WebPageMainTest, AShortPageKeepsEverythingThatCallsItselfNothingElse) {
  EXPECT_EQ(main_of("<div class=sidebar>no</div><div>Closed <a href=x>today</a></div><p>Thanks"),
            "Closed today\n\nThanks\n");
}

TEST(WebPageMainTest, APageThatCallsAllOfItselfSomethingElseIsBelievedLess) {
  EXPECT_THAT(main_of("<body class=sidebar><div id=footer>" + story() + "</div>"),
              HasSubstr("The harbour of"));
  EXPECT_THAT(main_of("<header>" + story() + "</header>"), HasSubstr("The harbour of"));
}

TEST(WebPageMainTest, IdeographsCountAsMuchAsWords) {
  std::string story;
  for (int i = 0; i < 6; ++i) {
    story +=
        "<p>这座城市的桥梁比城墙还要古老，众所周知，来到这里的人在城门口都会听到这个故事。</p>";
  }
  const std::string text = main_of("<div>" + menu("栏目") + "</div><div>" + story + "</div>");
  EXPECT_THAT(text, HasSubstr("这座城市"));
  EXPECT_THAT(text, Not(HasSubstr("栏目")));
}

TEST(WebPageHintsTest, NamesAreReadWordByWord) {
  EXPECT_TRUE(hints_of_names("site-footer").unlikely);
  EXPECT_TRUE(hints_of_names("leftSidebar").unlikely);
  EXPECT_TRUE(hints_of_names("share_buttons x").unlikely);
  EXPECT_TRUE(hints_of_names("articleBody").positive);
  const PageHints none = hints_of_names("shadow loading grad-adult");
  EXPECT_FALSE(none.unlikely || none.negative || none.positive);
}

// A heading's words as an id say nothing about what stands below it.
TEST(WebPageHintsTest, IdsThatAreSentencesSayNothing) {
  const auto tree =
      HtmlTree::parse("<div id='sharing-with-others-made-easy'>" + story() + "</div>");
  for (const PageElement& element : outline_of(*tree).elements) {
    EXPECT_FALSE(element.hints.unlikely);
  }
}

}  // namespace
}  // namespace quern::worker
