#include "web/robots.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "io/file.h"
#include "support/corpus.h"
#include "web/url.h"

namespace quern::web {
namespace {

bool may(std::string_view body, std::string_view target, std::string_view agent = "quern") {
  return Robots::parse(body, agent).check(target).allowed;
}

TEST(RobotsTest, TheLongestRuleWinsAndAllowWinsATie) {
  const std::string_view body = "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b/c\n";
  EXPECT_TRUE(may(body, "/"));
  EXPECT_FALSE(may(body, "/a/x"));
  EXPECT_TRUE(may(body, "/a/b"));
  EXPECT_FALSE(may(body, "/a/b/c/d"));
  EXPECT_TRUE(may("User-agent: *\nDisallow: /x\nAllow: /x\n", "/x"));
}

TEST(RobotsTest, TheVerdictNamesItsLine) {
  const Robots robots =
      Robots::parse("# hi\r\nUser-agent: *\r\n\r\nDisallow: /p # no\r\n", "quern");
  const RobotsVerdict verdict = robots.check("/page");
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.line, 4);
  EXPECT_EQ(verdict.rule, "Disallow: /p");
  EXPECT_EQ(robots.check("/x").line, 0);
  EXPECT_EQ(robots.check("/x").rule, "");
}

TEST(RobotsTest, GroupsOfOneAgentAreMerged) {
  const std::string_view body =
      "User-agent: quern\nDisallow: /a\n\nUser-agent: other\nUser-agent: Quern/2.0\n"
      "Disallow: /b\n\nUser-agent: *\nDisallow: /\n";
  EXPECT_FALSE(may(body, "/a"));
  EXPECT_FALSE(may(body, "/b"));
  EXPECT_TRUE(may(body, "/c")) << "everybody's rules are not ours where we have some";
  EXPECT_TRUE(may(body, "/a", "OTHER"));
  EXPECT_FALSE(may(body, "/c", "third"));
}

TEST(RobotsTest, AnAgentIsAWholeWord) {
  EXPECT_TRUE(may("User-agent: quern2\nDisallow: /\n", "/"));
  EXPECT_TRUE(may("User-agent: que\nDisallow: /\n", "/"));
  EXPECT_FALSE(may("User-agent: QUERN bot\nDisallow: /\n", "/"));
  EXPECT_TRUE(may("User-agent: quern\nDisallow:\nUser-agent: *\nDisallow: /\n", "/"));
}

TEST(RobotsTest, OfAWholeHeaderEachWordIsAnAgent) {
  const std::string_view header = "Mozilla/5.0 (compatible; quern/1.0; +https://h.gov/bot)";
  EXPECT_FALSE(may("User-agent: Quern\nDisallow: /\n", "/", header));
  EXPECT_TRUE(may("User-agent: que\nDisallow: /\n", "/", header));
  EXPECT_TRUE(may("User-agent: quern\nDisallow: /\n", "/", ""));
}

TEST(RobotsTest, APatternWithoutASlashBeginsAtTheRoot) {
  EXPECT_FALSE(may("User-agent: *\nDisallow: private/\n", "/private/x"));
  EXPECT_TRUE(may("User-agent: *\nDisallow: private/\n", "/a/private/x"));
}

TEST(RobotsTest, StarsAndTheEndAreUnderstood) {
  const std::string_view body =
      "User-agent: *\nDisallow: /*.pdf$\nDisallow: /a*b*c\nDisallow: /$\n";
  EXPECT_FALSE(may(body, "/x/y.pdf"));
  EXPECT_TRUE(may(body, "/x/y.pdf?z"));
  EXPECT_FALSE(may(body, "/a1b2c3"));
  EXPECT_TRUE(may(body, "/a1c2b3"));
  EXPECT_FALSE(may(body, "/"));
  EXPECT_TRUE(may(body, "/x"));
  EXPECT_FALSE(may("User-agent: *\nDisallow: /**x$", "/ax"));
  EXPECT_TRUE(may("User-agent: *\nDisallow: /ab*bc$", "/abc")) << "pieces do not overlap";
}

TEST(RobotsTest, EscapesMatchWhatTheyStandFor) {
  const std::string_view body =
      "User-agent: *\nDisallow: /%7Eme\nDisallow: /\u00FC\nDisallow: /a%2fb\nDisallow: /x%2A\n"
      "Disallow: /c$d\n";
  EXPECT_FALSE(may(body, "/~me"));
  EXPECT_FALSE(may(body, "/%C3%BC"));
  EXPECT_FALSE(may(body, "/%c3%bc"));
  EXPECT_FALSE(may(body, "/a%2Fb"));
  EXPECT_TRUE(may(body, "/a/b"));
  EXPECT_FALSE(may(body, "/x*"));
  EXPECT_TRUE(may(body, "/xy"));
  EXPECT_FALSE(may(body, "/c$d"));
  EXPECT_FALSE(may(body, "/c%24d"));
}

TEST(RobotsTest, LinesEndInAnyWayAndKeysMayBeMisspelt) {
  for (const std::string_view body :
       {"\xEF\xBB\xBFUser-agent: *\rDisallow: /p\r", "User-agent:*\r\nDisallow:/p",
        "  USERAGENT : * \n\tDisalow\t:\t/p\n", "user-agent *\ndisallow /p\n",
        "\xEF\xBBUser-agent: *\n\n\nDissallow: /p"}) {
    EXPECT_FALSE(may(body, "/p")) << body;
    EXPECT_TRUE(may(body, "/q")) << body;
  }
  EXPECT_TRUE(may("Disallow: /\nUser-agent: other\nDisallow: /\n", "/")) << "nobody's rule";
}

TEST(RobotsTest, OtherLinesDoNotEndAGroup) {
  EXPECT_FALSE(may("User-agent: quern\nSitemap: https://h/s\nUser-agent: b\nDisallow: /\n", "/"));
}

TEST(RobotsTest, CrawlDelayMayHaveFractionsAndIsBounded) {
  const auto delay = [](std::string_view value) {
    return Robots::parse(fmt::format("User-agent: *\nCrawl-delay: {}\n", value), "quern")
        .crawl_delay_ms();
  };
  EXPECT_EQ(delay("2"), 2000);
  EXPECT_EQ(delay("0.5"), 500);
  EXPECT_EQ(delay("1,25"), 1250);
  EXPECT_EQ(delay("10 seconds"), 10'000);
  EXPECT_EQ(delay("99999999999999999999999"), 3'600'000);
  EXPECT_EQ(delay("-1"), std::nullopt);
  EXPECT_EQ(delay("soon"), std::nullopt);
  EXPECT_EQ(delay(""), std::nullopt);
  const std::string_view two = "User-agent: a\nCrawl-delay: 9\nUser-agent: *\nCrawl-delay: 3\n";
  EXPECT_EQ(Robots::parse(two, "quern").crawl_delay_ms(), 3000);
}

TEST(RobotsTest, SitemapsBelongToEverybodyAndAreBounded) {
  std::string body = "Sitemap: https://h/a.xml\nUser-agent: other\nsite-map: /b.xml\n";
  body += "Sitemap: https://h/a.xml\n";
  const std::vector<std::string> expected = {"https://h/a.xml", "/b.xml"};
  EXPECT_EQ(Robots::parse(body, "quern").sitemaps(), expected);
  for (std::size_t i = 0; i < kRobotsSitemapsMax + 5; ++i) body += fmt::format("Sitemap: /{}\n", i);
  EXPECT_EQ(Robots::parse(body, "quern").sitemaps().size(), kRobotsSitemapsMax);
}

TEST(RobotsTest, WhatIsBeyondTheLimitIsIgnoredFromALinesEnd) {
  std::string body = "User-agent: *\nDisallow: /a\n#";
  body.append(kRobotsBytesMax - body.size() - 13, '.');
  body += "\nDisallow: /b/c\n";  // the limit falls behind "/b"
  EXPECT_FALSE(may(body, "/a"));
  EXPECT_TRUE(may(body, "/b/c"));
  EXPECT_TRUE(may(body, "/b")) << "half a line is none";
}

TEST(RobotsTest, RobotsTxtItselfIsAlwaysAllowed) {
  EXPECT_TRUE(may("User-agent: *\nDisallow: /\n", "/robots.txt"));
  EXPECT_TRUE(Robots::disallow_all().check("/robots.txt").allowed);
  EXPECT_FALSE(Robots::disallow_all().check("/").allowed);
  EXPECT_TRUE(Robots::allow_all().check("/").allowed);
}

TEST(RobotsTest, AnyBytesAreARobotsTxt) {
  std::string body(4096, '\0');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 7 % 256);
  EXPECT_TRUE(may(body, "/"));
  EXPECT_TRUE(may("<html><body>Not found: /</body></html>", "/"));
}

// Row A19: a path that is forbidden, a delay and a sitemap.
TEST(RobotsTest, A19PathDelayAndSitemapAreRead) {
  const Robots robots = Robots::parse(
      "User-agent: *\nDisallow: /p\nCrawl-delay: 2\n\nSitemap: https://h.gov/map.xml\n", "quern");
  EXPECT_FALSE(robots.check("/p").allowed);
  EXPECT_TRUE(robots.check("/q").allowed);
  EXPECT_EQ(robots.crawl_delay_ms(), 2000);
  EXPECT_EQ(robots.sitemaps(), std::vector<std::string>{"https://h.gov/map.xml"});
}

std::string unescaped(std::string_view cell) {
  std::string out;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    if (cell[i] != '\\' || i + 1 == cell.size()) {
      out += cell[i];
      continue;
    }
    const char c = cell[++i];
    out += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
  }
  return out;
}

std::string target_of(const std::string& text) {
  const auto url = Url::parse(text, Url::parse("http://h/").value());
  return url ? url->target() : "/";
}

TEST(RobotsCorpusTest, DecisionsAreThoseOfOthers) {
  QUERN_CORPUS_OR_SKIP(corpus);
  const std::string table =
      io::read_file(corpus / "web" / "vectors" / "robots_decisions.tsv", 1 << 20).value();
  int rows = 0;
  int wrong = 0;
  for (std::size_t begin = table.find('\n') + 1; begin < table.size();) {
    const std::size_t end = std::min(table.find('\n', begin), table.size());
    std::vector<std::string> cells(1);
    for (std::size_t i = begin; i < end; ++i) {
      if (table[i] == '\t') {
        cells.emplace_back();
      } else {
        cells.back() += table[i];
      }
    }
    begin = end + 1;
    ASSERT_EQ(cells.size(), 6U);
    for (std::string& cell : cells) cell = unescaped(cell);
    ++rows;
    if (may(cells[1], target_of(cells[3]), cells[2]) == (cells[4] == "allow")) continue;
    ++wrong;
    fmt::print("miss: {} ({}): <{}> for <{}>, not {}:\n{}\n", cells[0], cells[5], cells[3],
               cells[2], cells[4], cells[1]);
  }
  fmt::print("robots_decisions: {} of {}\n", rows - wrong, rows);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace quern::web
