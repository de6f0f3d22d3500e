#include "base/web_date.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "base/ascii.h"

namespace quern {
namespace {

constexpr std::size_t kDateBytesMax = 64;

struct Parts {
  int year = 0;
  int month = 0;
  int day = 0;
  std::string time;  // "T01:09:35Z", or less
};

int days_of(int year, int month) {
  constexpr std::array kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return kDays[static_cast<std::size_t>(month - 1)] + (month == 2 && leap ? 1 : 0);
}

bool is_day(const Parts& parts) {
  return parts.year >= 1000 && parts.month >= 1 && parts.month <= 12 && parts.day >= 1 &&
         parts.day <= days_of(parts.year, parts.month);
}

// Exactly so many digits, taken off the text.
std::optional<int> take_digits(std::string_view& text, std::size_t n) {
  if (text.size() < n) return std::nullopt;
  int value = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!is_digit(text[i])) return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(n);
  return value;
}

// One digit or more, at most so many.
std::optional<int> take_number(std::string_view& text, std::size_t digits_max) {
  std::size_t n = 0;
  while (n < text.size() && n < digits_max && is_digit(text[n])) ++n;
  return n == 0 ? std::nullopt : take_digits(text, n);
}

bool take_char(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// "Z", "+02:00", "-0400", "GMT", "EST"; "" where it is none that we know.
std::string zone_of(std::string_view text) {
  text = trimmed(text);
  if (text.empty()) return "";
  const bool is_utc = equals_ignoring_case(text, "z") || equals_ignoring_case(text, "gmt") ||
                      equals_ignoring_case(text, "ut") || equals_ignoring_case(text, "utc");
  if (is_utc) return "Z";
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"est", "-05:00"}, {"edt", "-04:00"}, {"cst", "-06:00"}, {"cdt", "-05:00"},
      {"mst", "-07:00"}, {"mdt", "-06:00"}, {"pst", "-08:00"}, {"pdt", "-07:00"}};
  for (const auto& [name, zone] : kNames) {
    if (equals_ignoring_case(text, name)) return std::string(zone);
  }
  const char sign = text[0];
  if (sign != '+' && sign != '-') return "";
  text.remove_prefix(1);
  const auto hours = take_digits(text, 2);
  take_char(text, ':');
  const auto minutes = take_digits(text, 2);
  if (!hours || *hours > 14 || minutes.value_or(0) > 59) return "";
  return fmt::format("{}{:02}:{:02}", sign, *hours, minutes.value_or(0));
}

// "01:09", "01:09:35.123Z" behind a "T"; "" where it is none.
std::string time_of(std::string_view text) {
  text = trimmed(text);
  const auto hours = take_number(text, 2);
  if (!hours || !take_char(text, ':')) return "";
  const auto minutes = take_digits(text, 2);
  if (!minutes || *hours > 23 || *minutes > 59) return "";
  std::optional<int> seconds;
  if (take_char(text, ':')) {
    seconds = take_digits(text, 2);
    if (!seconds || *seconds > 60) return "";
  }
  if (take_char(text, '.') || take_char(text, ',')) {
    while (!text.empty() && is_digit(text[0])) text.remove_prefix(1);
  }
  return fmt::format("T{:02}:{:02}:{:02}{}", *hours, *minutes, seconds.value_or(0), zone_of(text));
}

// "2020-03-27...", "2020/3/27", "20200327".
std::optional<Parts> year_first(std::string_view text) {
  const auto year = take_digits(text, 4);
  if (!year) return std::nullopt;
  Parts parts{*year, 0, 0, ""};
  const char separator = text.empty() ? ' ' : text[0];
  if (is_digit(separator)) {
    parts.month = take_digits(text, 2).value_or(0);
    parts.day = take_digits(text, 2).value_or(0);
    if (!text.empty() && text[0] != 'T' && text[0] != ' ') return std::nullopt;
  } else {
    if (separator != '-' && separator != '/' && separator != '.') return std::nullopt;
    text.remove_prefix(1);
    parts.month = take_number(text, 2).value_or(0);
    if (!take_char(text, separator)) return std::nullopt;
    parts.day = take_number(text, 2).value_or(0);
  }
  if (!text.empty() && (text[0] == 'T' || text[0] == 't' || is_blank(text[0]))) {
    parts.time = time_of(text.substr(1));
  } else if (!text.empty()) {
    return std::nullopt;
  }
  return parts;
}

int month_named(std::string_view word) {
  constexpr std::array<std::string_view, 12> kMonths = {"jan", "feb", "mar", "apr", "may", "jun",
                                                        "jul", "aug", "sep", "oct", "nov", "dec"};
  if (word.size() < 3) return 0;
  for (std::size_t i = 0; i < kMonths.size(); ++i) {
    if (equals_ignoring_case(word.substr(0, 3), kMonths[i])) return static_cast<int>(i) + 1;
  }
  return 0;
}

std::string_view without_comma(std::string_view word) {
  while (!word.empty() && (word.back() == ',' || word.back() == '.')) word.remove_suffix(1);
  return word;
}

// "27 Mar 2020", "March 27, 2020", "27-Mar-20", with the day of the week before or without.
std::optional<Parts> month_by_name(std::string text) {
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    const bool joins = text[i] == '-' && text.find(':') > i;
    if (joins) text[i] = ' ';
  }
  Parts parts;
  std::string_view rest = text;
  const std::size_t comma = rest.find(',');
  if (comma < 10 && month_named(rest) == 0) rest.remove_prefix(comma + 1);
  for (int i = 0; i < 4 && (parts.year == 0 || parts.day == 0 || parts.month == 0); ++i) {
    std::string_view word = without_comma(take_word(rest));
    const std::string_view whole = word;
    if (const int month = month_named(word); month > 0 && parts.month == 0) {
      parts.month = month;
    } else if (const auto number = take_number(word, 4)) {
      const std::size_t digits = whole.size() - word.size();
      (digits == 4 || parts.day != 0 ? parts.year : parts.day) = *number;
      if (digits == 2 && parts.year == *number) parts.year += *number < 70 ? 2000 : 1900;
    }
  }
  parts.time = time_of(rest);
  return parts;
}

}  // namespace

std::string iso_date(std::string_view text) {
  text = trimmed(text);
  if (text.size() < 6 || text.size() > kDateBytesMax) return "";
  // A month alone is a date in sitemaps.
  if (text.size() == 7 && text[4] == '-') {
    const auto whole = year_first(std::string(text) + "-01");
    return whole && is_day(*whole) ? std::string(text) : "";
  }
  auto parts = year_first(text);
  if (!parts && !is_digit(text[text.size() > 2 ? 2 : 0])) parts = month_by_name(std::string(text));
  if (!parts || !is_day(*parts)) return "";
  return fmt::format("{:04}-{:02}-{:02}{}", parts->year, parts->month, parts->day, parts->time);
}

}  // namespace quern
