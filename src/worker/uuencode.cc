#include "worker/uuencode.h"

#include <algorithm>
#include <optional>

namespace quern::worker {
namespace {

constexpr std::size_t kFilesMax = 1'000;
constexpr std::size_t kLineBytesMax = 45;

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// "begin 644 a name.txt": the name.
std::optional<std::string> name_of_begin(std::string_view line) {
  if (!line.starts_with("begin ")) return std::nullopt;
  line.remove_prefix(6);
  const std::size_t digits = std::min(line.find_first_not_of("01234567"), line.size());
  if (digits < 3 || digits > 4 || digits + 1 >= line.size() || line[digits] != ' ') {
    return std::nullopt;
  }
  return std::string(line.substr(digits + 1));
}

// Nothing where it is no line of it.
std::optional<std::string> decoded_line(std::string_view line) {
  const auto value = [](char c) { return static_cast<unsigned>(c - ' ') & 0x3F; };
  const auto is_letter = [](char c) { return c >= ' ' && c <= '`'; };
  if (line.empty() || !std::all_of(line.begin(), line.end(), is_letter)) return std::nullopt;
  const std::size_t size = value(line[0]);
  if (size > kLineBytesMax) return std::nullopt;
  std::string letters(line.substr(1));
  // Blanks at the end are lost on the way.
  letters.resize((size + 2) / 3 * 4, ' ');
  std::string bytes;
  for (std::size_t at = 0; at + 4 <= letters.size(); at += 4) {
    const unsigned all = value(letters[at]) << 18 | value(letters[at + 1]) << 12 |
                         value(letters[at + 2]) << 6 | value(letters[at + 3]);
    bytes += {static_cast<char>(all >> 16), static_cast<char>(all >> 8), static_cast<char>(all)};
  }
  bytes.resize(std::min(bytes.size(), size));
  return bytes;
}

// The bytes up to "end", which must be there.
std::optional<std::string> take_file(std::string_view& text) {
  std::string_view rest = text;
  std::string bytes;
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    if (line == "end") {
      text = rest;
      return bytes;
    }
    const auto decoded = decoded_line(line);
    if (!decoded) return std::nullopt;
    bytes += *decoded;
  }
  return std::nullopt;
}

}  // namespace

UuText split_uuencoded(std::string_view text) {
  UuText result;
  while (!text.empty()) {
    const std::string_view before = text;
    const std::string_view line = take_line(text);
    const auto name = result.files.size() < kFilesMax ? name_of_begin(line) : std::nullopt;
    if (auto bytes = name ? take_file(text) : std::nullopt) {
      result.files.push_back({*name, *std::move(bytes)});
    } else {
      result.text += before.substr(0, before.size() - text.size());
    }
  }
  return result;
}

}  // namespace quern::worker
