#include "support/test_site/policy.h"

#include <fmt/format.h>

#include "support/test_site/compress.h"

namespace quern::test_site {
namespace {

constexpr int kOnlyInSitemap = 20;
constexpr int kPostsOfFeed = 5;

std::string meta(std::string_view name, std::string_view content) {
  return fmt::format("<meta name=\"{}\" content=\"{}\">\n", name, content);
}

std::string urlset(const std::vector<std::string>& addresses) {
  std::string xml =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n";
  int day = 1;
  for (const std::string& address : addresses) {
    xml += fmt::format("<url><loc>{}</loc><lastmod>2026-02-{:02}</lastmod></url>\n",
                       escaped(address), day);
    day = day % 28 + 1;
  }
  return xml + "</urlset>\n";
}

}  // namespace

// -- robots.test --

RobotsHost::RobotsHost(std::string name) : TableHost(std::move(name)) {
  page("/", Fate::Document,
       {.title = "Robots",
        .text = "robotsroot",
        .links = {"/open", "/p", "/p/secret", "/private", "/p/public", "/p/public/more",
                  "/%70/escaped", "/noindex", "/robots.txt"}});
  leaf("/open", Fate::Document, "robotsopen");
  leaf("/p/public", Fate::Document, "robotspublic");
  leaf("/p/public/more", Fate::Document, "robotspublicmore");
  for (const char* target : {"/p", "/p/secret", "/private", "/p/escaped"}) never(target);
  page("/noindex", Fate::Fetched,
       {.title = "Not to be indexed",
        .text = "robotsnoindex",
        .links = {"/behind-noindex"},
        .head = meta("robots", "noindex")});
  leaf("/behind-noindex", Fate::Document, "robotsbehind");
  for (int i = 1; i <= 3; ++i)
    leaf(fmt::format("/listed/{}", i), Fate::Document, fmt::format("robotslisted{}", i));
  add("/sitemap.xml", Fate::Fetched, [](const Ask& ask) {
    return typed_answer(
        "application/xml",
        urlset({ask.absolute("/listed/1"), ask.absolute("/listed/2"), ask.absolute("/listed/3")}));
  });
}

std::string RobotsHost::robots_text(const Ask& ask) {
  return "# Who is not named here\r\nUser-agent: otherbot\r\nDisallow: /\r\n\r\n"
         "User-agent: *\r\nDisallow: /p\r\nAllow: /p/public\r\nCrawl-delay: " +
         text("crawl_delay", "2") + "\r\nSitemap: " + ask.absolute("/sitemap.xml") + "\r\n";
}

// -- sitemap.test --

SitemapHost::SitemapHost(std::string name) : TableHost(std::move(name)) {
  page("/", Fate::Document, {.title = "Sitemap", .text = "sitemaproot"});
  for (int i = 1; i <= kOnlyInSitemap; ++i)
    leaf(fmt::format("/only/{}", i), Fate::Document, fmt::format("sitemapword{}", i));
  leaf("/with?a=1&b=2", Fate::Document, "sitemapquery");
  add("/sitemap_index.xml", Fate::Fetched, [](const Ask& ask) {
    return typed_answer("application/xml",
                        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<sitemapindex "
                        "xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n<sitemap><loc>" +
                            ask.absolute("/sitemap1.xml") +
                            "</loc><lastmod>2026-03-01</lastmod></sitemap>\n<sitemap><loc>" +
                            ask.absolute("/sitemap2.xml.gz") + "</loc></sitemap>\n</sitemapindex>");
  });
  add("/sitemap1.xml", Fate::Fetched, [](const Ask& ask) {
    std::vector<std::string> addresses = {ask.absolute("/with?a=1&b=2"),
                                          "http://elsewhere.test/not-ours"};
    for (int i = 1; i <= kOnlyInSitemap / 2; ++i)
      addresses.push_back(ask.absolute(fmt::format("/only/{}", i)));
    return typed_answer("text/xml", urlset(addresses));
  });
  add("/sitemap2.xml.gz", Fate::Fetched, [](const Ask& ask) {
    std::vector<std::string> addresses;
    for (int i = kOnlyInSitemap / 2 + 1; i <= kOnlyInSitemap; ++i)
      addresses.push_back(ask.absolute(fmt::format("/only/{}", i)));
    return typed_answer("application/gzip", deflated(urlset(addresses), Deflate::Gzip));
  });
}

std::string SitemapHost::robots_text(const Ask& ask) {
  return "User-agent: *\nAllow: /\n\nsitemap: " + ask.absolute("/sitemap_index.xml") + "\n";
}

// -- feed.test --

FeedHost::FeedHost(std::string name) : TableHost(std::move(name)) {
  page("/", Fate::Document,
       {.title = "Feeds",
        .text = "feedroot",
        .head = "<link rel=\"alternate\" type=\"application/rss+xml\" href=\"/feed.xml\">\n"
                "<link rel=\"alternate\" type=\"application/atom+xml\" href=\"atom.xml\">\n"});
  for (int i = 1; i <= 2 * kPostsOfFeed; ++i)
    leaf(fmt::format("/post/{}", i), Fate::Document, fmt::format("feedword{}", i));
  add("/feed.xml", Fate::Fetched, [](const Ask& ask) {
    std::string xml =
        "<?xml version=\"1.0\"?>\n<rss version=\"2.0\"><channel><title>Posts</title><link>" +
        ask.absolute("/") + "</link>\n";
    for (int i = 1; i <= kPostsOfFeed; ++i)
      xml += fmt::format("<item><title>Post {}</title><link>{}</link></item>\n", i,
                         ask.absolute(fmt::format("/post/{}", i)));
    return typed_answer("application/rss+xml", xml + "</channel></rss>\n");
  });
  add("/atom.xml", Fate::Fetched, [](const Ask&) {
    std::string xml = "<?xml version=\"1.0\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n";
    for (int i = kPostsOfFeed + 1; i <= 2 * kPostsOfFeed; ++i)
      xml += fmt::format("<entry><title>Post {0}</title><link href=\"/post/{0}\"/></entry>\n", i);
    return typed_answer("application/atom+xml", xml + "</feed>\n");
  });
}

// -- nofollow.test --

NofollowHost::NofollowHost(std::string name) : TableHost(std::move(name)) {
  page("/", Fate::Document,
       {.title = "Follow or not",
        .text = "nofollowroot",
        .links = {"/noindex", "/nofollow", "/none", "/header-noindex", "/header-none",
                  "/header-other", "/quern-only", "/copy?x=1", "/loose-copy"},
        .more = "<p><a rel=\"nofollow\" href=\"/by-nofollow\">no</a> "
                "<a rel=\"external UGC\" href=\"/by-ugc\">no</a> "
                "<a rel=\"noopener\" href=\"/by-noopener\">yes</a></p>\n"});
  page("/noindex", Fate::Fetched,
       {.title = "Noindex",
        .text = "nofollownoindex",
        .links = {"/behind-noindex"},
        .head = meta("ROBOTS", "NOINDEX")});
  leaf("/behind-noindex", Fate::Document, "nofollowbehind");
  page("/nofollow", Fate::Document,
       {.title = "Nofollow",
        .text = "nofollowmeta",
        .links = {"/behind-nofollow"},
        .head = meta("robots", "index, nofollow")});
  page("/none", Fate::Fetched,
       {.title = "None",
        .text = "nofollownone",
        .links = {"/behind-none"},
        .head = meta("robots", "none")});
  page("/quern-only", Fate::Fetched,
       {.title = "Said to us alone",
        .text = "nofollowquern",
        .links = {"/behind-quern"},
        .head = meta("quern", "noindex")});
  leaf("/behind-quern", Fate::Document, "nofollowbehindquern");
  leaf("/by-noopener", Fate::Document, "nofollownoopener");
  for (const char* target : {"/behind-nofollow", "/behind-none", "/by-nofollow", "/behind-header"})
    never(target);
  // Search engines take these for hints.
  leaf("/by-ugc", Fate::Maybe, "nofollowugc");
  add_headers();
  add_canonical();
}

void NofollowHost::add_headers() {
  const auto with_tag = [](const char* tag, const char* words) {
    return [tag, words](const Ask& ask) {
      const bool none = ask.target == "/header-none";
      Html html{.title = "Header", .text = words};
      if (none) html.links = {"/behind-header"};
      Answer answer = html_answer(html);
      answer.headers.set("X-Robots-Tag", tag);
      return answer;
    };
  };
  add("/header-noindex", Fate::Fetched, with_tag("noindex", "nofollowheader"));
  add("/header-none", Fate::Fetched, with_tag("noindex, nofollow", "nofollowheadernone"));
  add("/header-other", Fate::Document, with_tag("otherbot: noindex", "nofollowheaderother"));
}

void NofollowHost::add_canonical() {
  page("/copy?x=1", Fate::Fetched,
       {.title = "Original",
        .text = "nofolloworiginal",
        .head = "<link rel=\"canonical\" href=\"/original\">\n"});
  page("/original", Fate::Document,
       {.title = "Original",
        .text = "nofolloworiginal",
        .head = "<link rel=\"canonical\" href=\"/original\">\n"});
  // A canonical address elsewhere is no reason to forget a page of ours.
  page("/loose-copy", Fate::Document,
       {.title = "Loose copy",
        .text = "nofollowloose",
        .head = "<link rel=\"canonical\" href=\"http://elsewhere.test/x\">\n"});
}

}  // namespace quern::test_site
