#include "crawl/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>

namespace quern::crawl {
namespace {

using Do = FetchPlan::Do;
using web::Fetched;
using web::find_header;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

FetchPlan out(std::string kind, std::string why) {
  FetchPlan plan;
  plan.why_kind = std::move(kind);
  plan.why = std::move(why);
  return plan;
}

FetchPlan out_and_gone(std::string kind, std::string why) {
  FetchPlan plan = out(std::move(kind), std::move(why));
  plan.gone = true;
  return plan;
}

// Later, unless that was the last time.
FetchPlan again(std::string why, std::int64_t tries, std::int64_t delay_s, bool leave_alone) {
  FetchPlan plan = out("fetch", std::move(why));
  plan.delay_s = delay_s;
  plan.leave_alone = leave_alone;
  plan.failed = true;
  if (tries < kTriesMax) {
    plan.what = Do::Again;
  } else {
    plan.why += fmt::format(" ({} times)", tries);
  }
  return plan;
}

FetchPlan plan_problem(const Fetched& fetched, std::int64_t tries) {
  if (web::is_passing(fetched.problem)) return again(fetched.message, tries, 0, false);
  const bool refused = fetched.problem == web::FetchProblem::Address;
  const bool too_large = fetched.problem == web::FetchProblem::TooLarge;
  FetchPlan plan = out(refused ? "address" : too_large ? "limit" : "fetch", fetched.message);
  plan.failed = true;
  return plan;
}

bool is_document(std::string_view type) {
  if (type.starts_with("image/") || type.starts_with("audio/") || type.starts_with("video/") ||
      type.starts_with("font/")) {
    return false;
  }
  return type != "text/css" && type.find("javascript") == std::string_view::npos;
}

bool is_xml(std::string_view type) {
  return type.ends_with("/xml") || type.ends_with("+xml");
}

FetchPlan plan_success(const Page& page, const Fetched& fetched, bool same) {
  FetchPlan plan;
  plan.type = plain_type(find_header(fetched.headers, "Content-Type"));
  if (same && page.file) {
    plan.what = Do::Same;
    return plan;
  }
  const bool listed = page.source == "sitemap" || page.source == "feed";
  plan.page_step = is_html(plan.type) || listed;
  if (!plan.page_step && !is_document(plan.type)) {
    return out_and_gone("type", fmt::format("it is neither a page nor a document: {}", plan.type));
  }
  if (!plan.page_step && is_xml(plan.type)) plan.page_step = true;
  if (!plan.page_step && robots_tags(fetched.headers).noindex) {
    return out_and_gone("noindex", "its server asks that it is not indexed (X-Robots-Tag)");
  }
  plan.what = Do::Root;
  return plan;
}

FetchPlan plan_redirect(const Page& page, const Fetched& fetched) {
  const std::string_view location = trimmed(find_header(fetched.headers, "Location"));
  if (location.empty()) {
    return out_and_gone(
        "status", fmt::format("it answers {} and does not say where it is now", fetched.status));
  }
  const Result<web::Url> base = web::Url::parse(page.url);
  const Result<web::Url> target =
      base.ok() ? web::Url::parse(location, *base) : Result<web::Url>(base.error());
  if (!target.ok() || !target->is_web()) {
    return out_and_gone("redirect", "it redirects to what is no address of the web");
  }
  const std::string to = web::canonical_url(*target).href();
  if (to == page.url) return out_and_gone("redirect", "it redirects to itself");
  if (page.hops + 1 > kHopsMax) {
    return out_and_gone("redirect", fmt::format("more than {} redirects led here", kHopsMax));
  }
  FetchPlan plan = out_and_gone("redirect", fmt::format("it redirects to {}", to));
  plan.what = Do::Hop;
  plan.target = to;
  return plan;
}

}  // namespace

std::string plain_type(std::string_view value) {
  return lower(trimmed(value.substr(0, value.find(';'))));
}

bool is_html(std::string_view type) {
  return type.empty() || type == "text/html" || type == "application/xhtml+xml";
}

RobotsTags robots_tags(const web::HeaderList& headers) {
  RobotsTags tags;
  for (const auto& [name, value] : headers) {
    if (lower(name) != "x-robots-tag") continue;
    const std::string rules = lower(value);
    // "otherbot: noindex" is another's.
    const std::size_t colon = rules.find(':');
    const std::string_view agent = trimmed(std::string_view(rules).substr(0, colon));
    const bool named = colon != std::string::npos && agent.find(',') == std::string_view::npos &&
                       agent != "unavailable_after" && !agent.starts_with("max-");
    if (named && agent != "quern") continue;
    const bool none = rules.find("none") != std::string::npos;
    tags.noindex = tags.noindex || none || rules.find("noindex") != std::string::npos;
    tags.nofollow = tags.nofollow || none || rules.find("nofollow") != std::string::npos;
  }
  return tags;
}

std::int64_t parse_retry_after(std::string_view value, std::int64_t now_s) {
  value = trimmed(value);
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
  if (error != std::errc{} || end != value.data() + value.size()) {
    std::tm time{};
    const char* const parsed =
        ::strptime(std::string(value).c_str(), "%a, %d %b %Y %H:%M:%S GMT", &time);
    if (parsed == nullptr) return 0;
    seconds = ::timegm(&time) - now_s;
  }
  return std::clamp<std::int64_t>(seconds, 0, kRetryAfterSecondsMax);
}

FetchPlan plan_fetch(const Page& page, const Fetched& fetched, bool same, std::int64_t tries) {
  if (fetched.problem != web::FetchProblem::None) return plan_problem(fetched, tries);
  const int status = fetched.status;
  if (status == 304 && page.file) {
    FetchPlan plan;
    plan.what = Do::Same;
    return plan;
  }
  if (status >= 200 && status < 300) return plan_success(page, fetched, same);
  if (status >= 300 && status < 400) return plan_redirect(page, fetched);
  const std::string why = fmt::format("its server answers {} {}", status, fetched.reason);
  const bool busy = status == 429 || status == 503;
  if (status >= 500 || busy || status == 408 || status == 425) {
    const std::int64_t after = parse_retry_after(find_header(fetched.headers, "Retry-After"),
                                                 fetched.ended_us / 1'000'000);
    return again(why, tries, after, busy);
  }
  return out_and_gone("status", why);
}

}  // namespace quern::crawl
