// Url: an address as browsers read it (the URL standard of WHATWG), and what a crawl makes of one.
//
// Pure, no state. What was parsed is serialized in one way: equal addresses have equal href().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace quern::web {

inline constexpr std::size_t kUrlBytesMax = 2048;  // of what is crawled; parse() takes any

class Url {
 public:
  // Invalid where it is none.
  static Result<Url> parse(std::string_view text);
  static Result<Url> parse(std::string_view text, const Url& base);

  const std::string& href() const { return href_; }
  const std::string& scheme() const { return scheme_; }  // "https"
  const std::string& username() const { return username_; }
  const std::string& password() const { return password_; }
  // As serialized: "xn--bcher-kva.example", "[::1]", "192.0.2.1"; empty where there is none.
  const std::string& host() const { return host_; }
  std::optional<std::uint16_t> port() const { return port_; }  // none: the scheme's own
  std::uint16_t effective_port() const;                        // 0 where the scheme has none
  const std::string& path() const { return path_; }
  const std::optional<std::string>& query() const { return query_; }  // without "?"
  const std::optional<std::string>& fragment() const { return fragment_; }
  bool is_web() const { return scheme_ == "http" || scheme_ == "https"; }
  // "/a?b": what a request line and robots.txt see.
  std::string target() const;
  // "https://site.gov", "http://site.gov:8080"; "null" where the scheme has no such thing.
  std::string origin() const;

 private:
  friend class UrlParser;

  std::string href_;
  std::string scheme_;
  std::string username_;
  std::string password_;
  std::string host_;
  bool has_host_ = false;
  std::optional<std::uint16_t> port_;
  std::string path_;
  bool opaque_path_ = false;
  std::optional<std::string> query_;
  std::optional<std::string> fragment_;
};

// The identity of a page: without fragment, user and password; escapes that need not be are
// undone, the others are in upper case; no "?" without a query; parameters that only say where a
// visitor came from or who they are (utm_*, gclid, fbclid, jsessionid, phpsessid, sid where it
// looks like one, …) are gone. Parameters keep their order. A web address; itself canonical.
Url canonical_url(const Url& url);

// "gov,site)/path?query" and "gov,site:8080)/…", as CDX indexes sort: lower case, without "www."
std::string surt(const Url& url);

// "site.gov", "site.gov:8080" (a port that is not the scheme's): what seed 003 calls a site.
std::string site_of(const Url& url);

// "site.co.uk" of "a.b.site.co.uk", by the public suffix list; the host itself where it is an
// address or a public suffix.
std::string registered_domain(const std::string& host);

}  // namespace quern::web
