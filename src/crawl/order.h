// CrawlOrder: what a crawl was asked to do, and which addresses belong to it. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "web/address.h"
#include "web/url.h"

namespace quern::crawl {

inline constexpr std::int64_t kPagesDefault = 1'000'000;
inline constexpr std::int64_t kPagesMax = 100'000'000;
inline constexpr std::int64_t kDepthDefault = 100;
inline constexpr std::int64_t kDepthMax = 10'000;
inline constexpr std::int64_t kDelayMsDefault = 1000;
inline constexpr std::int64_t kDelayMsMax = 3600 * 1000;
inline constexpr std::int64_t kPeriodSecondsMax = 366 * 86'400;
inline constexpr std::size_t kSeedsMax = 1000;
inline constexpr std::size_t kSkippedMax = 200;
inline constexpr std::size_t kSegmentsMax = 30;    // of a path
inline constexpr std::size_t kRepeatedMax = 3;     // how often one of them may stand there
inline constexpr std::size_t kParametersMax = 20;  // of a query

struct CrawlOrder {
  std::vector<std::string> urls;  // canonical, where it begins
  std::string collection = "default";
  std::string scope = "host";  // or "domain", or the beginning of addresses
  std::int64_t pages_max = kPagesDefault;
  std::int64_t depth_max = kDepthDefault;
  std::int64_t delay_ms = kDelayMsDefault;  // between two requests to a site
  std::int64_t url_bytes_max = web::kUrlBytesMax;
  std::int64_t period_s = 0;  // 0: once
  bool force = false;         // also what is not due
  bool whole = true;          // what it does not meet has gone; else the first pages only
  bool sitemaps = true;
  std::string allow_private;      // hosts, comma-separated
  std::string archive;            // a file of this machine that is read instead; empty: none
  std::vector<std::string> skip;  // endings of paths that are no pages: "jpg"
};

// Endings that are skipped unless an order says otherwise: pictures, sound, film.
const std::vector<std::string>& default_skip();

// From JSON as /api/v1/crawls takes it, and back. Invalid says what is wrong with which field.
Result<CrawlOrder> parse_order(std::string_view json);
std::string to_json(const CrawlOrder& order);

// Whether an address belongs to a crawl, and if not, why: for people.
struct Judgement {
  bool in = true;
  std::string kind;  // scheme, scope, limit, skip, trap
  std::string why;
};
class Scope {
 public:
  explicit Scope(const CrawlOrder& order);
  // Of a canonical address, met so many links from the first pages.
  Judgement judge(const web::Url& url, std::int64_t depth, int year_now) const;
  // Whether the address belongs to one of the places that the crawl is about.
  bool covers(const web::Url& url) const;

 private:
  CrawlOrder order_;
  std::set<std::string, std::less<>> places_;  // sites without "www.", domains or prefixes
};

// Why an address looks like one of endlessly many; empty: it does not.
std::string trap_of(const web::Url& url, int year_now);

}  // namespace quern::crawl
