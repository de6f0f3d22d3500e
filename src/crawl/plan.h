// What becomes of an answer: pure rules, in one place.
#pragma once

#include <string>

#include "crawl/page.h"
#include "web/fetcher.h"

namespace quern::crawl {

inline constexpr std::int64_t kTriesMax = 5;
inline constexpr std::int64_t kHopsMax = 10;
inline constexpr std::int64_t kRetryAfterSecondsMax = 24 * 3600;

struct FetchPlan {
  enum class Do {
    Root,   // a new file: by the step Page, or by its type
    Same,   // nothing has changed
    Hop,    // it is elsewhere: `target`
    Out,    // it is not taken, for good; what it was before stays where `failed`
    Again,  // later
  };
  Do what = Do::Out;
  bool page_step = false;
  std::string type;  // of what came, without parameters
  std::string target;
  std::string why;
  std::string why_kind;
  bool failed = false;       // it could not be had
  bool gone = false;         // and what it was before goes, too
  std::int64_t delay_s = 0;  // of Again: at least so long
  bool leave_alone = false;  // that is meant for the whole site
};
// `same`: the bytes are those of before. `tries`: with this one.
FetchPlan plan_fetch(const Page& page, const web::Fetched& fetched, bool same, std::int64_t tries);

// "120" or a date, from now (seconds since 1970); 0 where it is neither, at most
// kRetryAfterSecondsMax.
std::int64_t parse_retry_after(std::string_view value, std::int64_t now_s);
// "text/html" of "Text/HTML; charset=x".
std::string plain_type(std::string_view value);
bool is_html(std::string_view type);
// What X-Robots-Tag says to all agents, or to ours.
struct RobotsTags {
  bool noindex = false;
  bool nofollow = false;
};
RobotsTags robots_tags(const web::HeaderList& headers);

}  // namespace quern::crawl
