#include "research/feed.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/utf8.h"
#include "io/file.h"
#include "research/sound_type.h"
#include "support/corpus.h"

namespace quern::research {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Feed read(const std::string& xml, const std::string& type = "",
          const std::string& url = "https://a.test/show/feed.xml") {
  const FeedSource source{web::Url::parse(url).value(), type};
  Result<Feed> feed = parse_feed(xml, source);
  EXPECT_TRUE(feed.ok()) << xml;
  return feed.ok() ? *std::move(feed) : Feed();
}

std::string rss(const std::string& items) {
  return R"(<?xml version="1.0"?><rss xmlns:itunes="x"><channel><title>Show</title>)" + items +
         "</channel></rss>";
}

TEST(FeedTest, APodcastAsItsWritersMeanIt) {
  const Feed feed = read(rss(R"(
    <link>https://a.test/</link>
    <atom:link rel="self" href="https://a.test/feed.xml"/>
    <atom:link rel="next" href="?page=2"/>
    <item>
      <title>One &amp; only</title>
      <itunes:title>Only</itunes:title>
      <guid isPermaLink="false"> id-1 </guid>
      <link>/one</link>
      <pubDate>Fri, 27 Mar 2020 01:09:35 -0400</pubDate>
      <description><![CDATA[<p>What   was <b>said</b></p>]]></description>
      <content:encoded><![CDATA[longer]]></content:encoded>
      <enclosure url="one.mp3" length="12" type="audio/mpeg"/>
      <itunes:duration>1:02:03</itunes:duration>
      <itunes:season>2</itunes:season><itunes:episode>7</itunes:episode>
      <itunes:episodeType>full</itunes:episodeType>
    </item>)"));
  EXPECT_EQ(feed.title, "Show");
  EXPECT_EQ(feed.next, "https://a.test/show/feed.xml?page=2");
  ASSERT_EQ(feed.entries.size(), 1U);
  const FeedEntry& one = feed.entries[0];
  EXPECT_EQ(one.title, "One & only");
  EXPECT_EQ(one.id, "id-1");
  EXPECT_EQ(one.aired, "2020-03-27T05:09:35Z");
  EXPECT_EQ(one.description, "What was said");
  EXPECT_EQ(one.url, "https://a.test/show/one.mp3");
  EXPECT_EQ(one.media_type, "audio/mpeg");
  EXPECT_EQ(one.metadata.at("duration_seconds"), 3723);
  EXPECT_EQ(one.metadata.at("season"), "2");
  EXPECT_EQ(one.metadata.at("episode"), "7");
  EXPECT_EQ(one.metadata.at("episode_type"), "full");
  EXPECT_EQ(one.metadata.at("link"), "https://a.test/one");
}

TEST(FeedTest, AtomWithItsOwnBasesAndArchives) {
  const Feed feed =
      read(R"(<a:feed xmlns:a="http://www.w3.org/2005/Atom" xml:base="https://b.test/x/">
    <a:title type="html">A &lt;i&gt;show&lt;/i&gt;</a:title>
    <a:link rel="prev-archive" href="/2019.atom"/>
    <a:entry xml:base="y/"><a:id>urn:1</a:id><a:title>First</a:title>
      <a:published>2020-03-27T01:09:35+02:00</a:published><a:updated>2021-01-01</a:updated>
      <a:link href="page.html"/><a:link rel="enclosure" type="audio/ogg" href="z.oga"/>
      <a:summary type="xhtml"><div>Some <b>words</b></div></a:summary></a:entry>
    <a:entry><a:id>urn:2</a:id><a:title>Second</a:title><a:updated>2021-01-01</a:updated>
      <a:link rel="enclosure" href="q.mp3"/></a:entry></a:feed>)");
  EXPECT_EQ(feed.title, "A show");
  EXPECT_EQ(feed.next, "https://b.test/2019.atom");
  ASSERT_EQ(feed.entries.size(), 2U);
  EXPECT_EQ(feed.entries[0].url, "https://b.test/x/y/z.oga");
  EXPECT_EQ(feed.entries[0].metadata.at("link"), "https://b.test/x/y/page.html");
  EXPECT_EQ(feed.entries[0].aired, "2020-03-26T23:09:35Z");
  EXPECT_EQ(feed.entries[0].description, "Some words");
  EXPECT_EQ(feed.entries[1].url, "https://b.test/x/q.mp3");
  EXPECT_EQ(feed.entries[1].aired, "2021-01-01T00:00:00Z");
}

TEST(FeedTest, RdfAndItsItemsBesideTheChannel) {
  const Feed feed = read(R"(<rdf:RDF xmlns:rdf="r" xmlns="http://purl.org/rss/1.0/">
    <channel rdf:about="https://a.test/"><title>Old</title><items><rdf:Seq/></items></channel>
    <item rdf:about="https://a.test/1"><title>T</title><dc:date>2001-02-03</dc:date>
      <enclosure url="https://a.test/1.mp3"/></item></rdf:RDF>)");
  EXPECT_EQ(feed.title, "Old");
  ASSERT_EQ(feed.entries.size(), 1U);
  EXPECT_EQ(feed.entries[0].id, "https://a.test/1");
  EXPECT_EQ(feed.entries[0].aired, "2001-02-03T00:00:00Z");
}

TEST(FeedTest, OfSeveralEnclosuresTheFirstSoundIsTaken) {
  const Feed feed = read(rss(R"(
    <item><enclosure url="/a.pdf" type="application/pdf"/><enclosure url="/a.mp4" type="video/mp4"/>
      <enclosure url="/a.mp3" type="audio/mpeg"/><enclosure url="/b.mp3" type="audio/mpeg"/></item>
    <item><media:group><media:content url="/c.jpg" medium="image" type="image/jpeg"/>
      <media:content url="/c.ogg" medium="audio"/></media:group></item>
    <item><podcast:alternateEnclosure type="audio/opus"><podcast:source uri="/d.opus"/>
      </podcast:alternateEnclosure></item>
    <item><enclosure url="/e"/></item>
    <item><title>text only</title></item>
    <item><enclosure url="/f.pdf" type="application/pdf"/></item>
    <item><enclosure url="javascript:stop" type="audio/mpeg"/></item>)"));
  std::vector<std::string> urls;
  for (const FeedEntry& entry : feed.entries) urls.push_back(entry.url);
  EXPECT_THAT(urls, ElementsAre("https://a.test/a.mp3", "https://a.test/c.ogg",
                                "https://a.test/d.opus", "https://a.test/e"));
  EXPECT_EQ(feed.left_out, 3);
}

TEST(FeedTest, WhatIsBrokenOffTellsWhatStoodBefore) {
  const std::string whole = rss(
      R"(<item><title>One<guid>1</guid><enclosure url="/1.mp3"/></item>
         <item><title>Two</title><guid>2</guid><enclosure url="/2.mp3"/>)");
  const Feed feed = read(whole);
  ASSERT_EQ(feed.entries.size(), 2U);
  EXPECT_EQ(feed.entries[0].title, "One");
  EXPECT_EQ(feed.entries[1].id, "2");
  const Feed cut = read(whole.substr(0, whole.find("/2.mp3") + 2));
  EXPECT_EQ(cut.entries.size(), 1U);
  const Feed unclosed = read(
      "<rss><channel><item><guid>g<pubDate>2020-01-01<enclosure url='/a.mp3'><item><enclosure "
      "url='/b.mp3'>");
  ASSERT_EQ(unclosed.entries.size(), 2U);
  EXPECT_EQ(unclosed.entries[0].id, "g");
}

TEST(FeedTest, WhatNobodyClosesEndsWhereTheNextBegins) {
  std::string items;
  for (int i = 0; i < 300; ++i) {
    items += fmt::format(R"(<item><guid>{0}<title xml:base="https://b.test/">T{0})"
                         R"(<enclosure url="{0}.mp3"/>)",
                         i);
  }
  const Feed feed = read(rss(items));
  ASSERT_EQ(feed.entries.size(), 300U);
  EXPECT_EQ(feed.entries[299].id, "299");
  EXPECT_EQ(feed.entries[299].title, "T299");
  EXPECT_EQ(feed.entries[299].url, "https://a.test/show/299.mp3") << "the title's base is its own";
}

TEST(FeedTest, WrongEncodingsAreReadAsTheyAreMeant) {
  const auto title = [](const std::string& head, const std::string& text, const char* type = "") {
    return read(head + "<rss><channel><title>" + text + "</title></channel></rss>", type).title;
  };
  EXPECT_EQ(title(R"(<?xml version="1.0" encoding="iso-8859-1"?>)", "Gr\xFC\xDF"), "Grüß");
  EXPECT_EQ(title(R"(<?xml version="1.0" encoding="utf-8"?>)", "Gr\xFC\xDF"), "Grüß");
  EXPECT_EQ(title(R"(<?xml version="1.0" encoding="iso-8859-1"?>)", "Grüß"), "Grüß");
  EXPECT_EQ(title("", "\xC7\xE8", "text/xml; charset=windows-1251"), "Зи");
  EXPECT_EQ(title("\xEF\xBB\xBF", "ü"), "ü");
  EXPECT_EQ(title("", "caf\xC3\xA9 caf\xC3\xA9 \xC3"), "café café \xEF\xBF\xBD");
  std::string wide = "\xFF\xFE";
  for (const char c : std::string("<rss><channel><title>x</title></channel></rss>")) {
    wide += c;
    wide += '\0';
  }
  EXPECT_EQ(read(wide).title, "x");
}

TEST(FeedTest, DatesAreOneInstant) {
  EXPECT_EQ(rfc3339_of("Fri, 27 Mar 2020 01:09:35 GMT"), "2020-03-27T01:09:35Z");
  EXPECT_EQ(rfc3339_of("2020-12-31T23:30:00-01:00"), "2021-01-01T00:30:00Z");
  EXPECT_EQ(rfc3339_of("1 Jan 2020 00:00 PST"), "2020-01-01T08:00:00Z");
  EXPECT_EQ(rfc3339_of("2020-03"), "2020-03-01T00:00:00Z");
  EXPECT_EQ(rfc3339_of("yesterday"), "");
}

TEST(FeedTest, WhatIsNoFeedIsSaidToBeNone) {
  const FeedSource source{web::Url::parse("https://a.test/").value(), ""};
  for (const char* other : {"", "hello", "<html><body></body></html>", "<urlset/>", "{}"}) {
    const Result<Feed> feed = parse_feed(other, source);
    EXPECT_EQ(feed.error().kind(), Errc::Invalid) << other;
    EXPECT_FALSE(is_feed(other)) << other;
  }
  EXPECT_TRUE(is_feed("<?xml version='1.0'?>\n<!-- hello -->\n<rss/>"));
}

TEST(FeedTest, LimitsHold) {
  std::string items;
  const std::string item = "<item><enclosure url='/a.mp3'/></item>";
  items.reserve(item.size() * (kFeedEntriesMax + 5));
  for (std::size_t i = 0; i < kFeedEntriesMax + 2; ++i) items += item;
  const Feed many = read(rss(items));
  EXPECT_EQ(many.entries.size(), kFeedEntriesMax);
  EXPECT_TRUE(many.cut);
  const Feed large =
      read(rss("<item><title>" + std::string(100'000, 'x') + "</title><guid>" +
               std::string(100'000, 'y') + "</guid><description>" + std::string(1'000'000, 'z') +
               "</description><enclosure url='/a.mp3'/>" + "</item><item><enclosure url='/" +
               std::string(5000, 'u') + "'/></item>"));
  ASSERT_EQ(large.entries.size(), 1U);
  EXPECT_LE(large.entries[0].title.size(), kFeedTitleBytesMax);
  EXPECT_LE(large.entries[0].description.size(), kFeedTextBytesMax);
  std::string deep = "<rss><channel>";
  for (int i = 0; i < 10'000; ++i) deep += "<x>";
  EXPECT_TRUE(read(deep).entries.empty());
}

TEST(FeedTest, FeedsOfOthersAreRead) {
  QUERN_CORPUS_OR_SKIP(corpus);
  int feeds = 0;
  for (const char* folder : {"gofeed", "feedparser"}) {
    for (const auto& entry : std::filesystem::directory_iterator(corpus / "web" / folder)) {
      const Result<std::string> bytes = io::read_file(entry.path(), kFeedBytesMax);
      ASSERT_TRUE(bytes.ok());
      if (!is_feed(*bytes)) continue;
      ++feeds;
      const Feed feed = read(*bytes);
      EXPECT_TRUE(is_valid_utf8(feed.title));
      const std::string name = entry.path().filename().string();
      if (name.find("enclosure") == name.npos) continue;
      ASSERT_EQ(feed.entries.size(), 1U) << name;
      EXPECT_EQ(feed.entries[0].url, "http://example.org/podcast.mp3");
    }
  }
  EXPECT_GE(feeds, 10);
}

TEST(SoundTypeTest, BytesAndNamesTellSound) {
  EXPECT_EQ(sound_type_of("ID3\x04"), "audio/mpeg");
  EXPECT_EQ(sound_type_of("\xFF\xFB\x90\x64"), "audio/mpeg");
  EXPECT_EQ(sound_type_of("\xFF\xF1\x50"), "audio/aac");
  EXPECT_EQ(sound_type_of("RIFF....WAVEfmt "), "audio/wav");
  EXPECT_EQ(sound_type_of("....ftypM4A ...."), "audio/mp4");
  EXPECT_EQ(sound_type_of("OggS"), "audio/ogg");
  EXPECT_EQ(sound_type_of("<html>"), "");
  EXPECT_EQ(not_sound("\n<!DOCTYPE html><html>"), "a web page");
  EXPECT_EQ(not_sound("Hello, this is text."), "text");
  EXPECT_EQ(not_sound(std::string_view("\x01\x02\x00\x03", 4)), "");
  EXPECT_TRUE(has_sound_suffix("a/B.MP3"));
  EXPECT_FALSE(has_sound_suffix("a/b.txt"));
  EXPECT_EQ(sound_rank("", "https://a.test/x.mp3?token=1.pdf"), 3);
  EXPECT_EQ(sound_rank("image/png", "https://a.test/x"), 0);
}

}  // namespace
}  // namespace quern::research
