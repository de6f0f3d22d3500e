#include <fmt/format.h>
#include <unicode/ucnv.h>

#include <charconv>
#include <chrono>

#include "base/ascii.h"
#include "base/utf8.h"
#include "base/web_date.h"
#include "research/feed.h"

namespace quern::research {
namespace {

constexpr std::size_t kDeclarationBytes = 200;

// Behind a name and "=", with quotes or without: of a declaration, or of a Content-Type.
std::string_view value_behind(std::string_view text, std::string_view name) {
  for (std::size_t at = 0; at + name.size() < text.size(); ++at) {
    if (!equals_ignoring_case(text.substr(at, name.size()), name)) continue;
    std::string_view rest = trimmed(text.substr(at + name.size()));
    if (!rest.starts_with('=')) continue;
    rest = trimmed(rest.substr(1));
    if (rest.starts_with('"') || rest.starts_with('\'')) rest.remove_prefix(1);
    return rest.substr(0, rest.find_first_of("\"'?; \t\r\n"));
  }
  return {};
}

std::string_view charset_of(std::string_view bytes, std::string_view content_type) {
  if (bytes.starts_with("\xFE\xFF")) return "utf-16be";
  if (bytes.starts_with("\xFF\xFE")) return "utf-16le";
  if (bytes.starts_with(std::string_view("\0<", 2))) return "utf-16be";
  if (bytes.starts_with(std::string_view("<\0", 2))) return "utf-16le";
  const std::string_view said = value_behind(content_type, "charset");
  if (!said.empty()) return said;
  const std::string_view head = bytes.substr(0, kDeclarationBytes);
  if (!head.starts_with("<?xml")) return {};
  return value_behind(head.substr(0, head.find("?>")), "encoding");
}

// One in which bytes below 128 may be parts of other characters: valid UTF-8 proves nothing.
bool is_wide(std::string_view charset) {
  const std::string name = lower_ascii(charset);
  return name.starts_with("utf-16") || name.starts_with("utf-32") || name.starts_with("iso-2022") ||
         name.starts_with("hz") || name.starts_with("utf-7");
}

std::string converted(std::string_view bytes, const std::string& charset) {
  UErrorCode status = U_ZERO_ERROR;
  // At most three bytes for each: every unit of these charsets.
  std::string text(bytes.size() * 3 + 16, '\0');
  const auto n =
      ::ucnv_convert("UTF-8", charset.c_str(), text.data(), static_cast<std::int32_t>(text.size()),
                     bytes.data(), static_cast<std::int32_t>(bytes.size()), &status);
  if (U_FAILURE(status)) return {};
  text.resize(static_cast<std::size_t>(n));
  return text;
}

int number_at(std::string_view text, std::size_t at, std::size_t n) {
  int value = 0;
  std::from_chars(text.data() + at, text.data() + std::min(at + n, text.size()), value);
  return value;
}

}  // namespace

std::string feed_text(std::string_view bytes, std::string_view content_type) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  bytes = bytes.substr(0, kFeedBytesMax);
  if (bytes.starts_with(kMark)) return valid_utf8(bytes.substr(kMark.size()));
  std::string charset(charset_of(bytes, content_type));
  // What is valid UTF-8 is that, whatever they say. A text that says so and is not is most often of
  // Windows.
  if (!is_wide(charset) && is_valid_utf8(bytes)) return std::string(bytes);
  const std::string name = lower_ascii(charset);
  if (name.empty() || name == "utf-8" || name == "utf8" || name == "us-ascii" ||
      name == "iso-8859-1") {
    // A few odd bytes in what else is UTF-8 are those of a text that was cut somewhere.
    const std::string mended = valid_utf8(bytes);
    std::size_t odd = 0;
    std::size_t multibyte = 0;
    for (std::size_t at = 0; at < mended.size(); ++at) {
      const bool begins = (static_cast<unsigned char>(mended[at]) & 0xC0) == 0xC0;
      const bool is_odd = mended.compare(at, 3, "\xEF\xBF\xBD") == 0;
      odd += is_odd;
      multibyte += begins && !is_odd;
    }
    if (odd < multibyte) return mended;
    charset = "windows-1252";
  }
  std::string text = converted(bytes, charset);
  if (text.starts_with(kMark)) text.erase(0, kMark.size());
  return text.empty() ? valid_utf8(bytes) : valid_utf8(text);
}

std::string rfc3339_of(std::string_view date) {
  const std::string iso = iso_date(date);
  if (iso.size() < 7) return "";
  using std::chrono::day, std::chrono::month, std::chrono::year;
  const int month_number = number_at(iso, 5, 2);
  const int day_number = iso.size() < 10 ? 1 : number_at(iso, 8, 2);
  const std::chrono::year_month_day named(year(number_at(iso, 0, 4)),
                                          month(static_cast<unsigned>(month_number)),
                                          day(static_cast<unsigned>(day_number)));
  if (!named.ok()) return "";
  std::int64_t seconds = std::chrono::duration_cast<std::chrono::seconds>(
                             std::chrono::sys_days(named).time_since_epoch())
                             .count();
  if (iso.size() >= 19) {
    seconds += number_at(iso, 11, 2) * 3600 + number_at(iso, 14, 2) * 60 + number_at(iso, 17, 2);
  }
  if (iso.size() >= 25 && (iso[19] == '+' || iso[19] == '-')) {
    const int offset = number_at(iso, 20, 2) * 3600 + number_at(iso, 23, 2) * 60;
    seconds += iso[19] == '+' ? -offset : offset;
  }
  const std::chrono::sys_seconds instant{std::chrono::seconds(seconds)};
  const auto days = std::chrono::floor<std::chrono::days>(instant);
  const std::chrono::year_month_day whole(days);
  if (static_cast<int>(whole.year()) > 9999) return "";
  const auto left = (instant - days).count();
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(whole.year()),
                     static_cast<unsigned>(whole.month()), static_cast<unsigned>(whole.day()),
                     left / 3600, left / 60 % 60, left % 60);
}

}  // namespace quern::research
