// Sitemaps and feeds: where they lead, whatever is broken in them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <boost/json.hpp>

#include "base/xml_scanner.h"
#include "worker/step_harness.h"
#include "worker/steps.h"
#include "worker/web_list.h"

namespace quern::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// "href rel lastmod changefreq" of each, what it has of them.
std::vector<std::string> leads(const std::optional<LinkList>& list) {
  if (!list) return {"(no list)"};
  std::vector<std::string> all{list->kind};
  const auto parsed = boost::json::parse(list->json());
  for (const auto& link : parsed.at("links").as_array()) {
    std::string text;
    for (const auto& [key, value] : link.as_object()) {
      text += (text.empty() ? "" : " ") + std::string(value.as_string());
    }
    all.push_back(text);
  }
  return all;
}

std::string gzipped(const std::string& bytes) {
  std::string packed(bytes.size() + 100, '\0');
  z_stream stream{};
  EXPECT_EQ(::deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  return packed;
}

StepRun run_page(const std::string& bytes, const std::string& metadata = "{}") {
  StepTask task;
  task.filename = "x";
  task.metadata = metadata;
  return run_task(page_step(), task, bytes);
}

TEST(SitemapTest, AddressesWithTheirDatesAreTold) {
  EXPECT_THAT(
      leads(list_in_xml("<?xml version='1.0'?><!-- x --><urlset xmlns='y'>"
                        "<url><loc> http://a/?x=1&amp;y=2 </loc><lastmod>2020-03-27</lastmod>"
                        "<changefreq>Daily</changefreq><priority>0.5</priority></url>"
                        "<url><loc><![CDATA[http://a/b&c]]></loc><lastmod>soon</lastmod></url>"
                        "</urlset>")),
      ElementsAre("sitemap", "http://a/?x=1&y=2 2020-03-27 daily", "http://a/b&c"));
}

TEST(SitemapTest, IndexesPrefixesAndPicturesAreUnderstood) {
  EXPECT_THAT(leads(list_in_xml("<s:sitemapindex xmlns:s='y'><s:sitemap><s:loc>http://a/1.xml.gz"
                                "</s:loc></s:sitemap></s:sitemapindex>")),
              ElementsAre("sitemapindex", "http://a/1.xml.gz"));
  EXPECT_THAT(leads(list_in_xml("<urlset><url><loc>http://a/</loc><image:image><image:loc>"
                                "http://a/i.png</image:loc></image:image></url></urlset>")),
              ElementsAre("sitemap", "http://a/"));
}

TEST(SitemapTest, WhatBreaksOffGivesWhatStoodBefore) {
  const std::string begin = "<urlset><url><loc>http://a/1</loc></url><url>";
  for (const std::string end : {"", "<loc>http://a/2", "<loc>http://a/2</lo", "<loc>http://a/2<",
                                "<loc", "<!--", "<![CDATA["}) {
    EXPECT_THAT(leads(list_in_xml(begin + end)), ElementsAre("sitemap", "http://a/1")) << end;
  }
  EXPECT_THAT(leads(list_in_xml("<urlset><url><loc>http://a/1</loc><url><loc>http://a/2</loc>"
                                "</x></url></url></urlset>")),
              ElementsAre("sitemap", "http://a/1", "http://a/2"));
}

TEST(SitemapTest, EntitiesOfItsOwnAreNotExpanded) {
  EXPECT_THAT(leads(list_in_xml("<!DOCTYPE urlset [<!ENTITY a 'xxxx'><!ENTITY b '&a;&a;'>"
                                "<!ENTITY c SYSTEM 'file:///etc/passwd'>]>"
                                "<urlset><url><loc>http://a/&b;&c;</loc></url></urlset>")),
              ElementsAre("sitemap", "http://a/&b;&c;"));
}

TEST(SitemapTest, LinksBeyondTheLimitsAreCounted) {
  std::string xml = "<urlset>";
  for (std::size_t i = 0; i < kSitemapLinksMax + 7; ++i) {
    xml += fmt::format("<url><loc>http://a/{}</loc></url>", i);
  }
  const auto list = list_in_xml(xml);
  ASSERT_TRUE(list);
  EXPECT_EQ(list->links().size(), kSitemapLinksMax);
  EXPECT_EQ(list->more(), 7U);
  xml = "<urlset>";
  for (int i = 0; i < 3'000; ++i) {
    xml += fmt::format("<url><loc>http://a/{}{}</loc></url>", i, std::string(3'000, 'x'));
  }
  const auto large = list_in_xml(xml);
  ASSERT_TRUE(large);
  EXPECT_LE(large->json().size(), kSitemapJsonBytesMax);
  EXPECT_EQ(large->links().size() + large->more(), 3'000U);
}

TEST(SitemapTest, DepthAndLongTextsAreBounded) {
  std::string deep = "<urlset>";
  for (int i = 0; i < 100'000; ++i) deep += "<x>";
  EXPECT_THAT(leads(list_in_xml(deep)), ElementsAre("sitemap"));
  EXPECT_THAT(leads(list_in_xml("<urlset><url><loc>http://" + std::string(100'000, 'a') +
                                "</loc></url></urlset>")),
              ElementsAre("sitemap"));
}

TEST(SitemapTest, APackedOneIsUnpackedAsFarAsItGoes) {
  const std::string xml = "<urlset><url><loc>http://a/1</loc></url></urlset>";
  const StepRun run = run_page(gzipped(xml));
  ASSERT_EQ(run.parts.size(), 1U);
  EXPECT_EQ(run.part("links"), R"({"kind":"sitemap","links":[{"href":"http://a/1"}],"more":0})");
  std::string packed = gzipped(xml);
  EXPECT_EQ(gunzip(packed + packed, 1'000), xml + xml);
  EXPECT_EQ(gunzip(packed, 10), xml.substr(0, 10));
  packed.resize(packed.size() - 9);
  EXPECT_EQ(gunzip(packed, 1'000), xml);
  EXPECT_EQ(gunzip("\x1F\x8B\x08 no", 1'000), "");
}

TEST(SitemapTest, PlainLinesCountWhereASitemapWasAskedFor) {
  const std::string lines = "\xEF\xBB\xBFhttp://a/1\r\n\nhttps://a/2 \r\nnot one\n";
  EXPECT_EQ(
      run_page(lines, R"({"source":"sitemap"})").part("links"),
      R"({"kind":"sitemap","links":[{"href":"http://a/1"},{"href":"https://a/2"}],"more":0})");
  EXPECT_TRUE(run_page(lines).has("0.txt"));
  EXPECT_TRUE(run_page("<p>Not found", R"({"source":"sitemap"})").has("0.txt"));
}

TEST(FeedTest, ItemsOfRssAreTold) {
  EXPECT_THAT(
      leads(list_in_xml(
          "<rss version='2.0'><channel><link>http://a/</link><atom:link rel='self' "
          "href='http://a/f'/>"
          "<image><link>http://a/img</link></image>"
          "<item><title>x</title><link>http://a/1</link><guid isPermaLink='false'>17</guid>"
          "<pubDate>Sat, 07 Sep 2002 00:00:01 GMT</pubDate></item>"
          "<item><guid>http://a/2</guid><enclosure url='http://a/2.mp3' type='audio/mpeg'/></item>"
          "</channel></rss>")),
      ElementsAre("feed", "http://a/", "http://a/1 2002-09-07T00:00:01Z",
                  "http://a/2.mp3 enclosure", "http://a/2"));
}

TEST(FeedTest, ItemsOfRdfAreTold) {
  EXPECT_THAT(leads(list_in_xml("<rdf:RDF><channel><link>http://a/</link></channel>"
                                "<item rdf:about='x'><link>http://a/1</link>"
                                "<dc:date>2020-03-27T01:02Z</dc:date></item></rdf:RDF>")),
              ElementsAre("feed", "http://a/", "http://a/1 2020-03-27T01:02:00Z"));
}

TEST(FeedTest, EntriesOfAtomAreTold) {
  EXPECT_THAT(
      leads(list_in_xml(
          "<a:feed xmlns:a='x'><a:link rel='self' href='f'/><a:link href='/'/><a:link rel='next' "
          "href='f?2'/><a:entry><a:id>urn:1</a:id><a:link rel='alternate' href='1&amp;x'/><a:link "
          "rel='replies' href='r'/><a:published>2019-01-01</a:published><a:updated>2020-01-01"
          "</a:updated></a:entry></a:feed>")),
      ElementsAre("feed", "/", "f?2 next", "1&x 2020-01-01"));
}

TEST(FeedTest, AWebPageIsNoFeed) {
  EXPECT_FALSE(list_in_xml("<!DOCTYPE html><html><body><rss></rss>"));
  EXPECT_FALSE(list_in_xml("plain words"));
  EXPECT_FALSE(list_in_xml(""));
  std::string late(kListSniffBytes, ' ');
  late += "<rss>";
  EXPECT_FALSE(list_in_xml(late));
}

TEST(XmlScannerTest, AttributesAreFoundAsTheyAreMeant) {
  XmlScanner scanner("<x:a b = 'c&amp;\">' d=e f g:h=\"i\"/>");
  ASSERT_EQ(scanner.next(), XmlScanner::Token::Open);
  EXPECT_EQ(scanner.name(), "a");
  EXPECT_TRUE(scanner.is_empty());
  EXPECT_EQ(scanner.attribute("b"), "c&\">");
  EXPECT_EQ(scanner.attribute("d"), "e");
  EXPECT_EQ(scanner.attribute("h"), "i");
  EXPECT_EQ(scanner.attribute("f"), "");
  EXPECT_EQ(scanner.next(), XmlScanner::Token::End);
}

}  // namespace
}  // namespace quern::worker
