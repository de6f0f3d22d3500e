#include <gtest/gtest.h>

#include <array>

#include "web/url.h"

namespace quern::web {
namespace {

std::string canonical(std::string_view text) {
  const Url once = canonical_url(Url::parse(text).value());
  EXPECT_EQ(canonical_url(once).href(), once.href()) << "of " << text;
  return once.href();
}

TEST(CanonicalTest, FragmentAndUserAreNoPartOfAPage) {
  EXPECT_EQ(canonical("https://me:pw@h.gov/a#b"), "https://h.gov/a");
  EXPECT_EQ(canonical("https://h.gov/a?"), "https://h.gov/a");
  EXPECT_EQ(canonical("https://h.gov./a"), "https://h.gov/a");
  EXPECT_EQ(canonical("https://h.gov../a"), "https://h.gov../a") << "no name, but one page";
  EXPECT_EQ(canonical("mailto:a@b#c"), "mailto:a@b");
}

TEST(CanonicalTest, EscapesHaveOneForm) {
  EXPECT_EQ(canonical("http://h/%7euser/%41%2d%2f%c3%bc"), "http://h/~user/A-%2F%C3%BC");
  EXPECT_EQ(canonical("http://h/?q=%61%26|"), "http://h/?q=a%26%7C");
  EXPECT_EQ(canonical("http://h/90%"), "http://h/90%25");
  EXPECT_EQ(canonical("http://h/%2%35"), "http://h/%2525") << "not the escape that was not there";
}

TEST(CanonicalTest, ParametersThatSayNothingOfThePageAreGone) {
  EXPECT_EQ(canonical("http://h/?utm_source=x&b=2&UTM_medium=y&a=1&gclid=z&fbclid="),
            "http://h/?b=2&a=1")
      << "and the others keep their order";
  EXPECT_EQ(canonical("http://h/?utm_source=x"), "http://h/");
  EXPECT_EQ(canonical("http://h/a;jsessionid=AB12.node1?PHPSESSID=1&x="), "http://h/a?x=");
  EXPECT_EQ(canonical("http://h/a;jsessionid=1/b;v=2;JSESSIONID=3"), "http://h/a/b;v=2");
  EXPECT_EQ(canonical("http://h/?u%74m_source=x&p"), "http://h/?p");
  EXPECT_EQ(canonical("http://h/?&&a&&"), "http://h/?a");
}

TEST(CanonicalTest, AShortSidIsAParameterLikeOthers) {
  EXPECT_EQ(canonical("http://h/?sid=17"), "http://h/?sid=17");
  EXPECT_EQ(canonical("http://h/?sid=0123456789abcdef"), "http://h/");
  EXPECT_EQ(canonical("http://h/?sessionid=1234&pk_id=7"), "http://h/?sessionid=1234&pk_id=7");
  EXPECT_EQ(canonical("http://h/?session=introductionofterms"),
            "http://h/?session=introductionofterms");
}

TEST(CanonicalTest, WhatDiffersStaysDifferent) {
  EXPECT_NE(canonical("http://h/a"), canonical("https://h/a"));
  EXPECT_NE(canonical("http://h/a"), canonical("http://h/a/"));
  EXPECT_NE(canonical("http://h/a"), canonical("http://h/A"));
  EXPECT_NE(canonical("http://h/?a&b"), canonical("http://h/?b&a"));
  EXPECT_NE(canonical("http://h/a%2Fb"), canonical("http://h/a/b"));
  EXPECT_NE(canonical("http://h//a"), canonical("http://h/a"));
}

TEST(SurtTest, HostsAreTurnedAround) {
  const auto of = [](std::string_view text) { return surt(Url::parse(text).value()); };
  EXPECT_EQ(of("https://www.Site.gov/Path?b=2&A=1"), "gov,site)/path?a=1&b=2");
  EXPECT_EQ(of("http://site.gov:8080/"), "gov,site:8080)/");
  EXPECT_EQ(of("https://www2.a.site.gov./x"), "gov,site,a)/x");
  EXPECT_EQ(of("https://www.gov/"), "gov)/");
  EXPECT_EQ(of("https://wwwx.gov/"), "gov,wwwx)/");
  EXPECT_EQ(of("http://192.0.2.1/a"), "192.0.2.1)/a");
  EXPECT_EQ(of("http://[::1]:81/a?"), "[::1]:81)/a");
  EXPECT_EQ(of("mailto:a@b"), "mailto:a@b");
}

TEST(DomainTest, SitesAreHostsWithAPortThatIsNotTheSchemes) {
  EXPECT_EQ(site_of(Url::parse("https://A.site.gov/x").value()), "a.site.gov");
  EXPECT_EQ(site_of(Url::parse("https://a.site.gov:8080/x").value()), "a.site.gov:8080");
  EXPECT_EQ(site_of(Url::parse("http://h:80/").value()), "h");
}

TEST(DomainTest, ThePublicSuffixListSaysWhatIsRegistered) {
  EXPECT_EQ(registered_domain("a.b.site.co.uk"), "site.co.uk");
  EXPECT_EQ(registered_domain("site.gov"), "site.gov");
  EXPECT_EQ(registered_domain("a.site.gov."), "site.gov");
  EXPECT_EQ(registered_domain("co.uk"), "co.uk");
  EXPECT_EQ(registered_domain("localhost"), "localhost");
  EXPECT_EQ(registered_domain("192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(registered_domain("[2001:db8::1]"), "[2001:db8::1]");
  EXPECT_EQ(registered_domain("a.b.xn--55qx5d.cn"), "b.xn--55qx5d.cn");
}

}  // namespace
}  // namespace quern::web
