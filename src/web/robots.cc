#include "web/robots.h"

#include <strings.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "web/robots_lines.h"
#include "web/url_escape.h"

namespace quern::web {
namespace {

constexpr std::int64_t kCrawlDelayMsMax = 3'600'000;

// Beyond the RFC: digits, and any letter outside ASCII.
bool is_token_char(char c) {
  return is_alpha(c) || is_digit(c) || c == '-' || c == '_' || static_cast<unsigned char>(c) > 0x7F;
}

// "quern" of "quern/1.0 (…)".
std::string product_token(std::string_view agent) {
  std::size_t size = 0;
  while (size < agent.size() && is_token_char(agent[size])) ++size;
  return to_lower(agent.substr(0, size));
}

// A product token is one; of a whole User-Agent header each word may be meant.
std::vector<std::string> tokens_of(std::string_view agent) {
  std::vector<std::string> tokens;
  while (!agent.empty()) {
    const std::string token = product_token(agent);
    if (!token.empty()) tokens.push_back(token);
    agent.remove_prefix(std::max<std::size_t>(token.size(), 1));
  }
  return tokens;
}

bool is_everybody(std::string_view agent) {
  return agent.starts_with('*') && (agent.size() == 1 || agent[1] == ' ' || agent[1] == '\t');
}

// Characters and their escapes in one form, so that either way of writing matches the other.
// `special` are those which mean something in a pattern: as a letter they are escaped.
void append_one_form(std::string& to, std::string_view text, std::string_view special) {
  constexpr std::string_view kNeverRaw = " \"<>\\^`{|}%";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto escape = escape_at(text, i);
    if (escape) i += 2;
    const unsigned char c = escape ? *escape : static_cast<unsigned char>(text[i]);
    const bool is_plain =
        is_alpha(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
    if (is_plain || (!escape && c > 0x20 && c < 0x7F &&
                     kNeverRaw.find(static_cast<char>(c)) == std::string_view::npos &&
                     special.find(static_cast<char>(c)) == std::string_view::npos)) {
      to += static_cast<char>(c);
    } else {
      append_escaped(to, c);
    }
  }
}

// "*" stays, and "$" at the end; everywhere else they are letters.
std::string pattern_of(std::string_view value) {
  const bool is_anchored = value.ends_with('$');
  if (is_anchored) value.remove_suffix(1);
  std::string out;
  // No path begins otherwise: who wrote "private/" meant this one.
  if (!value.starts_with('/') && !value.starts_with('*')) out += '/';
  append_one_form(out, value, "$");
  // Stars that follow each other are one.
  out.erase(
      std::unique(out.begin(), out.end(), [](char a, char b) { return a == '*' && b == '*'; }),
      out.end());
  if (is_anchored) out += '$';
  return out;
}

// Where the piece is found first, from there on. Linear: hostile patterns are many.
std::size_t find_from(std::string_view text, std::string_view piece, std::size_t from) {
  if (piece.empty()) return from;
  const void* at = ::memmem(text.data() + from, text.size() - from, piece.data(), piece.size());
  return at ? static_cast<std::size_t>(static_cast<const char*>(at) - text.data())
            : std::string_view::npos;
}

bool matches(std::string_view pattern, std::string_view target) {
  const bool is_anchored = pattern.ends_with('$');
  if (is_anchored) pattern.remove_suffix(1);
  std::size_t star = pattern.find('*');
  if (!target.starts_with(pattern.substr(0, star))) return false;
  if (star == std::string_view::npos) return !is_anchored || target.size() == pattern.size();

  std::size_t at = star;
  for (;;) {
    const std::size_t begin = star + 1;
    star = pattern.find('*', begin);
    const std::string_view piece = pattern.substr(begin, star - begin);
    if (star == std::string_view::npos && is_anchored) {
      return target.size() - at >= piece.size() && target.ends_with(piece);
    }
    at = find_from(target, piece, at);
    if (at == std::string_view::npos) return false;
    at += piece.size();
    if (star == std::string_view::npos) return true;
  }
}

std::optional<std::int64_t> delay_of(std::string_view value) {
  double seconds = 0;
  double place = 0;
  bool has_digit = false;
  for (const char c : value) {
    if (is_digit(c)) {
      has_digit = true;
      seconds = place == 0 ? seconds * 10 + (c - '0') : seconds + (c - '0') * place;
      place /= 10;
    } else if ((c == '.' || c == ',') && place == 0) {
      place = 0.1;
    } else if (has_digit) {
      break;  // "10 seconds", "5s"
    } else {
      return std::nullopt;
    }
  }
  if (!has_digit) return std::nullopt;
  return static_cast<std::int64_t>(
      std::ceil(std::min(seconds * 1000, static_cast<double>(kCrawlDelayMsMax))));
}

}  // namespace

// Takes the rules of the agent's groups and of everybody's; which of them count is known at the
// end.
class RobotsBuilder {
 public:
  explicit RobotsBuilder(std::string_view agent) : tokens_(tokens_of(agent)) {}

  void take(const RobotsLine& line) {
    switch (line.kind) {
      case RobotsLine::Kind::Agent:
        take_agent(line.value);
        break;
      case RobotsLine::Kind::Allow:
      case RobotsLine::Kind::Disallow:
        take_rule(line);
        break;
      case RobotsLine::Kind::Delay:
        for (Robots* to : targets()) take_delay(*to, line.value);
        break;
      case RobotsLine::Kind::Sitemap:
        take_sitemap(line.value);
        break;
      case RobotsLine::Kind::Other:
        break;
    }
  }

  Robots finish() && {
    Robots& chosen = seen_own_ ? own_ : everybody_;
    std::stable_sort(chosen.rules_.begin(), chosen.rules_.end(),
                     [](const Robots::Rule& a, const Robots::Rule& b) {
                       if (a.pattern.size() != b.pattern.size()) {
                         return a.pattern.size() > b.pattern.size();
                       }
                       return a.allow && !b.allow;
                     });
    chosen.sitemaps_ = std::move(sitemaps_);
    return std::move(chosen);
  }

 private:
  void take_agent(std::string_view value) {
    if (seen_rule_) in_own_ = in_everybody_ = seen_rule_ = false;  // another group begins
    if (is_everybody(value)) {
      in_everybody_ = true;
    } else if (std::find(tokens_.begin(), tokens_.end(), product_token(value)) != tokens_.end()) {
      in_own_ = seen_own_ = true;
    }
  }

  void take_rule(const RobotsLine& line) {
    seen_rule_ = true;
    if (line.value.empty()) return;  // matches nothing
    const bool allow = line.kind == RobotsLine::Kind::Allow;
    const std::string text = (allow ? "Allow: " : "Disallow: ") + std::string(line.value);
    for (Robots* to : targets()) {
      to->rules_.push_back({pattern_of(line.value), allow, line.number, text});
      // Who allows a folder's index page means the folder, too.
      const std::size_t slash = line.value.rfind('/');
      if (allow && slash != std::string_view::npos &&
          line.value.substr(slash).starts_with("/index.htm")) {
        to->rules_.push_back(
            {pattern_of(line.value.substr(0, slash + 1)) + "$", allow, line.number, text});
      }
    }
  }

  static void take_delay(Robots& to, std::string_view value) {
    if (const auto delay = delay_of(value)) {
      to.crawl_delay_ms_ = std::max(to.crawl_delay_ms_.value_or(0), *delay);
    }
  }

  void take_sitemap(std::string_view value) {
    if (value.empty() || sitemaps_.size() >= kRobotsSitemapsMax) return;
    if (std::find(sitemaps_.begin(), sitemaps_.end(), value) != sitemaps_.end()) return;
    sitemaps_.emplace_back(value);
  }

  std::vector<Robots*> targets() {
    std::vector<Robots*> out;
    if (in_own_) out.push_back(&own_);
    if (in_everybody_) out.push_back(&everybody_);
    return out;
  }

  std::vector<std::string> tokens_;
  Robots own_;
  Robots everybody_;
  std::vector<std::string> sitemaps_;
  bool seen_own_ = false;
  bool in_own_ = false;
  bool in_everybody_ = false;
  bool seen_rule_ = false;  // since the last agent
};

Robots Robots::parse(std::string_view body, std::string_view agent) {
  RobotsBuilder builder(agent);
  for_each_robots_line(body, [&builder](const RobotsLine& line) { builder.take(line); });
  return std::move(builder).finish();
}

Robots Robots::allow_all() {
  return {};
}

Robots Robots::disallow_all() {
  Robots robots;
  robots.nothing_ = true;
  return robots;
}

RobotsVerdict Robots::check(std::string_view target) const {
  if (target == "/robots.txt") return {};
  if (nothing_) return {false, 0, ""};
  std::string text;
  append_one_form(text, target.empty() ? "/" : target, "*$");
  for (const Rule& rule : rules_) {
    if (matches(rule.pattern, text)) return {rule.allow, rule.line, rule.text};
  }
  return {};
}

}  // namespace quern::web
