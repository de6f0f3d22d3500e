// Page: words of a fetched page as they stand on it, its main text first, what it says of itself,
// where it leads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/web_date.h"
#include "worker/step_harness.h"
#include "worker/steps.h"
#include "worker/web_page_decode.h"
#include "worker/web_page_language.h"
#include "worker/web_page_links.h"
#include "worker/web_page_scripts.h"
#include "worker/web_page_text.h"

namespace quern::worker {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct Page {
  StepRun run;
  json::object child;
  json::object links;
  std::string main;
  std::string rest;

  std::string about(const char* key) const {
    const json::value* value = child.at("metadata").as_object().if_contains(key);
    return value == nullptr ? "(none)" : std::string(value->as_string());
  }
  // "href rel", each.
  std::vector<std::string> leads() const {
    std::vector<std::string> all;
    for (const json::value& link : links.at("links").as_array()) {
      std::string text(link.at("href").as_string());
      if (const json::value* rel = link.as_object().if_contains("rel")) {
        text += " " + std::string(rel->as_string());
      }
      all.push_back(text);
    }
    return all;
  }
};

Page page_of(const std::string& html, const std::string& metadata = R"({"url":"http://a/"})",
             const Limits& limits = {}) {
  StepTask task;
  task.filename = "index.html";
  task.metadata = metadata;
  Page page;
  page.run = run_task(page_step(), task, html, limits);
  EXPECT_FALSE(page.run.end);
  if (page.run.has("links")) page.links = json::parse(page.run.part("links")).as_object();
  if (!page.run.has("0.json")) return page;
  page.child = json::parse(page.run.part("0.json")).as_object();
  const std::string text = page.run.part("0.txt");
  const auto main_bytes = static_cast<std::size_t>(page.child.at("mainBytes").as_int64());
  page.main = text.substr(0, main_bytes);
  page.rest = text.substr(main_bytes);
  return page;
}

std::string folded(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n' || c == '\t';
    if (blank && (result.empty() || result.back() == ' ')) continue;
    result += blank ? ' ' : c;
  }
  while (result.ends_with(' ')) result.pop_back();
  return result;
}

TEST(WebPageTest, A20TheMainTextHasEachWordOnceAndNoneGlued) {
  const Page page = page_of(
      "<html><head><title>T</title><script>var no = 1;</script></head><body>"
      "<header>Site name</header><script>document.write('no')</script>"
      "<div><p>one</p><p>two</p></div><footer>Imprint</footer></body></html>");
  EXPECT_EQ(folded(page.main), "one two");
  EXPECT_EQ(folded(page.rest), "Site name Imprint");
}

TEST(WebPageTest, AChildHasThePagesOwnBytesAndThenItsLinksFollow) {
  const Page page = page_of("<title>T</title><p>Hello <a href=x>you</a>");
  std::vector<std::string> names;
  for (const auto& [name, body] : page.run.parts) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("0.json", "inherit-blob", "0.txt", "links"));
  EXPECT_EQ(page.child.at("filename").as_string(), "index.html");
  EXPECT_EQ(page.child.at("contentType").as_string(), "text/html");
  EXPECT_EQ(page.about("url"), "http://a/");
  EXPECT_EQ(page.about("title"), "T");
  EXPECT_EQ(page.links.at("kind").as_string(), "page");
}

TEST(WebPageTextTest, BlocksEndLinesAndInlinesDoNot) {
  EXPECT_EQ(page_of("<div>a<div>b</div>c</div>").main, "a\nb\nc\n");
  EXPECT_EQ(page_of("<p>sm<b>a</b>ll <i>words</i><p>next").main, "small words\n\nnext\n");
  EXPECT_EQ(page_of("one<br>two<br><br>three").main, "one\ntwo\n\nthree\n");
  EXPECT_EQ(page_of("<ul><li>i<li>j</ul>").main, "i\nj\n");
  EXPECT_EQ(page_of("<table><tr><td>a<td>b<tr><td>c<td>d</table>").main, "a\tb\nc\td\n");
  EXPECT_EQ(page_of("<dl><dt>k<dd>v</dl>").main, "k\nv\n");
  EXPECT_EQ(page_of("a&nbsp;b ex&shy;ample zero\xE2\x80\x8Bwidth").main, "a b example zerowidth\n");
}

TEST(WebPageTextTest, PreformattedTextKeepsItsLines) {
  EXPECT_EQ(page_of("<pre>if x:\n    y = 1\n\nz</pre>").main, "if x:\n    y = 1\n\nz\n");
}

TEST(WebPageTextTest, WhatNobodySeesIsNotThere) {
  const std::string shown = "<p>This is what a reader sees of it.</p>";
  for (const std::string hidden :
       {"<script>no</script>", "<style>no</style>", "<template>no</template>", "<!-- no -->",
        "<p hidden>no</p>", "<span aria-hidden='true'>no</span>",
        "<div style='color:red; Display : none'>no</div>", "<noscript>no</noscript>",
        "<svg><title>no</title><text>no</text></svg>", "<div hidden><div><b>no</b></div></div>"}) {
    EXPECT_EQ(page_of(shown + hidden).run.part("0.txt"), "This is what a reader sees of it.\n")
        << hidden;
  }
}

TEST(WebPageTextTest, APageThatIsMostlyHiddenIsShownByScripts) {
  EXPECT_EQ(page_of("<b>x</b><div style='display:none'>The page itself.</div>").main,
            "x\nThe page itself.\n");
  EXPECT_EQ(page_of("<noscript>Only without scripts</noscript>").main, "Only without scripts\n");
}

TEST(WebPageTextTest, MenusAreKeptBehindTheMainText) {
  const Page page =
      page_of("<nav><a href=a>Home</a><a href=b>News</a></nav><p>The text.</p><aside>Ads</aside>");
  EXPECT_EQ(page.main, "The text.\n");
  EXPECT_EQ(page.rest, "\nHome News\n\nAds\n");
}

TEST(WebPageTextTest, HeadingsAreToldOnceAndCut) {
  const Page page = page_of("<h1>The  <b>top</b></h1><p>x<h2>Part</h2><h2>Part</h2><h3> </h3><h2>" +
                            std::string(400, 'a') + "</h2>");
  const auto& headings = page.child.at("headings").as_array();
  ASSERT_EQ(headings.size(), 3U);
  EXPECT_EQ(headings[0].as_string(), "The top");
  EXPECT_EQ(headings[1].as_string(), "Part");
  EXPECT_EQ(headings[2].as_string().size(), kHeadingBytesMax);
}

TEST(WebPageTextTest, NoMoreHeadingsAreToldThanTheLimit) {
  std::string html;
  for (std::size_t i = 0; i < kHeadingsMax + 50; ++i) {
    html += "<h2>Part " + std::to_string(i) + "</h2>";
  }
  EXPECT_EQ(page_of(html).child.at("headings").as_array().size(), kHeadingsMax);
}

TEST(WebPageTextTest, ATextBeyondItsLimitIsCutOnACharacter) {
  Limits limits;
  limits.text_characters = 3;
  const Page page = page_of("äöüß", "{}", limits);
  EXPECT_EQ(page.run.part("0.txt"), "äöü");
  EXPECT_EQ(page.main, "äöü");
}

TEST(WebPageTextTest, APageOfNothingIsAChildWithoutWords) {
  for (const std::string html : {"", "<", "\xFF\xFE", "<!--", "<table>", "<html></html>", " "}) {
    const Page page = page_of(html);
    EXPECT_TRUE(page.run.has("0.txt")) << html;
    EXPECT_THAT(folded(page.main + page.rest), Not(HasSubstr("html"))) << html;
    EXPECT_TRUE(page.run.has("links")) << html;
  }
}

std::string decoded(std::string_view bytes, std::string_view type = "") {
  return decode_web_page(bytes, type, 1'000'000);
}

TEST(WebPageDecodeTest, TheMarkComesBeforeTheHeaderBeforeThePageBeforeALook) {
  EXPECT_EQ(decoded("\xEF\xBB\xBFß", "text/html; charset=windows-1251"), "ß");
  EXPECT_EQ(decoded("\xCF\xF0\xE8<meta charset=iso-8859-2>", "text/html; charset=\"Windows-1251\""),
            "При<meta charset=iso-8859-2>");
  EXPECT_THAT(decoded("<meta charset=windows-1251>\xCF\xF0\xE8"), HasSubstr("При"));
  EXPECT_THAT(decoded("<META content='text/html; charset = Shift_JIS' http-equiv=Content-Type>"
                      "\x8A\xBF\x8E\x9A"),
              HasSubstr("漢字"));
  EXPECT_THAT(decoded("<?xml version='1.0' encoding='ISO-8859-2'?>\xB3"), HasSubstr("ł"));
  EXPECT_EQ(decoded("Größe"), "Größe");
  EXPECT_THAT(decoded("<meta charset=no-such-thing>caf\xE9"), HasSubstr("café"));
}

TEST(WebPageDecodeTest, OnlyTagsThatSayACharsetDo) {
  EXPECT_EQ(charset_of_page("<!-- <meta charset=koi8-r> --><script charset=x></script>"), "");
  EXPECT_EQ(charset_of_page("<meta name=description content='charset=koi8-r'>"), "");
  EXPECT_EQ(charset_of_page("<meta\ncharset='utf-8'/>"), "utf-8");
  EXPECT_EQ(charset_of_page(std::string(kCharsetPrescanBytes, ' ') + "<meta charset=x>"), "");
}

TEST(WebPageDecodeTest, ServersThatSayLatinOfEverythingAreNotBelieved) {
  EXPECT_EQ(decoded("Größe", "text/html; charset=ISO-8859-1"), "Größe");
  EXPECT_EQ(decoded("Gr\xF6\xDF"
                    "e",
                    "text/html; charset=ISO-8859-1"),
            "Größe");
}

TEST(WebPageDecodeTest, WhatIsNoCharacterIsReplaced) {
  EXPECT_EQ(decoded("a\xFF"
                    "b\x01"
                    "c",
                    "text/html; charset=utf-8"),
            "a\uFFFDb c");
}

TEST(WebPageLinksTest, EachAddressOnceAsWrittenInTheOrderOfThePage) {
  const Page page = page_of(
      "<base href='/dir/'><link rel=canonical href=' /me '><a href=' b?x=1&amp;y=2 '>1</a>"
      "<map><area href=c></map><a href=b?x=1&y=2>2</a><iframe src=f></iframe><form "
      "action=no></form>"
      "<a href='#top'>top</a><a href='JavaScript:x()'>j</a><a href='mailto:a@b'>m</a><a "
      "href>e</a>");
  EXPECT_THAT(page.leads(), ElementsAre("/me canonical", "b?x=1&y=2", "c", "f frame"));
  EXPECT_EQ(page.links.at("base").as_string(), "/dir/");
  EXPECT_EQ(page.links.at("canonical").as_string(), "/me");
  EXPECT_EQ(page.about("canonical"), "/me");
  EXPECT_EQ(page.links.at("more").as_int64(), 0);
}

TEST(WebPageLinksTest, WhatALinkIsIsTold) {
  const Page page = page_of(
      "<link rel=alternate type='application/rss+xml' href=rss><link rel=stylesheet href=css>"
      "<link rel='alternate stylesheet' href=css2><link rel=alternate hreflang=de href=de>"
      "<link rel=alternate type='application/json+oembed' href=o><link rel=next href=2>"
      "<a rel='NoFollow UGC noopener' href=u>u</a><a rel=sponsored href=s>s</a>"
      "<a rel=nofollow href=t>t</a><a href=t>t</a>");
  EXPECT_THAT(page.leads(), ElementsAre("rss feed", "de alternate", "2 next", "u nofollow ugc",
                                        "s sponsored", "t"));
}

TEST(WebPageLinksTest, RobotsAndRefreshAreTold) {
  const Page page = page_of(
      "<meta name=ROBOTS content='NoIndex, nofollow,,noindex'><meta name=quern content=noarchive>"
      "<meta name=robots content='unavailable_after: Friday, 25-Jun-10 15:00:00 EST'>"
      "<meta http-equiv=Refresh content=\"5; URL='next.html'\">");
  std::vector<std::string> robots;
  for (const auto& word : page.links.at("robots").as_array()) {
    robots.emplace_back(word.as_string());
  }
  EXPECT_THAT(robots, ElementsAre("noindex", "nofollow", "noarchive",
                                  "unavailable_after: friday, 25-jun-10 15:00:00 est"));
  EXPECT_EQ(page.links.at("refresh").as_string(), "next.html");
}

TEST(WebPageLinksTest, LinksBeyondTheLimitsAreCounted) {
  std::string html = "<a href='" + std::string(kHrefBytesMax + 1, 'a') + "'>long</a>";
  for (std::size_t i = 0; i < kPageLinksMax + 5; ++i) {
    html += "<a href=" + std::to_string(i) + ">x</a>";
  }
  const Page page = page_of(html);
  EXPECT_EQ(page.leads().size(), kPageLinksMax);
  EXPECT_EQ(page.links.at("more").as_int64(), 6);
}

TEST(WebPageLinksTest, TheJsonOfLinksStaysBelowItsLimit) {
  std::string html;
  for (int i = 0; i < 1'000; ++i) {
    html += "<a href='" + std::to_string(i) + std::string(4'000, '\\') + "'>x</a>";
  }
  const Page page = page_of(html);
  EXPECT_LE(page.run.part("links").size(), kPageLinksJsonBytesMax);
  EXPECT_GT(page.leads().size(), 50U);
  EXPECT_EQ(page.leads().size() + static_cast<std::size_t>(page.links.at("more").as_int64()),
            1'000U);
}

TEST(WebPageAboutTest, WhatAPageSaysOfItselfIsMetadata) {
  const Page page = page_of(
      "<html lang=en_GB><title>\n The  title </title><meta name=Description content='About it'>"
      "<meta name=author content=Somebody><meta property=og:site_name content='The Site'>"
      "<meta property='article:published_time' content='2020-03-27T01:09:35.123+02:00'>"
      "<meta itemprop=dateModified content='Fri, 27 Mar 2020 01:09:35 GMT'>");
  EXPECT_EQ(page.about("title"), "The title");
  EXPECT_EQ(page.about("description"), "About it");
  EXPECT_EQ(page.about("author"), "Somebody");
  EXPECT_EQ(page.about("site_name"), "The Site");
  EXPECT_EQ(page.about("published"), "2020-03-27T01:09:35+02:00");
  EXPECT_EQ(page.about("modified"), "2020-03-27T01:09:35Z");
  EXPECT_EQ(page.about("language"), "en-GB");
}

TEST(WebPageAboutTest, ATitleIsFoundWhereThereIsNoTitle) {
  EXPECT_EQ(page_of("<meta property=og:title content=O><h1>H</h1>").about("title"), "O");
  EXPECT_EQ(page_of("<svg><title>icon</title></svg><h1>H <i>1</i></h1>").about("title"), "H 1");
  EXPECT_EQ(page_of("<p>none").about("title"), "(none)");
}

TEST(WebPageAboutTest, WhatThePageSaysToMachinesFillsTheGaps) {
  const Page page = page_of(
      "<meta name=author content=Head><script type='application/ld+json'>{\"@graph\":[{\"@type\":"
      "\"Person\",\"name\":\"No\"},{\"@type\":[\"NewsArticle\"],\"datePublished\":\"2020-03-27\","
      "\"author\":[{\"name\":\"A\"},\"B\"],\"publisher\":{\"name\":\"P\"}}]}</script>"
      "<script type='application/ld+json'>{broken</script>");
  EXPECT_EQ(page.about("published"), "2020-03-27");
  EXPECT_EQ(page.about("author"), "Head");
  EXPECT_EQ(page.about("site_name"), "P");
  EXPECT_EQ(page.main, "");
}

TEST(WebPageAboutTest, TheLanguageIsThatOfTheTagElseThatOfTheText) {
  const std::string german =
      "<p>Die Brücke ist älter als die Mauern der Stadt, und das wird auch jedem gesagt, der sie "
      "sich ansieht, denn von ihr ist nicht viel zu sehen.";
  EXPECT_EQ(page_of("<html lang=fr>" + german).about("language"), "fr");
  EXPECT_EQ(
      page_of("<meta http-equiv=Content-Language content='it, en'>" + german).about("language"),
      "it");
  EXPECT_EQ(page_of(german).about("language"), "de");
  EXPECT_EQ(page_of("<p>OK").about("language"), "(none)");
}

TEST(WebPageLanguageTest, LettersAndSmallWordsTell) {
  const auto twice = [](std::string_view text) {
    return language_of(std::string(text) + " " + std::string(text));
  };
  EXPECT_EQ(twice("It is said that the bridge was built by those who came with the ships"), "en");
  EXPECT_EQ(twice("Le pont est plus ancien que les murs de la ville, et on le dit dans la rue"),
            "fr");
  EXPECT_EQ(twice("El puente es más antiguo que los muros de la ciudad y se dice en las calles"),
            "es");
  EXPECT_EQ(twice("Мост старше, чем стены города, и это говорят всем, кто приезжает, чтобы"), "ru");
  EXPECT_EQ(twice("Міст старший, ніж мури міста, і це кажуть усім, хто приїжджає, щоб її"), "uk");
  EXPECT_EQ(twice("Η γέφυρα είναι παλαιότερη από τα τείχη της πόλης και το λένε σε όλους"), "el");
  EXPECT_EQ(twice("这座城市的桥梁比城墙还要古老，众所周知，来到这里的人都会听到"), "zh");
  EXPECT_EQ(twice("この町の橋は城壁よりも古く、訪れる人は皆そのことを聞かされます"), "ja");
  EXPECT_EQ(twice("Xylophone quartz jumbo vexed fjord nymph glyph waltz brick sphinx"), "");
  EXPECT_EQ(language_of("the of and"), "");
}

TEST(WebPageScriptsTest, ScriptsAndStylesAreEmptyAndNothingElseIs) {
  EXPECT_EQ(without_scripts("a<script x='>'>b</script>c<STYLE>d</Style >e").html,
            "a<script x='>'></script>c<STYLE></Style >e");
  for (const std::string_view same :
       {"<!-- <script> -->a<!-- </script> -->", "<a title='<script>'>b</a><i title='</script>'>",
        "<textarea><script>a</textarea>b", "<script>a", "<script", "<p title=a\"b>c", "<",
        "<script><!-- <script>a</script> --></script>b", "<!--><script></script>", "a < b > c"}) {
    EXPECT_EQ(without_scripts(same).html, same);
  }
  EXPECT_EQ(without_scripts("<!----!><script>a</script>").html, "<!----!><script></script>");
}

TEST(WebDateTest, DatesHaveOneForm) {
  EXPECT_EQ(iso_date("2020-03-27"), "2020-03-27");
  EXPECT_EQ(iso_date("2020-03"), "2020-03");
  EXPECT_EQ(iso_date(" 2020-03-27T01:09Z "), "2020-03-27T01:09:00Z");
  EXPECT_EQ(iso_date("2020-03-27 01:09:35 -0400"), "2020-03-27T01:09:35-04:00");
  EXPECT_EQ(iso_date("20200327"), "2020-03-27");
  EXPECT_EQ(iso_date("2020/3/7"), "2020-03-07");
  EXPECT_EQ(iso_date("Sat, 07 Sep 2002 00:00:01 GMT"), "2002-09-07T00:00:01Z");
  EXPECT_EQ(iso_date("7 Sep 02 10:00 EST"), "2002-09-07T10:00:00-05:00");
  EXPECT_EQ(iso_date("March 27, 2020"), "2020-03-27");
}

TEST(WebDateTest, WhatIsNoDateIsNone) {
  for (const char* text : {"", "yesterday", "2020-13-01", "2021-02-29", "03/04/2020", "2020",
                           "1585264175", "2020-03-27x", "May the fourth be with you, always"}) {
    EXPECT_EQ(iso_date(text), "") << text;
  }
}

}  // namespace
}  // namespace quern::worker
