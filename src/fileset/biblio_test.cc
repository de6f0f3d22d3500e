#include "fileset/biblio.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fileset/head_scanner.h"
#include "io/file.h"
#include "support/corpus.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;

std::string page_of(std::string_view head) {
  return "<!DOCTYPE html><html><head>" + std::string(head) + "</head><body></body></html>";
}
json::object biblio_of(std::string_view head) {
  return html_biblio(page_of(head), "https://site.example/records/1");
}
std::string text_in(const json::object& biblio, std::string_view key) {
  const json::value* value = biblio.if_contains(key);
  return value == nullptr || !value->is_string() ? "" : std::string(value->get_string());
}
std::vector<std::string> names_in(std::string_view html) {
  std::vector<std::string> names;
  for (const MetaTag& tag : scan_head(html)) names.push_back(tag.name);
  return names;
}

TEST(BiblioTest, APageWithoutATitleHasNone) {
  EXPECT_TRUE(biblio_of("<meta name=citation_doi content=10.1/a>").empty());
  EXPECT_TRUE(html_biblio("", "").empty());
  // A property is no name.
  EXPECT_TRUE(biblio_of("<meta property='og:title' content='A'>").empty());
}

TEST(BiblioTest, TheBetterTagWins) {
  const json::object biblio = biblio_of(R"(
      <meta name="DC.title" content="worse">
      <meta NAME='Citation_Title' CONTENT='A &amp; B &#8211; &eacute;'>
      <meta name="citation_author" content="One"><meta name="dc.creator" content="Other">
      <meta name="citation_author" content="Two">
      <meta name="citation_doi" content=" doi:10.5072/x "/>
      <meta name="citation_publication_date" content="2019/04/22">
      <meta property="og:site_name" content="Site">
      <meta name="citation_pdf_url" content="/files/a.pdf">)");
  EXPECT_EQ(text_in(biblio, "title"), "A & B \xE2\x80\x93 \xC3\xA9");
  EXPECT_EQ(text_in(biblio, "doi"), "10.5072/x");
  EXPECT_EQ(text_in(biblio, "release_date"), "2019-04-22");
  EXPECT_EQ(text_in(biblio, "container_name"), "Site");
  EXPECT_EQ(text_in(biblio, "pdf_fulltext_url"), "https://site.example/files/a.pdf");
  EXPECT_EQ(biblio.at("contrib_names"), json::value({"One", "Two"}));
}

TEST(BiblioTest, AnEmptyTagLeavesItToTheNext) {
  EXPECT_EQ(text_in(biblio_of("<meta name=citation_title content=''>"
                              "<meta name=dc.title content=B>"),
                    "title"),
            "B");
}

TEST(BiblioTest, ADoiMayHideAmongTheIdentifiers) {
  const char* const title = "<meta name=dc.title content=T>";
  const auto doi = [title](std::string_view tags) {
    return text_in(biblio_of(title + std::string(tags)), "doi");
  };
  EXPECT_EQ(doi("<meta name=dc.identifier content=http://a/b>"
                "<meta name=dc.identifier content=doi:10.1/c>"),
            "10.1/c");
  EXPECT_EQ(doi("<meta name=dc.identifier content=10.1/c>"), "10.1/c");
  EXPECT_EQ(doi("<meta name=dc.identifier content=10.1>"), "");
  EXPECT_EQ(doi("<meta name=dc.identifier scheme=DOI content=10.2/d>"), "10.2/d");
  EXPECT_EQ(doi("<meta id=DOI content=10.3/e>"), "10.3/e");
}

TEST(BiblioTest, OnlyTwoTypesAreKnown) {
  const auto type = [](std::string_view text) {
    return text_in(biblio_of("<meta name=dc.title content=T><meta name=dc.type content='" +
                             std::string(text) + "'>"),
                   "release_type");
  };
  EXPECT_EQ(type("Research Article"), "article-journal");
  EXPECT_EQ(type("Text.Serial.Journal"), "article-journal");
  EXPECT_EQ(type("Dataset"), "");
}

TEST(BiblioTest, DatesAreReadInTheirUsualForms) {
  EXPECT_EQ(parsed_date("2020-09-10"), "2020-09-10");
  EXPECT_EQ(parsed_date("2020-09-10T12:00:00Z"), "2020-09-10");
  EXPECT_EQ(parsed_date("2019/4/2"), "2019-04-02");
  EXPECT_EQ(parsed_date("September 10, 2020"), "2020-09-10");
  EXPECT_EQ(parsed_date("10 Sept 2020"), "2020-09-10");
  EXPECT_EQ(parsed_date("09/10/2020"), "2020-09-10");
  EXPECT_EQ(parsed_date("20200910"), "2020-09-10");
  for (const char* text : {"", "2020", "2020-13-01", "2020-02-31", "yesterday", "99999999999999",
                           "0000-00-00", "12 12 12 12"}) {
    EXPECT_EQ(parsed_date(text), "") << text;
  }
}

TEST(HeadScannerTest, TheHeadEndsWhereABodyBegins) {
  EXPECT_THAT(names_in("<head><meta name=a></head><meta name=b>"), ElementsAre("a"));
  EXPECT_THAT(names_in("<head><meta name=a><div><meta name=b>"), ElementsAre("a"));
  EXPECT_THAT(names_in("<head><meta name=a> text <meta name=b>"), ElementsAre("a"));
  EXPECT_THAT(names_in("<meta name=a><meta name=b>"), ElementsAre("a", "b"));
}

TEST(HeadScannerTest, WhatOnlyLooksLikeATagIsNone) {
  EXPECT_THAT(names_in("<head><!-- <meta name=x> --><title><meta name=y></title>"
                       "<script>'<meta name=z>'</script><meta name=a></head>"),
              ElementsAre("a"));
  EXPECT_THAT(names_in("<?xml version='1.0'?>\n<!DOCTYPE html>\n<html lang='a>b'><head>"
                       "<meta content='>' name = \"a\" ></head>"),
              ElementsAre("a"));
}

TEST(HeadScannerTest, BrokenPagesEnd) {
  for (const char* html : {"<", "<head", "<meta", "<meta name", "<meta name=", "<meta name='",
                           "<!--", "<!", "<script>", "</", "<meta =>", "<meta / / name=a"}) {
    (void)scan_head(html);
  }
  unsigned seed = 7;
  constexpr std::string_view kPieces[] = {"<",      ">",    "meta",   " name=", "'",
                                          "\"",     "head", "/",      "<!--",   "-->",
                                          "&#x41;", "&",    "script", "=",      "\0"};
  for (int round = 0; round < 3000; ++round) {
    std::string html = "<head>";
    for (int i = 0; i < 40; ++i) {
      seed = seed * 1'664'525 + 1'013'904'223;
      html += kPieces[(seed >> 16) % std::size(kPieces)];
    }
    (void)html_biblio(html, "not an address");
  }
}

TEST(HeadScannerTest, ReferencesAreUndoneAndBadOnesStay) {
  EXPECT_EQ(without_references("&#65;&#x42;&lt;&nope;&&#;&#xZZ;"), "AB<&nope;&&#;&#xZZ;");
  EXPECT_EQ(without_references("&#0;&#xD800;&#99999999;"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(without_references("a\xFFz"), "a\uFFFDz");
}

TEST(HeadScannerTest, TagsAndTextsAreBounded) {
  std::string html = "<head>";
  for (std::size_t i = 0; i < kMetaTagsMax + 10; ++i) html += "<meta name=a content=b>";
  EXPECT_EQ(scan_head(html).size(), kMetaTagsMax);
  const std::string long_text(kMetaTextBytesMax + 10, 'x');
  const auto tags = scan_head("<head><meta name=a content='" + long_text + "'>");
  ASSERT_EQ(tags.size(), 1U);
  EXPECT_EQ(tags[0].content.size(), kMetaTextBytesMax);
  std::string many = "<head><meta ";
  for (std::size_t i = 0; i < kAttributesMax; ++i) many += "x ";
  EXPECT_EQ(scan_head(many + "name=late>").at(0).name, "");
  const std::string far = "<head><!--" + std::string(kHeadScanBytesMax, 'x') + "--><meta name=a>";
  EXPECT_TRUE(scan_head(far).empty());
}

json::object recorded(const std::filesystem::path& corpus, const std::string& name,
                      std::string_view url) {
  const auto html = io::read_file(corpus / "filesets" / name, 1 << 20);
  return html.ok() ? biblio_of_head(*html, url) : json::object();
}

TEST(BiblioCorpusTest, RecordedPagesSayWhatWasRecorded) {
  QUERN_CORPUS_OR_SKIP(corpus);
  if (!std::filesystem::exists(corpus / "filesets")) GTEST_SKIP() << "QUERN_CORPUS has no filesets";
  json::object biblio = recorded(corpus, "html_dlib_05vanhyning.html",
                                 "http://www.dlib.org/dlib/may17/vanhyning/05vanhyning.html");
  EXPECT_EQ(text_in(biblio, "doi"), "10.1045/may2017-vanhyning");
  EXPECT_EQ(text_in(biblio, "release_date"), "2017-05-15");
  biblio = recorded(corpus, "html_first_monday_ojs3_landingpage.html",
                    "https://firstmonday.org/ojs/index.php/fm/article/view/10274/9729");
  EXPECT_EQ(text_in(biblio, "doi"), "10.5210/fm.v25i10.10274");
  EXPECT_EQ(biblio.at("contrib_names").as_array().size(), 3U);
  EXPECT_EQ(text_in(biblio, "release_date"), "2020-09-10");
  EXPECT_EQ(text_in(biblio, "container_issn"), "1396-0466");
  EXPECT_EQ(text_in(biblio, "container_abbrev"), "1");
  EXPECT_EQ(text_in(biblio, "lang"), "en");
  EXPECT_THAT(text_in(biblio, "html_fulltext_url"), ::testing::EndsWith("/view/10274/9729"));
  biblio = recorded(corpus, "html_nature_article.html",
                    "https://www.nature.com/articles/d41586-020-02610-z");
  EXPECT_EQ(text_in(biblio, "doi"), "10.1038/d41586-020-02610-z");
  EXPECT_EQ(biblio.at("contrib_names").as_array().size(), 1U);
  EXPECT_EQ(text_in(biblio, "release_date"), "2020-09-10");
  EXPECT_EQ(text_in(biblio, "container_name"), "Nature");
  EXPECT_EQ(text_in(biblio, "publisher"), "Nature Publishing Group");
  biblio = recorded(corpus, "html_plos_one_article.html",
                    "https://journals.plos.org/plosone/article?id=10.1371/journal.pone.0213978");
  EXPECT_EQ(text_in(biblio, "doi"), "10.1371/journal.pone.0213978");
  EXPECT_EQ(biblio.at("contrib_names").as_array().size(), 11U);
  EXPECT_EQ(text_in(biblio, "container_name"), "PLOS ONE");
  EXPECT_EQ(text_in(biblio, "release_date"), "2019-04-22");
  EXPECT_EQ(text_in(biblio, "volume"), "14");
  EXPECT_EQ(text_in(biblio, "issue"), "4");
  EXPECT_EQ(text_in(biblio, "first_page"), "e0213978");
  EXPECT_EQ(text_in(biblio, "container_issn"), "1932-6203");
  EXPECT_EQ(text_in(biblio, "release_type"), "article-journal");
}

}  // namespace
}  // namespace quern::fileset
