#include "web/url.h"

#include <gtest/gtest.h>

#include <array>

#include "web/url_escape.h"
#include "web/url_host.h"

namespace quern::web {
namespace {

std::string href_of(std::string_view text) {
  const auto url = Url::parse(text);
  return url ? url->href() : "none";
}

std::string resolved(std::string_view text, std::string_view base) {
  const auto url = Url::parse(text, Url::parse(base).value());
  return url ? url->href() : "none";
}

TEST(UrlTest, PartsAreTakenApart) {
  const Url url = Url::parse("HTTPS://me:pw@Site.GOV:8443/a/./b/../c?x=1&y#part").value();
  EXPECT_EQ(url.href(), "https://me:pw@site.gov:8443/a/c?x=1&y#part");
  EXPECT_EQ(url.scheme(), "https");
  EXPECT_EQ(url.username(), "me");
  EXPECT_EQ(url.password(), "pw");
  EXPECT_EQ(url.host(), "site.gov");
  EXPECT_EQ(url.port(), 8443);
  EXPECT_EQ(url.effective_port(), 8443);
  EXPECT_EQ(url.path(), "/a/c");
  EXPECT_EQ(url.query(), "x=1&y");
  EXPECT_EQ(url.fragment(), "part");
  EXPECT_EQ(url.target(), "/a/c?x=1&y");
  EXPECT_EQ(url.origin(), "https://site.gov:8443");
  EXPECT_TRUE(url.is_web());
}

TEST(UrlTest, ThePortOfTheSchemeIsNotWritten) {
  EXPECT_EQ(href_of("http://h:80/"), "http://h/");
  EXPECT_EQ(href_of("https://h:443"), "https://h/");
  EXPECT_EQ(href_of("https://h:80"), "https://h:80/");
  EXPECT_EQ(href_of("http://h:65536/"), "none");
  EXPECT_EQ(href_of("http://h:x/"), "none");
  EXPECT_EQ(Url::parse("https://h/").value().effective_port(), 443);
  EXPECT_EQ(Url::parse("mailto:a@b").value().effective_port(), 0);
}

TEST(UrlTest, WhatIsNoAddressIsRefused) {
  for (const std::string_view text :
       {"", "abc", "//h/x", "http://", "http:///", "http://a b/", "http://[::1", "http://[g::1]/",
        "http://1.2.3.4.5/", "http://256.1.1.1/", "http://h%00/", "http://\xff/", "http://a@/"}) {
    EXPECT_FALSE(Url::parse(text).ok()) << text;
  }
}

TEST(UrlTest, AddressesInAnyNotationAreOne) {
  for (const std::string_view text :
       {"http://127.0.0.1/", "http://127.1", "http://0x7f.1/", "http://017700000001",
        "http://2130706433/", "http://0x7F000001/", "http://127.0.0.1./", "http://%31%32%37.1"}) {
    EXPECT_EQ(href_of(text), "http://127.0.0.1/") << text;
  }
  EXPECT_EQ(href_of("http://[0:0:0:0:0:0:0:1]/"), "http://[::1]/");
  EXPECT_EQ(href_of("http://[1:0:0:2:0:0:0:3]/"), "http://[1:0:0:2::3]/");
  EXPECT_EQ(href_of("http://[::ffff:192.0.2.1]/"), "http://[::ffff:c000:201]/");
  EXPECT_TRUE(is_address("[::1]") && is_address("192.0.2.1"));
  EXPECT_FALSE(is_address("192.example") || is_address(""));
}

TEST(UrlTest, NamesInAnyScriptBecomeThoseOfTheDns) {
  EXPECT_EQ(href_of("https://B\u00FCcher.example/"), "https://xn--bcher-kva.example/");
  EXPECT_EQ(href_of("https://b%C3%BCcher.example/"), "https://xn--bcher-kva.example/");
  EXPECT_EQ(href_of("https://fa\u00DF.example/"), "https://xn--fa-hia.example/");
  EXPECT_EQ(href_of("https://\uFF27o.com/"), "https://go.com/");
  EXPECT_EQ(href_of("https://a\u3002b/"), "https://a.b/");
  EXPECT_EQ(href_of("https://\u202Ea.com/"), "none");
  EXPECT_EQ(href_of("https://XN--A/"), "https://xn--a/") << "what is ASCII is left alone";
}

TEST(UrlTest, EachPartHasItsOwnEscapes) {
  EXPECT_EQ(href_of("http://u'^:p|@h/a'^|?b'^`{|}#c'^`{|}"),
            "http://u'%5E:p%7C@h/a'%5E|?b%27^`{|}#c'^%60{|}");
  EXPECT_EQ(href_of("http://h/\u00FC?\u00FC#\u00FC"), "http://h/%C3%BC?%C3%BC#%C3%BC");
  EXPECT_EQ(href_of("http://h/%zz%"), "http://h/%zz%") << "what is no escape stays";
  EXPECT_EQ(href_of(" \x01http://h/a\tb\nc "), "http://h/abc");
}

TEST(UrlTest, OtherSchemesKeepTheirPaths) {
  EXPECT_EQ(href_of("mailto:me@site.gov"), "mailto:me@site.gov");
  EXPECT_EQ(href_of("DATA:text/plain,a b #c"), "data:text/plain,a b%20#c");
  EXPECT_EQ(href_of("file:///C|/a/../.."), "file:///C:/");
  EXPECT_EQ(href_of("file://localhost/x"), "file:///x");
  EXPECT_EQ(href_of("web+demo:/.//not-a-host/"), "web+demo:/.//not-a-host/");
  EXPECT_EQ(Url::parse("data:x").value().origin(), "null");
  EXPECT_EQ(Url::parse("blob:https://h:1/x").value().origin(), "https://h:1");
}

TEST(UrlTest, BackslashesAndMissingSlashesAreForgiven) {
  EXPECT_EQ(href_of("http:\\\\h\\a\\b"), "http://h/a/b");
  EXPECT_EQ(href_of("https:h/a"), "https://h/a");
  EXPECT_EQ(href_of("https:////h//a"), "https://h//a");
  EXPECT_EQ(resolved("https:x", "https://h/a/b"), "https://h/a/x");
}

TEST(UrlTest, A16LinksAreResolvedAsBrowsersDo) {
  const std::string_view base = "https://h.gov/a/b";
  EXPECT_EQ(resolved("c", base), "https://h.gov/a/c");
  EXPECT_EQ(resolved("../d", base), "https://h.gov/d");
  EXPECT_EQ(resolved("/faq", base), "https://h.gov/faq");
  EXPECT_EQ(resolved("/", base), "https://h.gov/");
  EXPECT_EQ(resolved("?p=2", base), "https://h.gov/a/b?p=2");
  EXPECT_EQ(resolved("https://h.gov/x", base), "https://h.gov/x");
  EXPECT_EQ(resolved("//h.gov/y", base), "https://h.gov/y");

  const Url page = Url::parse(base).value();
  for (const std::string_view link : {"mailto:q", "tel:1", "javascript:0"}) {
    EXPECT_FALSE(Url::parse(link, page).value().is_web()) << link;
  }
  EXPECT_EQ(canonical_url(Url::parse("#z", page).value()).href(), page.href()) << "the page itself";
}

TEST(UrlTest, WhatWasWrittenReadsTheSame) {
  for (const std::string_view text :
       {"http://h/%2e%2E/a", "foo:/.//a", "foo://h", "file:/a", "http://[::]/?#", "x:  y ?z"}) {
    const std::string href = href_of(text);
    EXPECT_EQ(href_of(href), href) << text;
  }
}

TEST(UrlTest, EscapesAreUndoneOnceOnly) {
  EXPECT_EQ(undo_escapes("%2541%zz%4"), "%41%zz%4");
}

}  // namespace
}  // namespace quern::web
