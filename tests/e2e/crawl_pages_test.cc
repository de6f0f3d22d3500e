// What a crawl makes of a page: which links it follows, which answers it keeps, and what text is
// found.
#include "e2e/crawl_fixture.h"

namespace quern::e2e {
namespace {

TEST_P(CrawlTest, A16_LinksAreResolvedAsBrowsersDo) {
  serve();
  std::string html = "<title>Links</title><p>A page of links.\n";
  for (const char* link : {"c", "../d", "/faq", "/", "?p=2", "http://written.test/x",
                           "//written.test/y", "mailto:q", "tel:1", "javascript:0", "#z"}) {
    html += fmt::format("<a href=\"{}\">on</a>\n", link);
  }
  site_.set("written.test", "/a/b", html);
  const std::int64_t job = crawl({"http://written.test/a/b"});
  EXPECT_EQ(asked("written.test"),
            (Targets{"/a/b", "/a/c", "/d", "/faq", "/", "/a/b?p=2", "/x", "/y"}));
  EXPECT_EQ(targets_in(job, "written.test"), Targets{"/a/b"});
  EXPECT_EQ(sum(job, "admitted"), 8);
}

TEST_P(CrawlTest, A17_EndingsAndLengthsAreJudgedAsWhole) {
  serve();
  site_.set("files.test", "url_bytes_max", "200");
  const std::int64_t job = crawl({"http://files.test/"}, {{"max_url", 200}});
  const SiteExpected expected = site_.expected("files.test");
  EXPECT_EQ(expected.complaint(site_.log(0, "files.test")), "");
  const Targets in = targets_in(job, "files.test");
  const Targets seen = asked("files.test");
  const std::string origin = "http://files.test";
  const auto padded = [&](std::size_t bytes) {
    return "/" + std::string(bytes - origin.size() - 1, 'u');
  };
  for (const std::string& target :
       {std::string("/wikidoc"), std::string("/price$5"), padded(200)}) {
    EXPECT_TRUE(in.contains(target)) << target;
  }
  for (const std::string& target : {std::string("/a.JPG"), padded(201)}) {
    EXPECT_FALSE(seen.contains(target)) << target;
  }
  EXPECT_NE(field(explained(origin + "/a.JPG"), "verdict").find(".jpg are skipped"),
            std::string::npos);
  EXPECT_NE(field(explained(origin + padded(201)), "verdict").find("longer than 200"),
            std::string::npos);
}

// -- what is found --

TEST_P(CrawlTest, HeadingsWeighMoreThanTextAndLessThanTitles) {
  serve();
  const std::string filler =
      "<p>river stone meadow lantern harbor orchard winter morning thunder"
      " copper valley bridge</p>";
  const auto page = [&](const std::string& title, const std::string& inside) {
    return "<title>" + title + "</title><main>" + inside + filler + "</main>";
  };
  // The more a page has to rise, the longer it is: without weights the order is the other way
  // round.
  site_.set(
      "written.test", "/",
      page("Plain", "<p>quokka lives here</p>") + "<a href=/heading>a</a><a href=/title>b</a>");
  site_.set("written.test", "/heading",
            page("Other", "<h2>About the quokka</h2>" + filler + "<h2>Swamp water</h2>"));
  site_.set("written.test", "/title", page("Quokka", "<p>nothing</p>" + filler + filler));
  crawl({"http://written.test/"});
  const Json answer = get_json(question("quokka", "&fresh=60000"));
  EXPECT_EQ(names_of(answer),
            (Names{"written.test/title", "written.test/heading", "written.test/"}));
  const std::string snippet = field(answer.at("hits").at(1).as_object(), "snippet");
  const std::string mark = "<mark>quokka</mark>";
  const std::size_t first = snippet.find(mark);
  EXPECT_NE(first, std::string::npos) << snippet;
  EXPECT_EQ(snippet.find(mark, first + 1), std::string::npos) << "shown twice: " << snippet;
  EXPECT_EQ(found("title:quokka OR \"quokka swamp\""), Names{"written.test/title"})
      << "a phrase from one heading into the next";
  EXPECT_EQ(found("\"the quokka\""), Names{"written.test/heading"});
  EXPECT_EQ(found("title:quokka"), Names{"written.test/title"});
}

// -- answers --

TEST_P(CrawlTest, A18_WhatIsMissingIsNotIndexedAndWhatHasGoneIsRemoved) {
  serve();
  site_.set("written.test", "/", "<title>Root</title><a href=/here>x</a><a href=/none>y</a>");
  site_.set("written.test", "/here", "<title>Here</title><p>A weir.");
  crawl({"http://written.test/"});
  EXPECT_EQ(found("weir"), Names{"written.test/here"});
  EXPECT_EQ(found("errortext404"), Names{});
  EXPECT_NE(field(explained("http://written.test/none"), "verdict").find("404"), std::string::npos);
  for (const char* status : {"410", "404"}) {
    site_.set("written.test", "/here", status);
    crawl({"http://written.test/"}, {{"force", true}});
    EXPECT_EQ(found("weir"), Names{}) << status;
    EXPECT_NE(field(explained("http://written.test/here"), "verdict").find(status),
              std::string::npos);
    site_.set("written.test", "/here", "<title>Here</title><p>A weir.");
    crawl({"http://written.test/"}, {{"force", true}});
    EXPECT_EQ(found("weir"), Names{"written.test/here"}) << "back again";
  }
  expect_clean();
}

TEST_P(CrawlTest, A18_ARedirectElsewhereStoresNothingUnderItsSource) {
  serve();
  const std::int64_t job =
      crawl({"http://redirect.test/away", "http://redirect.test/r301"}, {{"max_depth", 0}});
  EXPECT_EQ(targets_in(job, "redirect.test"), Targets{"/to301"});
  EXPECT_EQ(site_.log(0, "elsewhere.test").size(), 0u);
  EXPECT_EQ(found("elsewhereword"), Names{});
  EXPECT_NE(field(explained("http://redirect.test/away"), "verdict").find("it redirects to"),
            std::string::npos);
  const std::vector<Json> stored = captures("http://redirect.test/away");
  ASSERT_EQ(stored.size(), 1u) << "the answer itself is archived";
  EXPECT_EQ(stored[0].at("status").as_int64(), 301);
  EXPECT_EQ(captures("http://elsewhere.test/unlisted").size(), 0u);
}

TEST_P(CrawlTest, A18_RetryAfterIsKeptAndHeadIsNotNeeded) {
  serve();
  site_.set("errors.test", "retry_seconds", "3");
  const std::int64_t job =
      crawl({"http://errors.test/429", "http://errors.test/no-head"}, {{"max_depth", 0}});
  EXPECT_EQ(targets_in(job, "errors.test"), (Targets{"/429", "/no-head"}));
  std::vector<std::int64_t> tries;
  for (const SiteRequest& request : site_.log(0, "errors.test")) {
    EXPECT_EQ(request.method, "GET");
    if (request.target == "/429") tries.push_back(request.began_us);
  }
  ASSERT_EQ(tries.size(), 2u);
  EXPECT_GE(tries[1] - tries[0], 3'000'000);
  EXPECT_EQ(found("errorsnohead"), Names{"errors.test/no-head"});
}

TEST_P(CrawlTest, A18_NotModifiedKeepsWhatIsThere) {
  serve();
  site_.set("plain.test", "pages", "5");
  crawl({"http://plain.test/"});
  const std::vector<Json> before = documents();
  const std::int64_t so_far = asked_so_far();
  const std::int64_t job = crawl({"http://plain.test/"}, {{"force", true}});
  EXPECT_EQ(sum(job, "unchanged"), 5) << shown(job);
  const std::vector<SiteRequest> again = site_.log(so_far, "plain.test");
  EXPECT_EQ(again.size(), 5u);
  for (const SiteRequest& request : again) EXPECT_EQ(request.status, 304) << request.target;
  EXPECT_EQ(documents(), before);
  site_.set("plain.test", "version", "2");
  crawl({"http://plain.test/"}, {{"force", true}});
  EXPECT_EQ(found("version2").size(), 5u);
  EXPECT_EQ(found("version1").size(), 0u);
  EXPECT_EQ(documents().size(), 5u);
  expect_clean();
}

TEST_P(CrawlTest, A19_RobotsTxtMetaAndSitemapsAreObeyed) {
  serve();
  site_.set("robots.test", "crawl_delay", "0.5");
  const std::int64_t job = crawl({"http://robots.test/"});
  EXPECT_EQ(site_.expected("robots.test").complaint(site_.log(0, "robots.test")), "");
  const Targets seen = asked("robots.test");
  for (const char* target : {"/p", "/p/secret", "/private"}) EXPECT_FALSE(seen.contains(target));
  EXPECT_GE(site_.shortest_gap_us("robots.test").value_or(0), 500'000);
  EXPECT_EQ(found("robotsnoindex"), Names{});
  EXPECT_EQ(found("robotsbehind"), Names{"robots.test/behind-noindex"}) << "walked, though";
  int listed = 0;
  for (const std::string& target : targets_in(job, "robots.test")) {
    listed += target.starts_with("/listed/");
  }
  EXPECT_EQ(listed, 3);
  const Json story = explained("http://robots.test/p/secret");
  EXPECT_NE(field(story, "verdict").find("robots.txt"), std::string::npos)
      << field(story, "verdict");
  EXPECT_NE(field(explained("http://robots.test/noindex"), "verdict").find("not indexed"),
            std::string::npos);
}

// -- texts --

// Those who are led there come one after the other, with all others who ask that host.
TEST_P(CrawlTest, A14_ARobotsTxtElsewhereIsAskedForWithTheGapOfThatHost) {
  constexpr int kSites = 5;
  constexpr std::int64_t kGapUs = 200'000;
  serve();
  site_.set("plain.test", "pages", "4");
  Names urls{"http://plain.test/"};
  for (int i = 0; i < kSites; ++i) {
    const std::string host = fmt::format("host{:04}.test", i);
    site_.set(host, "robots_status", "301");
    site_.set(host, "robots_location", "http://plain.test/robots.txt");
    urls.push_back("http://" + host + "/");
  }
  const std::int64_t job = crawl(urls, {{"delay", 0.2}, {"max_depth", 0}});
  EXPECT_EQ(times("plain.test", "/robots.txt"), kSites + 1);
  for (int i = 0; i < kSites; ++i) EXPECT_EQ(asked(fmt::format("host{:04}.test", i)), Targets{"/"});
  EXPECT_GE(site_.shortest_gap_us("plain.test").value_or(0), kGapUs) << shown(job);
}

TEST_P(CrawlTest, A20_ThePagesTextIsItsMainTextOnce) {
  serve();
  site_.set("written.test", "/",
            "<!DOCTYPE html><html><head><title>Counting</title><script>var hidden = 1;</script>"
            "</head><body><header>abovehead</header><div><p>one</p><p>two</p></div>"
            "<script>var three = 3;</script><style>p { color: red }</style>"
            "<footer>belowfoot</footer></body></html>");
  crawl({"http://written.test/"});
  const std::vector<Json> all = documents();
  ASSERT_EQ(all.size(), 1u);
  std::string text;
  for (const char c : field(all[0], "text")) {
    const bool space = c == ' ' || c == '\n';
    if (!space) text += c;
    if (space && !text.empty() && text.back() != ' ') text += ' ';
  }
  // What stands around the main text comes behind it: it is kept, but hardly ranked.
  EXPECT_EQ(text, "one two abovehead belowfoot ");
  for (const char* word : {"hidden", "three", "color"}) EXPECT_EQ(found(word), Names{}) << word;
  EXPECT_EQ(found("\"one two\""), Names{"written.test/"});
}

TEST_P(CrawlTest, A21_APdfIsFoundByPageABrokenOneIsOneErrorAndALongOneHarmsNobody) {
  serve();
  site_.set("files.test", "long_pdf", "2000");
  const std::string origin = "http://files.test";
  const std::int64_t job = crawl(
      {origin + "/three.pdf", origin + "/corrupt.pdf", origin + "/long.pdf"}, {{"max_depth", 0}});
  EXPECT_EQ(targets_in(job, "files.test"), (Targets{"/three.pdf", "/long.pdf"}));
  for (int page = 1; page <= 3; ++page) {
    const Json answer = get_json(question(fmt::format("P{}", page), "&fresh=60000"));
    const auto& hits = answer.at("hits").as_array();
    ASSERT_EQ(hits.size(), 1u) << page;
    EXPECT_EQ(field(hits[0].as_object(), "filename"), "files.test/three.pdf");
    EXPECT_EQ(field(hits[0].as_object(), "page"), std::to_string(page));
  }
  EXPECT_EQ(found("longpage2000"), Names{"files.test/long.pdf"});
  const std::vector<Json> errors = items("/api/v1/errors?collection=default");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(field(errors[0], "filename"), "files.test/corrupt.pdf");
  EXPECT_EQ(field(errors[0], "kind"), "corrupt");
  EXPECT_NE(field(explained(origin + "/corrupt.pdf"), "verdict").find("could not be read"),
            std::string::npos);
  expect_clean();
}

}  // namespace
}  // namespace quern::e2e
