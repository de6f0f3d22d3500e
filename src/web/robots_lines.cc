#include "web/robots_lines.h"

#include <algorithm>
#include <array>
#include <optional>

#include "web/robots.h"
#include "web/url_escape.h"

namespace quern::web {
namespace {

using Kind = RobotsLine::Kind;

struct Key {
  std::string_view name;
  Kind kind;
};
// With the misspellings that search engines accept.
constexpr std::array<Key, 15> kKeys = {{{"user-agent", Kind::Agent},
                                        {"useragent", Kind::Agent},
                                        {"user agent", Kind::Agent},
                                        {"allow", Kind::Allow},
                                        {"disallow", Kind::Disallow},
                                        {"dissallow", Kind::Disallow},
                                        {"dissalow", Kind::Disallow},
                                        {"disalow", Kind::Disallow},
                                        {"diasllow", Kind::Disallow},
                                        {"disallaw", Kind::Disallow},
                                        {"crawl-delay", Kind::Delay},
                                        {"crawldelay", Kind::Delay},
                                        {"crawl delay", Kind::Delay},
                                        {"sitemap", Kind::Sitemap},
                                        {"site-map", Kind::Sitemap}}};

bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r') || c == '\0';
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

Kind kind_of(std::string_view key) {
  constexpr std::size_t kLongestKey = 32;
  const std::string lower = to_lower(key.substr(0, kLongestKey));
  for (const Key& known : kKeys) {
    if (lower.starts_with(known.name)) return known.kind;
  }
  return Kind::Other;
}

// "key: value", or "key value" where nothing else stands on the line.
std::optional<RobotsLine> read_line(std::string_view text, int number) {
  text = trimmed(text.substr(0, text.find('#')));
  std::size_t mark = text.find(':');
  if (mark == std::string_view::npos) {
    mark =
        static_cast<std::size_t>(std::find_if(text.begin(), text.end(), is_blank) - text.begin());
    if (mark == text.size()) return std::nullopt;
    const std::string_view value = trimmed(text.substr(mark));
    if (std::any_of(value.begin(), value.end(), is_blank)) return std::nullopt;
  }
  const std::string_view key = trimmed(text.substr(0, mark));
  if (key.empty()) return std::nullopt;
  return RobotsLine{kind_of(key), trimmed(text.substr(mark + 1)), number};
}

// The mark of UTF-8 at the beginning, or what somebody has left of it.
std::string_view without_mark(std::string_view body) {
  for (const char c : {'\xEF', '\xBB', '\xBF'}) {
    if (!body.starts_with(c)) break;
    body.remove_prefix(1);
  }
  return body;
}

}  // namespace

void for_each_robots_line(std::string_view body,
                          const std::function<void(const RobotsLine&)>& take) {
  if (body.size() > kRobotsBytesMax) {
    body = body.substr(0, kRobotsBytesMax);
    const std::size_t end = body.find_last_of("\r\n");
    body = body.substr(0, end == std::string_view::npos ? 0 : end);
  }
  body = without_mark(body);
  int number = 0;
  while (!body.empty()) {
    const std::size_t end = std::min(body.find_first_of("\r\n"), body.size());
    if (const auto line = read_line(body.substr(0, end), ++number)) take(*line);
    body.remove_prefix(end);
    if (body.starts_with("\r\n")) body.remove_prefix(1);
    if (!body.empty()) body.remove_prefix(1);
  }
}

}  // namespace quern::web
