#include "web/warc_time.h"

#include <fmt/format.h>

#include <array>
#include <chrono>

#include "web/warc.h"

namespace quern::web {
namespace {

constexpr std::int64_t kSecondUs = 1'000'000;
constexpr std::size_t kTimestampDigits = 14;
constexpr std::size_t kFractionDigitsMax = 9;

struct Instant {
  int year = 1970;
  unsigned month = 1;
  unsigned day = 1;
  int hour = 0;
  int minute = 0;
  int second = 0;
  std::int64_t fraction_us = 0;
};

Instant instant_of(std::int64_t at_us) {
  using namespace std::chrono;
  const sys_time<microseconds> at{microseconds(at_us)};
  const auto days_point = floor<days>(at);
  const year_month_day date(days_point);
  const hh_mm_ss time(at - days_point);
  Instant instant;
  instant.year = static_cast<int>(date.year());
  instant.month = static_cast<unsigned>(date.month());
  instant.day = static_cast<unsigned>(date.day());
  instant.hour = static_cast<int>(time.hours().count());
  instant.minute = static_cast<int>(time.minutes().count());
  instant.second = static_cast<int>(time.seconds().count());
  instant.fraction_us = time.subseconds().count();
  return instant;
}

std::optional<std::int64_t> us_of(const Instant& instant) {
  using namespace std::chrono;
  const year_month_day date{year(instant.year), month(instant.month), day(instant.day)};
  // A leap second is the next one's beginning.
  if (!date.ok() || instant.hour > 23 || instant.minute > 59 || instant.second > 60) return {};
  const auto at = sys_days(date).time_since_epoch() + hours(instant.hour) +
                  minutes(instant.minute) + seconds(instant.second);
  return duration_cast<seconds>(at).count() * kSecondUs + instant.fraction_us;
}

std::optional<int> number(std::string_view digits) {
  int value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return {};
    value = value * 10 + (c - '0');
  }
  return value;
}

// Takes so many digits, behind a separator where there is one.
bool take(std::string_view& text, char separator, std::size_t digits, auto& into) {
  if (separator != '\0') {
    if (text.empty() || text.front() != separator) return false;
    text.remove_prefix(1);
  }
  if (text.size() < digits) return false;
  const auto value = number(text.substr(0, digits));
  if (!value) return false;
  into = static_cast<std::remove_reference_t<decltype(into)>>(*value);
  text.remove_prefix(digits);
  return true;
}

bool take_fraction(std::string_view& text, Instant& instant) {
  text.remove_prefix(1);  // the point
  std::int64_t scale = kSecondUs / 10;
  std::size_t digits = 0;
  for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1)) {
    if (++digits > kFractionDigitsMax) return false;
    instant.fraction_us += (text.front() - '0') * scale;
    scale /= 10;
  }
  return digits > 0;
}

}  // namespace

std::string warc_date(std::int64_t at_us) {
  const Instant at = instant_of(at_us);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", at.year, at.month, at.day,
                     at.hour, at.minute, at.second, at.fraction_us);
}

std::optional<std::int64_t> parse_warc_date(std::string_view text) {
  Instant at;
  if (!take(text, '\0', 4, at.year)) return {};
  if (text.empty()) return us_of(at);
  if (!take(text, '-', 2, at.month)) return {};
  if (text.empty()) return us_of(at);
  if (!take(text, '-', 2, at.day)) return {};
  if (text.empty()) return us_of(at);
  if (!take(text, 'T', 2, at.hour) || !take(text, ':', 2, at.minute)) return {};
  if (text.starts_with(':') && !take(text, ':', 2, at.second)) return {};
  if (text.starts_with('.') && !take_fraction(text, at)) return {};
  if (text != "Z") return {};
  return us_of(at);
}

std::string timestamp14(std::int64_t at_us) {
  const Instant at = instant_of(at_us);
  return fmt::format("{:04}{:02}{:02}{:02}{:02}{:02}", at.year, at.month, at.day, at.hour,
                     at.minute, at.second);
}

Result<std::int64_t> parse_timestamp14(std::string_view text) {
  const auto wrong = [text] {
    return Error{Errc::Invalid, fmt::format("\"{}\" is no timestamp: 4 to 14 digits, of a year, "
                                            "a month, and so on",
                                            text.substr(0, 2 * kTimestampDigits))};
  };
  if (text.size() < 4 || text.size() > kTimestampDigits || text.size() % 2 != 0) return wrong();
  Instant at;
  std::string_view rest = text;
  bool right = take(rest, '\0', 4, at.year);
  if (right && !rest.empty()) right = take(rest, '\0', 2, at.month);
  if (right && !rest.empty()) right = take(rest, '\0', 2, at.day);
  if (right && !rest.empty()) right = take(rest, '\0', 2, at.hour);
  if (right && !rest.empty()) right = take(rest, '\0', 2, at.minute);
  if (right && !rest.empty()) right = take(rest, '\0', 2, at.second);
  const auto at_us = right ? us_of(at) : std::nullopt;
  if (!at_us) return wrong();
  return *at_us;
}

}  // namespace quern::web
