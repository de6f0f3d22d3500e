// Robots: what a site's robots.txt lets us fetch. RFC 9309, and what people write beyond it.
//
// Pure. Bounded: bytes beyond kRobotsBytesMax are ignored, on a line's end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::web {

inline constexpr std::size_t kRobotsBytesMax = 500 * 1024;
inline constexpr std::size_t kRobotsSitemapsMax = 1000;

struct RobotsVerdict {
  bool allowed = true;
  int line = 0;      // that decided; 0: none did
  std::string rule;  // "Disallow: /p"; empty where none did
};

class Robots {
 public:
  // The rules for an agent ("quern"), a product token. Any bytes are a robots.txt.
  static Robots parse(std::string_view body, std::string_view agent);
  static Robots allow_all();
  static Robots disallow_all();  // the file could not be had: RFC 9309 2.3.1.4

  // Of "/path?query"; /robots.txt itself is always allowed.
  RobotsVerdict check(std::string_view target) const;
  std::optional<std::int64_t> crawl_delay_ms() const { return crawl_delay_ms_; }
  const std::vector<std::string>& sitemaps() const { return sitemaps_; }  // as written

 private:
  friend class RobotsBuilder;
  struct Rule {
    std::string pattern;  // escapes in one form
    bool allow = false;
    int line = 0;
    std::string text;
  };
  std::vector<Rule> rules_;  // the first that matches decides
  std::optional<std::int64_t> crawl_delay_ms_;
  std::vector<std::string> sitemaps_;
  bool nothing_ = false;
};

}  // namespace quern::web
