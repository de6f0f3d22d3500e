#include "crawl/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <map>

#include "tree/job.h"

namespace quern::crawl {
namespace {

namespace json = boost::json;

constexpr std::size_t kArchivePathMax = 4096;

std::string_view without_www(std::string_view site) {
  return site.starts_with("www.") ? site.substr(4) : site;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

int number_of(std::string_view text) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? value : -1;
}

// "jpg" of "/a/b.JPG"; empty where the last segment has no dot.
std::string ending_of(std::string_view path) {
  const std::string_view last = path.substr(path.find_last_of('/') + 1);
  const std::size_t dot = last.find_last_of('.');
  return dot == std::string_view::npos ? "" : lower(last.substr(dot + 1));
}

bool is_far(int year, int year_now) {
  return year > 0 && (year > year_now + 1 || year < 1990);
}

// The year that a value like "2031", "2031-05" or "203105" begins with; -1: it is none.
int year_in(std::string_view value) {
  if (value.size() < 4) return -1;
  const int year = number_of(value.substr(0, 4));
  if (year < 1000 || year > 9999) return -1;
  return year;
}

bool is_dated(std::string_view name) {
  for (const std::string_view word : {"year", "month", "date", "day", "calendar"}) {
    if (name.find(word) != std::string_view::npos) return true;
  }
  return name == "y" || name == "m" || name == "d";
}

std::string trap_of_path(const std::string& path, int year_now) {
  const std::vector<std::string_view> segments = split(path, '/');
  if (segments.size() > kSegmentsMax) {
    return fmt::format("its path has more than {} segments", kSegmentsMax);
  }
  std::map<std::string_view, std::size_t> times;
  for (const std::string_view segment : segments) {
    if (segment.empty() || ++times[segment] <= kRepeatedMax) continue;
    return fmt::format("'{}' stands more than {} times in its path", segment, kRepeatedMax);
  }
  for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
    const bool is_year = segments[i].size() == 4 && segments[i + 1].size() <= 2;
    const int month = is_year ? number_of(segments[i + 1]) : -1;
    if (month >= 1 && month <= 12 && is_far(year_in(segments[i]), year_now)) {
      return fmt::format("a calendar: {}/{} is far from now", segments[i], segments[i + 1]);
    }
  }
  return "";
}

std::string trap_of_query(const std::string& query, int year_now) {
  const std::vector<std::string_view> parameters = split(query, '&');
  if (parameters.size() > kParametersMax) {
    return fmt::format("its query has more than {} parameters", kParametersMax);
  }
  std::map<std::string_view, std::size_t> times;
  for (const std::string_view parameter : parameters) {
    const std::string_view name = parameter.substr(0, parameter.find('='));
    if (++times[name] > kRepeatedMax) {
      return fmt::format("'{}' stands more than {} times in its query", name, kRepeatedMax);
    }
    const std::string_view value = parameter.substr(std::min(name.size() + 1, parameter.size()));
    if (is_dated(lower(name)) && is_far(year_in(value), year_now)) {
      return fmt::format("a calendar: '{}' is far from now", parameter);
    }
  }
  return "";
}

// -- JSON --

struct Reader {
  const json::object& object;
  std::vector<std::string> known{};

  Error wrong(std::string_view name, std::string_view must_be) const {
    return Error{Errc::Invalid, fmt::format("'{}' must be {}", name, must_be)};
  }
  const json::value* find(std::string_view name) {
    known.emplace_back(name);
    return object.if_contains(name);
  }
  Result<> text(std::string_view name, std::string& into, std::size_t bytes_max = 2048) {
    const json::value* value = find(name);
    if (value == nullptr) return {};
    if (!value->is_string() || value->get_string().size() > bytes_max) {
      return wrong(name, fmt::format("a text of at most {} bytes", bytes_max));
    }
    into = value->get_string();
    return {};
  }
  Result<> flag(std::string_view name, bool& into) {
    const json::value* value = find(name);
    if (value == nullptr) return {};
    if (!value->is_bool()) return wrong(name, "true or false");
    into = value->get_bool();
    return {};
  }
  Result<> number(std::string_view name, std::int64_t& into, std::int64_t least, std::int64_t most,
                  double scale = 1) {
    const json::value* value = find(name);
    if (value == nullptr) return {};
    boost::system::error_code failed;
    const double given = value->is_number() ? value->to_number<double>(failed) : -1;
    const double scaled = given * scale;
    const bool fits = value->is_number() && !failed && scaled >= static_cast<double>(least) &&
                      scaled <= static_cast<double>(most);
    if (!fits) {
      return wrong(name, fmt::format("a number from {} to {}", static_cast<double>(least) / scale,
                                     static_cast<double>(most) / scale));
    }
    into = static_cast<std::int64_t>(scaled);
    return {};
  }
  Result<> texts(std::string_view name, std::vector<std::string>& into, std::size_t most) {
    const json::value* value = find(name);
    if (value == nullptr) return {};
    const json::array* list = value->if_array();
    if (list == nullptr || list->size() > most) {
      return wrong(name, fmt::format("a list of at most {} texts", most));
    }
    into.clear();
    for (const json::value& one : *list) {
      if (!one.is_string()) return wrong(name, "a list of texts");
      into.emplace_back(one.get_string());
    }
    return {};
  }
  Result<> end() const {
    for (const auto& [name, value] : object) {
      const std::string_view key = name;
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        return Error{Errc::Invalid, fmt::format("a crawl has no field '{}'", key)};
      }
    }
    return {};
  }
};

// "site.gov" is taken as people mean it.
Result<std::string> seed_of(const std::string& given) {
  const bool has_scheme = given.find("://") != std::string::npos;
  Result<web::Url> url = web::Url::parse(has_scheme ? given : "https://" + given);
  if (!url.ok() || !url->is_web() || url->host().empty()) {
    return Error{Errc::Invalid,
                 fmt::format("'{}' is no address of the web; write https://site", given)};
  }
  std::string canonical = web::canonical_url(*url).href();
  if (canonical.size() > web::kUrlBytesMax) {
    return over_limit("the address' bytes", static_cast<std::int64_t>(canonical.size()),
                      web::kUrlBytesMax, "web.url_bytes_max");
  }
  return canonical;
}

Result<> check(CrawlOrder& order) {
  if (order.urls.empty()) return Error{Errc::Invalid, "'urls' must name where to begin"};
  for (std::string& url : order.urls) {
    TRY_ASSIGN(url, seed_of(url));
  }
  TRY(tree::validate_collection_name(order.collection));
  if (order.scope != "host" && order.scope != "domain") {
    TRY_ASSIGN(order.scope, seed_of(order.scope));
  }
  TRY(web::AllowedHosts::parse(order.allow_private));
  for (std::string& ending : order.skip) {
    ending = lower(ending.starts_with('.') ? std::string_view(ending).substr(1) : ending);
  }
  return {};
}

}  // namespace

const std::vector<std::string>& default_skip() {
  static const std::vector<std::string> endings = {
      "acc", "aac", "avi", "bmp", "css",  "eot", "gif",  "ico",  "jpeg", "jpg",  "js",
      "m4a", "m4v", "mov", "mp3", "mp4",  "mpg", "mpeg", "ogg",  "otf",  "png",  "psd",
      "raw", "stl", "svg", "tif", "tiff", "ttf", "wav",  "webm", "webp", "woff", "woff2"};
  return endings;
}

Result<CrawlOrder> parse_order(std::string_view text) {
  boost::system::error_code failed;
  const json::value value = json::parse(json::string_view(text.data(), text.size()), failed);
  if (failed || !value.is_object()) {
    return Error{Errc::Invalid, R"(a crawl is an object such as {"urls":["https://site"]})"};
  }
  CrawlOrder order;
  order.skip = default_skip();
  Reader reader{value.get_object()};
  TRY(reader.texts("urls", order.urls, kSeedsMax));
  TRY(reader.text("collection", order.collection));
  TRY(reader.text("scope", order.scope));
  TRY(reader.number("max_pages", order.pages_max, 1, kPagesMax));
  TRY(reader.number("max_depth", order.depth_max, 0, kDepthMax));
  TRY(reader.number("delay", order.delay_ms, 0, kDelayMsMax, 1000));
  TRY(reader.number("max_url", order.url_bytes_max, 16, web::kUrlBytesMax));
  TRY(reader.number("period", order.period_s, 0, kPeriodSecondsMax));
  TRY(reader.flag("force", order.force));
  TRY(reader.flag("whole", order.whole));
  TRY(reader.flag("sitemaps", order.sitemaps));
  TRY(reader.text("allow_private", order.allow_private));
  TRY(reader.texts("skip", order.skip, kSkippedMax));
  TRY(reader.text("archive", order.archive, kArchivePathMax));
  TRY(reader.end());
  TRY(check(order));
  return order;
}

std::string to_json(const CrawlOrder& order) {
  const json::object object{{"urls", json::array(order.urls.begin(), order.urls.end())},
                            {"collection", order.collection},
                            {"scope", order.scope},
                            {"max_pages", order.pages_max},
                            {"max_depth", order.depth_max},
                            {"delay", static_cast<double>(order.delay_ms) / 1000},
                            {"max_url", order.url_bytes_max},
                            {"period", order.period_s},
                            {"force", order.force},
                            {"whole", order.whole},
                            {"sitemaps", order.sitemaps},
                            {"allow_private", order.allow_private},
                            {"archive", order.archive},
                            {"skip", json::array(order.skip.begin(), order.skip.end())}};
  return json::serialize(object);
}

std::string trap_of(const web::Url& url, int year_now) {
  std::string trap = trap_of_path(url.path(), year_now);
  if (trap.empty() && url.query()) trap = trap_of_query(*url.query(), year_now);
  return trap;
}

Scope::Scope(const CrawlOrder& order) : order_(order) {
  if (order.scope != "host" && order.scope != "domain") {
    places_.insert(order.scope);
    return;
  }
  for (const std::string& seed : order.urls) {
    const Result<web::Url> url = web::Url::parse(seed);
    if (!url.ok()) continue;
    if (order.scope == "domain") {
      places_.insert(web::registered_domain(url->host()));
    } else {
      places_.emplace(without_www(web::site_of(*url)));
    }
  }
}

bool Scope::covers(const web::Url& url) const {
  std::string place;
  if (order_.scope == "host") {
    place = without_www(web::site_of(url));
  } else if (order_.scope == "domain") {
    place = web::registered_domain(url.host());
  } else {
    return url.href().starts_with(order_.scope);
  }
  return places_.contains(place);
}

Judgement Scope::judge(const web::Url& url, std::int64_t depth, int year_now) const {
  if (!url.is_web()) return {false, "scheme", "it is no address of the web"};
  if (!covers(url)) {
    return {false, "scope", fmt::format("it lies outside the crawl's scope ({})", order_.scope)};
  }
  if (static_cast<std::int64_t>(url.href().size()) > order_.url_bytes_max) {
    return {false, "limit",
            fmt::format("its address is longer than {} characters", order_.url_bytes_max)};
  }
  if (depth > order_.depth_max) {
    return {false, "limit",
            fmt::format("it is more than {} links from the first page", order_.depth_max)};
  }
  const std::string ending = ending_of(url.path());
  if (std::find(order_.skip.begin(), order_.skip.end(), ending) != order_.skip.end() &&
      !ending.empty()) {
    return {false, "skip", fmt::format("files that end in .{} are skipped", ending)};
  }
  std::string trap = trap_of(url, year_now);
  if (!trap.empty()) return {false, "trap", std::move(trap)};
  return {};
}

}  // namespace quern::crawl
