#include "worker/member_name.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/utf8.h"
#include "worker/charset.h"

namespace quern::worker {
namespace {

// Letters of Western Europe: in DOS code pages 128..165 and a few above, in Windows 192..255.
bool is_dos_letter(unsigned char byte) {
  return (byte >= 0x80 && byte <= 0xA5 && byte != 0x9B && byte != 0x9C && byte != 0x9D &&
          byte != 0x9E && byte != 0x9F) ||
         byte == 0xE1;
}

bool is_windows_letter(unsigned char byte) {
  return byte >= 0xC0 && byte != 0xD7 && byte != 0xF7;
}

// Charsets that uchardet can tell by their structure; the one-byte ones of the West it confuses.
bool is_telling(std::string_view charset) {
  constexpr std::array kTelling = {"SHIFT_JIS",    "EUC-JP", "GB18030",      "BIG5",   "EUC-KR",
                                   "WINDOWS-1251", "KOI8-R", "ISO-2022-JP",  "EUC-TW", "UHC",
                                   "IBM866",       "IBM855", "WINDOWS-1255", "TIS-620"};
  return std::find(kTelling.begin(), kTelling.end(), charset) != kTelling.end();
}

std::string western_charset(std::string_view bytes) {
  std::size_t dos = 0;
  std::size_t windows = 0;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) continue;
    dos += is_dos_letter(byte) ? 1 : 0;
    windows += is_windows_letter(byte) ? 1 : 0;
  }
  return windows > dos ? "WINDOWS-1252" : "IBM437";
}

constexpr std::pair<std::string_view, std::string_view> kSuffixes[] = {
    {".tgz", ".tar"}, {".tbz2", ".tar"}, {".tbz", ".tar"}, {".txz", ".tar"}, {".tzst", ".tar"},
    {".taz", ".tar"}, {".svgz", ".svg"}, {".gz", ""},      {".bz2", ""},     {".xz", ""},
    {".zst", ""},     {".lz4", ""},      {".lzma", ""},    {".lz", ""},      {".z", ""}};

bool ends_with_ignoring_case(std::string_view text, std::string_view suffix) {
  if (text.size() <= suffix.size()) return false;
  const auto same = [](char a, char b) { return (a | 0x20) == (b | 0x20); };
  const std::string_view end = text.substr(text.size() - suffix.size());
  return std::equal(end.begin(), end.end(), suffix.begin(), same);
}

}  // namespace

std::string charset_of_names(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) {
    if (!is_valid_utf8(name)) all += name + "\n";
  }
  const std::string guess = guess_charset(all);
  if (is_telling(guess) && to_utf8("x", guess)) return guess;
  return western_charset(all);
}

std::string decoded_name(std::string_view raw, const std::string& charset) {
  if (is_valid_utf8(raw)) return std::string(raw);
  auto text = to_utf8(raw, charset);
  return text ? *std::move(text) : valid_utf8(raw);
}

std::string plain_name(std::string_view name) {
  std::string plain;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('/'), name.size());
    const std::string_view part = name.substr(0, end);
    name.remove_prefix(std::min(end + 1, name.size()));
    if (part.empty() || part == "." || part == "..") continue;
    if (!plain.empty()) plain += '/';
    plain += part;
  }
  return plain;
}

std::string name_inside(std::string_view filename) {
  const std::size_t slash = filename.rfind('/');
  const std::string_view name =
      slash == std::string_view::npos ? filename : filename.substr(slash + 1);
  for (const auto& [suffix, replacement] : kSuffixes) {
    if (!ends_with_ignoring_case(name, suffix)) continue;
    return std::string(name.substr(0, name.size() - suffix.size())) + std::string(replacement);
  }
  return std::string(name);
}

}  // namespace quern::worker
