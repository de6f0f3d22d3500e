#include "crawl/links.h"

#include <algorithm>
#include <boost/json.hpp>
#include <set>

namespace quern::crawl {
namespace {

namespace json = boost::json;

std::string text_in(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

bool has_word(const std::string& text, std::string_view word) {
  std::size_t at = 0;
  while ((at = text.find(word, at)) != std::string::npos) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || text[at - 1] == ' ';
    if (begins && (end == text.size() || text[end] == ' ')) return true;
    at = end;
  }
  return false;
}

class Finding {
 public:
  Finding(const Page& page, const Scope& scope, web::Url base, int year_now)
      : page_(page), scope_(scope), base_(std::move(base)), year_now_(year_now) {}

  void read(const json::object& object) {
    kind_ = text_in(object, "kind");
    const std::string base = text_in(object, "base");
    if (!base.empty()) {
      Result<web::Url> own = web::Url::parse(base, base_);
      if (own.ok() && own->is_web()) base_ = *std::move(own);
    }
    if (const json::value* robots = object.if_contains("robots"); robots && robots->is_array()) {
      for (const json::value& rule : robots->get_array()) {
        if (!rule.is_string()) continue;
        const std::string_view text = rule.get_string();
        found_.noindex = found_.noindex || text == "noindex" || text == "none";
        nofollow_ = nofollow_ || text == "nofollow" || text == "none";
      }
    }
    read_canonical(text_in(object, "canonical"));
    if (nofollow_ || (page_.want & kCrawl) == 0) return;
    if (const std::string refresh = text_in(object, "refresh"); !refresh.empty()) {
      add(refresh, "");
    }
    const json::value* links = object.if_contains("links");
    if (links == nullptr || !links->is_array()) return;
    for (const json::value& link : links->get_array()) {
      if (const json::object* one = link.if_object()) {
        add(text_in(*one, "href"), text_in(*one, "rel"));
      }
    }
  }
  void add_sitemap(const std::string& href) {
    const Result<web::Url> url = web::Url::parse(href, base_);
    if (!url.ok() || !url->is_web()) return;
    // They lie where the site says, as long as that is the site.
    const web::Url canonical = web::canonical_url(*url);
    if (!scope_.covers(canonical)) return;
    put(canonical, "sitemap", 1, 0);
  }
  FoundLinks take() { return std::move(found_); }

 private:
  void read_canonical(const std::string& href) {
    if (href.empty()) return;
    const Result<web::Url> url = web::Url::parse(href, base_);
    if (!url.ok() || !url->is_web()) return;
    const web::Url canonical = web::canonical_url(*url);
    if (canonical.href() == page_.url) return;
    if (!scope_.judge(canonical, page_.depth, year_now_).in) return;
    found_.canonical = canonical.href();
    put(canonical, "canonical", page_.depth, page_.hops + 1);
  }

  void add(const std::string& href, const std::string& rel) {
    if (href.empty() || href.starts_with('#') || has_word(rel, "nofollow")) return;
    const Result<web::Url> url = web::Url::parse(href, base_);
    if (!url.ok() || !url->is_web()) return;
    const web::Url canonical = web::canonical_url(*url);
    if (kind_ == "redirect") {
      if (scope_.judge(canonical, page_.depth, year_now_).in) {
        put(canonical, "redirect", page_.depth, page_.hops + 1);
      }
      return;
    }
    const std::int64_t depth = page_.depth + 1;
    if (!scope_.judge(canonical, depth, year_now_).in) return;
    const bool index = kind_ == "sitemapindex";
    const std::string source = index ? "sitemap" : has_word(rel, "feed") ? "feed" : "link";
    put(canonical, source, depth, 0);
  }

  void put(const web::Url& url, const std::string& source, std::int64_t depth, std::int64_t hops) {
    if (url.path() == "/robots.txt" || !seen_.insert(url.href()).second) return;
    Candidate candidate;
    candidate.url = url.href();
    candidate.depth = depth;
    candidate.hops = hops;
    candidate.source = source;
    // What led to a redirect is wanted as the redirect was.
    if (source == "redirect" || source == "canonical") candidate.want = page_.want;
    if (source == "redirect" && (page_.source == "sitemap" || page_.source == "feed")) {
      candidate.source = page_.source;
    }
    candidate.referrer = page_.id;
    found_.by_site[web::site_of(url)].push_back(std::move(candidate));
  }

  const Page& page_;
  const Scope& scope_;
  web::Url base_;
  int year_now_;
  std::string kind_;
  bool nofollow_ = false;
  std::set<std::string> seen_;
  FoundLinks found_;
};

}  // namespace

FoundLinks find_links(const Page& page, const Scope& scope, const std::string& of_step,
                      int year_now) {
  const Result<web::Url> base = web::Url::parse(page.url);
  if (!base.ok()) return {};
  Finding finding(page, scope, *base, year_now);
  for (const std::string& text : {page.links, of_step}) {
    boost::system::error_code failed;
    const json::value value = json::parse(text, failed);
    if (!failed && value.is_object()) finding.read(value.get_object());
  }
  return finding.take();
}

void add_sitemaps(const std::vector<std::string>& sitemaps, const Page& page, const Scope& scope,
                  FoundLinks& found) {
  const Result<web::Url> base = web::Url::parse(page.url);
  if (!base.ok()) return;
  Finding finding(page, scope, *base, 0);
  for (const std::string& sitemap : sitemaps) finding.add_sitemap(sitemap);
  for (auto& [site, candidates] : finding.take().by_site) {
    std::vector<Candidate>& into = found.by_site[site];
    for (Candidate& candidate : candidates) into.push_back(std::move(candidate));
  }
}

}  // namespace quern::crawl
