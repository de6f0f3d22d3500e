// Page on bytes that nobody meant: cut off anywhere, changed anywhere, built to take for ever.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <random>

#include "base/utf8.h"
#include "worker/step_harness.h"
#include "worker/steps.h"
#include "worker/web_page.h"
#include "worker/web_page_data.h"
#include "worker/web_page_language.h"
#include "worker/web_page_main.h"
#include "worker/web_page_scripts.h"
#include "worker/web_page_text.h"

namespace quern::worker {
namespace {

namespace json = boost::json;

constexpr char kPage[] =
    "<!DOCTYPE html><html lang='en'><head><meta charset=utf-8><title>A &amp; B</title>"
    "<meta name=robots content='noindex, unavailable_after: 2030-01-01'><base href='/x/'>"
    "<meta http-equiv=refresh content='5; url=next'><style>p > a { color: red }</style>"
    "<script type='application/ld+json'>{\"@type\":\"Article\",\"author\":[{\"name\":\"N\"}]}"
    "</script></head><body class='page'><header id=top><nav><a href='/1' rel='next'>One</a>"
    "</nav></header><!-- a comment --><main><h1>Head</h1><p>Some text, with commas, and "
    "<b>more</b> of it; Größe und 漢字 and \U0001F600.</p><pre>a\n  b\n</pre><table><tr><th>k<td>v"
    "</table><script>if (a < b) { document.write('<p>no</p>') }</script><noscript>no</noscript>"
    "<svg><title>t</title><path d='M0 0'/></svg><ul><li>i<li hidden>j</ul></main>"
    "<form><input name=q value='x'><select><option>1<option>2</select><textarea>t</textarea></form>"
    "<footer style='display:none'>foot</footer><iframe src=frame></iframe></body></html>";
constexpr char kSitemap[] =
    "<?xml version='1.0' encoding='utf-8'?><!DOCTYPE urlset [<!ENTITY a 'b'>]><urlset xmlns='x'>"
    "<url><loc>http://a/1?x=1&amp;y=2</loc><lastmod>2020-03-27T01:02:03Z</lastmod></url>"
    "<url><loc><![CDATA[http://a/2]]></loc><image:image><image:loc>i</image:loc></image:image>"
    "</url></urlset>";
constexpr char kFeed[] =
    "<rss version='2.0'><channel><link>http://a/</link><item><title>t</title><link>http://a/1"
    "</link><guid isPermaLink='true'>http://a/1</guid><pubDate>Sat, 07 Sep 2002 00:00:01 GMT"
    "</pubDate><enclosure url='e.mp3'/></item><atom:link rel='next' href='n'/></channel></rss>";

// Whatever it is: a child with its text or none, and links, in valid UTF-8 and JSON.
void expect_sound(const std::string& bytes) {
  StepTask task;
  task.filename = "x.html";
  const StepRun run = run_task(page_step(), task, bytes);
  ASSERT_FALSE(run.end);
  const json::value links = json::parse(run.part("links"));
  ASSERT_TRUE(links.at("links").is_array());
  if (!run.has("0.json")) return;
  const json::value child = json::parse(run.part("0.json"));
  const std::string text = run.part("0.txt");
  const auto main_bytes = static_cast<std::size_t>(child.at("mainBytes").as_int64());
  ASSERT_TRUE(is_valid_utf8(text));
  ASSERT_LE(main_bytes, text.size());
  ASSERT_TRUE(is_valid_utf8(text.substr(0, main_bytes)));
}

std::string all_text(const std::string& html) {
  const auto tree = HtmlTree::parse(html);
  const PageOutline outline = outline_of(*tree);
  return text_of(outline, main_text_of(outline), UINT32_MAX).text;
}

// One to four changes: a byte, a piece doubled, a piece gone, a piece of the other.
std::string mutated(std::string bytes, std::mt19937& random) {
  const auto below = [&random](std::size_t n) { return n == 0 ? 0 : random() % n; };
  for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
    const std::size_t at = below(bytes.size());
    const std::size_t length = below(40);
    switch (below(4)) {
      case 0:
        if (!bytes.empty()) bytes[at] = static_cast<char>(below(256));
        break;
      case 1:
        bytes.insert(below(bytes.size()), bytes.substr(at, length));
        break;
      case 2:
        bytes.erase(at, length);
        break;
      default:
        bytes.insert(at, "<>\"'&;!-/=\0"[below(11)] + std::string(below(3), '-'));
    }
  }
  return bytes;
}

TEST(WebPageHostileTest, WhatIsCutOffAnywhereIsStillRead) {
  for (const std::string whole : {kPage, kSitemap, kFeed}) {
    for (std::size_t length = 0; length <= whole.size(); ++length) {
      ASSERT_NO_FATAL_FAILURE(expect_sound(whole.substr(0, length))) << length;
    }
  }
}

TEST(WebPageHostileTest, WhatIsChangedAnywhereIsStillRead) {
  std::mt19937 random(20);
  for (int i = 0; i < 800; ++i) {
    for (const char* whole : {kPage, kSitemap, kFeed}) {
      const std::string bytes = mutated(whole, random);
      ASSERT_NO_FATAL_FAILURE(expect_sound(bytes)) << bytes;
    }
  }
}

TEST(WebPageHostileTest, BytesOfNoKindAreStillRead) {
  std::mt19937 random(8);
  for (int i = 0; i < 300; ++i) {
    std::string bytes(random() % 2'000, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    ASSERT_NO_FATAL_FAILURE(expect_sound(bytes));
    ASSERT_NO_FATAL_FAILURE(expect_sound("\x1F\x8B\x08" + bytes));
  }
}

std::size_t times(std::string_view text, std::string_view word) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string_view::npos; ++at) ++count;
  return count;
}

// The parser sees no script, and whatever is changed, what stands outside of them is read the same.
TEST(WebPageHostileTest, LeavingScriptsOutTakesNoWordOfThePage) {
  std::mt19937 random(21);
  for (int i = 0; i < 2'000; ++i) {
    const std::string html = valid_utf8(mutated(kPage, random));
    const std::string stripped = all_text(without_scripts(html).html);
    const std::string whole = all_text(html);
    for (const char* word : {"One", "Head", "commas", "more", "Größe", "kv", "foot"}) {
      ASSERT_EQ(times(stripped, word), times(whole, word)) << word << " in " << html;
    }
  }
}

TEST(WebPageHostileTest, APageThatTakesTooLongIsReadWithoutItsTags) {
  std::string page = "<title>T</title><script>no</script>";
  for (int i = 0; i < 200'000; ++i) page += "<div><b>";
  const WebPage read = read_web_page(page + "at last", 1'000'000, 50);
  EXPECT_FALSE(read.has_tags);
  EXPECT_TRUE(read.text.text.ends_with("at last"));
  EXPECT_EQ(read.text.text.find("no"), std::string::npos);
  EXPECT_EQ(read.text.main_bytes, read.text.text.size());
  EXPECT_TRUE(read_web_page("<title>T</title>", 1'000'000).has_tags);
}

// Each bound of what a page may say about itself.
TEST(WebPageHostileTest, WhatAPageSaysOfItselfIsBounded) {
  std::string robots;
  for (std::size_t i = 0; i < kRobotsWordsMax + 20; ++i) robots += std::to_string(i) + ",";
  robots += std::string(kRobotsWordBytesMax + 1, 'a');
  const WebPage many = read_web_page("<meta name=robots content='" + robots + "'>", 1'000);
  EXPECT_EQ(many.links.robots.size(), kRobotsWordsMax);
  const WebPage one = read_web_page(
      "<meta name=robots content='" + std::string(kRobotsWordBytesMax + 1, 'a') + ",noindex'>",
      1'000);
  EXPECT_EQ(one.links.robots, std::vector<std::string>{"noindex"});
  const std::string far(kHrefBytesMax + 1, 'a');
  const WebPage long_ones =
      read_web_page("<base href=" + far + "><link rel=canonical href=" + far +
                        "><meta http-equiv=refresh content='1;url=" + far + "'>",
                    1'000);
  EXPECT_EQ(long_ones.links.base + long_ones.links.canonical + long_ones.links.refresh, "");
}

TEST(WebPageHostileTest, DataForMachinesIsBounded) {
  const auto published = [](const std::string& data, std::size_t before) {
    std::string page;
    for (std::size_t i = 0; i < before; ++i) page += "<script type=application/ld+json>1</script>";
    return read_web_page(page + "<script type=application/ld+json>" + data + "</script>", 1'000)
        .about.published;
  };
  const std::string article = R"({"@type":"Article","datePublished":"2020-03-27"})";
  EXPECT_EQ(published(article, 0), "2020-03-27");
  EXPECT_EQ(published(article, kPageDataMax - 1), "2020-03-27");
  EXPECT_EQ(published(article, kPageDataMax), "");
  EXPECT_EQ(published(article + std::string(kPageDataBytesMax, ' '), 0), "");
  EXPECT_EQ(published("[[" + article + "]]", 0), "2020-03-27");
  const std::string deep(kPageDataDepthMax + 1, '[');
  EXPECT_EQ(published(deep + article + std::string(kPageDataDepthMax + 1, ']'), 0), "");
  EXPECT_EQ(published(std::string(100'000, '['), 0), "");
}

TEST(WebPageHostileTest, TheLanguageIsThatOfTheBeginning) {
  std::string text;
  while (text.size() < kLanguageBytesMax) text += "It is said that the bridge was built by them. ";
  const std::string german =
      "Die Brücke ist älter als die Mauern der Stadt und das ist nicht neu. ";
  std::string more = text;
  while (more.size() < 4 * kLanguageBytesMax) more += german;
  EXPECT_EQ(language_of(more), "en");
}

TEST(WebPageHostileTest, DepthDoesNotMatter) {
  std::string deep;
  for (int i = 0; i < 4'000; ++i) deep += "<div hidden><b class=nav><p>a,";
  expect_sound(deep);
  std::string tables;
  for (int i = 0; i < 500; ++i) tables += "<table><tr><td>text in a cell of some length, <td>";
  expect_sound(tables);
}

}  // namespace
}  // namespace quern::worker
