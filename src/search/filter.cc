#include "search/filter.h"

#include <unicode/normalizer2.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string>

#include "base/utf8.h"

namespace quern::search {
namespace {

// A pattern that ends with '*' means every type that begins so.
struct TypeName {
  std::string_view name;
  std::string_view pattern;
};

constexpr TypeName kTypeNames[] = {
    {"archive", "application/gzip"},
    {"archive", "application/vnd.rar"},
    {"archive", "application/x-7z-compressed"},
    {"archive", "application/x-bzip2"},
    {"archive", "application/x-gzip"},
    {"archive", "application/x-rar*"},
    {"archive", "application/x-tar"},
    {"archive", "application/x-xz"},
    {"archive", "application/zip"},
    {"archive", "application/zstd"},
    {"csv", "text/csv"},
    {"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.*"},
    {"eml", "message/rfc822"},
    {"epub", "application/epub+zip"},
    {"html", "application/xhtml+xml"},
    {"html", "text/html"},
    {"jpg", "image/jpeg"},
    {"json", "application/*json"},
    {"mail", "application/mbox"},
    {"mail", "application/vnd.ms-outlook*"},
    {"mail", "message/*"},
    {"md", "text/markdown"},
    {"odp", "application/vnd.oasis.opendocument.presentation*"},
    {"ods", "application/vnd.oasis.opendocument.spreadsheet*"},
    {"odt", "application/vnd.oasis.opendocument.text*"},
    {"pptx", "application/vnd.openxmlformats-officedocument.presentationml.*"},
    {"rtf", "application/rtf"},
    {"rtf", "text/rtf"},
    {"sheet", "application/vnd.ms-excel*"},
    {"sheet", "application/vnd.oasis.opendocument.spreadsheet*"},
    {"sheet", "application/vnd.openxmlformats-officedocument.spreadsheetml.*"},
    {"sheet", "text/csv"},
    {"sheet", "text/tab-separated-values"},
    {"slides", "application/vnd.ms-powerpoint*"},
    {"slides", "application/vnd.oasis.opendocument.presentation*"},
    {"slides", "application/vnd.openxmlformats-officedocument.presentationml.*"},
    {"svg", "image/svg+xml"},
    {"tif", "image/tiff"},
    {"txt", "text/plain"},
    {"word", "application/msword*"},
    {"word", "application/rtf"},
    {"word", "application/vnd.ms-word*"},
    {"word", "application/vnd.oasis.opendocument.text*"},
    {"word", "application/vnd.openxmlformats-officedocument.wordprocessingml.*"},
    {"word", "application/vnd.wordperfect"},
    {"word", "text/rtf"},
    {"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.*"},
    {"xml", "application/xml"},
    {"xml", "text/xml"},
};

struct TypeAlias {
  std::string_view alias;
  std::string_view name;
};
constexpr TypeAlias kTypeAliases[] = {
    {"doc", "word"},          {"document", "word"}, {"email", "mail"},
    {"emails", "mail"},       {"excel", "sheet"},   {"htm", "html"},
    {"images", "image"},      {"jpeg", "jpg"},      {"markdown", "md"},
    {"msg", "mail"},          {"photo", "image"},   {"picture", "image"},
    {"powerpoint", "slides"}, {"ppt", "slides"},    {"presentation", "slides"},
    {"sheets", "sheet"},      {"slide", "slides"},  {"sound", "audio"},
    {"spreadsheet", "sheet"}, {"tiff", "tif"},      {"xls", "sheet"},
};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// With one '*' somewhere, or none.
bool matches(std::string_view pattern, std::string_view mime) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == mime;
  const std::string_view before = pattern.substr(0, star);
  const std::string_view behind = pattern.substr(star + 1);
  return mime.size() >= before.size() + behind.size() && mime.starts_with(before) &&
         mime.ends_with(behind);
}

// "pdf" is the type application/pdf, "image" every type of that family.
bool is_part_of(std::string_view name, std::string_view mime) {
  const std::size_t slash = mime.find('/');
  if (slash == std::string_view::npos) return name == mime;
  std::string_view sub = mime.substr(slash + 1);
  if (mime.substr(0, slash) == name || sub == name) return true;
  if (sub.starts_with("x-")) sub.remove_prefix(2);
  return sub == name;
}

using Day = std::chrono::sys_days;

struct Span {
  Day first;
  Day last;
};

// Digits up to `end`, which is taken from the text, too.
std::optional<unsigned> take_number(std::string_view& text, std::size_t digits_max) {
  const std::size_t size = std::min(text.find('-'), text.size());
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + size, value);
  if (error != std::errc() || end != text.data() + size || size > digits_max) return std::nullopt;
  text.remove_prefix(size);
  if (text == "-") return std::nullopt;
  if (!text.empty()) text.remove_prefix(1);
  return value;
}

// A year, a month or a day.
std::optional<Span> parse_span(std::string_view text) {
  using namespace std::chrono;
  if (text.find('-') < 4 || text.size() < 4) return std::nullopt;
  const std::optional<unsigned> y = take_number(text, 4);
  if (!y || *y == 0) return std::nullopt;
  const year in(static_cast<int>(*y));
  if (text.empty()) return Span{in / January / 1, in / December / 31};
  const std::optional<unsigned> m = take_number(text, 2);
  if (!m || !month(*m).ok()) return std::nullopt;
  if (text.empty()) return Span{in / month(*m) / 1, in / month(*m) / std::chrono::last};
  const std::optional<unsigned> d = take_number(text, 2);
  if (!d || !text.empty() || !(in / month(*m) / day(*d)).ok()) return std::nullopt;
  return Span{in / month(*m) / day(*d), in / month(*m) / day(*d)};
}

std::int32_t number_of(Day day) {
  return static_cast<std::int32_t>(day.time_since_epoch().count());
}

}  // namespace

std::optional<DateRange> parse_dates(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    const std::optional<Span> span = parse_span(text);
    if (!span) return std::nullopt;
    return DateRange{number_of(span->first), number_of(span->last)};
  }
  const std::string_view left = text.substr(0, dots);
  const std::string_view right = text.substr(dots + 2);
  std::optional<Span> from = parse_span(left);
  std::optional<Span> to = parse_span(right);
  if ((!from && !left.empty()) || (!to && !right.empty()) || (!from && !to)) return std::nullopt;
  if (from && to && to->last < from->first) std::swap(from, to);
  DateRange range;
  if (from) range.first = number_of(from->first);
  if (to) range.last = number_of(to->last);
  return range;
}

bool is_type_filter(std::string_view text) {
  return !text.empty() && text != "*" && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/*.+-_").find(c) != std::string_view::npos;
  });
}

bool is_status_filter(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == ':';
  });
}

bool type_matches(std::string_view filter, std::string_view mime) {
  std::string type = lower(mime.substr(0, mime.find(';')));
  type.erase(type.find_last_not_of(" \t") + 1);
  std::string wanted = lower(filter);
  if (wanted.empty() || type.empty()) return false;
  if (wanted.find('/') != std::string::npos) return matches(wanted, type);
  const auto* alias = std::ranges::find(kTypeAliases, wanted, &TypeAlias::alias);
  if (alias != std::end(kTypeAliases)) wanted = alias->name;
  bool is_named = false;
  for (const TypeName& known : kTypeNames) {
    if (known.name != wanted) continue;
    is_named = true;
    if (matches(known.pattern, type)) return true;
  }
  return !is_named && is_part_of(wanted, type);
}

std::string fold_path(std::string_view path) {
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* fold = icu::Normalizer2::getNFKCCasefoldInstance(error);
  std::string folded;
  if (U_SUCCESS(error)) {
    icu::StringByteSink<std::string> sink(&folded);
    fold->normalizeUTF8(0, valid_utf8(path), sink, nullptr, error);
  }
  std::string out;
  for (const char c : folded) {
    if (c != '/' || (!out.empty() && out.back() != '/')) out += c;
  }
  if (out.ends_with('/')) out.pop_back();
  return out;
}

}  // namespace quern::search
