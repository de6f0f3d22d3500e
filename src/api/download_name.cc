#include "api/download_name.h"

#include <fmt/format.h>

#include <array>

#include "base/utf8.h"
#include "net/http.h"

namespace quern::api {
namespace {

constexpr std::string_view kNameless = "file";
// A longer "extension" is part of the name, and may be cut.
constexpr std::size_t kEndingBytesMax = 16;

struct Range {
  std::string_view first;
  std::string_view last;  // of the same length
};
// UTF-8 sorts like the characters do: C1 controls, the Arabic letter mark, zero-width characters
// and marks, line separators and embeddings, invisible operators and isolates, the byte order mark,
// interlinear marks.
constexpr std::array kUnseen{
    Range{"\xC2\x80", "\xC2\x9F"},         Range{"\xD8\x9C", "\xD8\x9C"},
    Range{"\xE2\x80\x8B", "\xE2\x80\x8F"}, Range{"\xE2\x80\xA8", "\xE2\x80\xAE"},
    Range{"\xE2\x81\xA0", "\xE2\x81\xAF"}, Range{"\xEF\xBB\xBF", "\xEF\xBB\xBF"},
    Range{"\xEF\xBF\xB9", "\xEF\xBF\xBB"},
};

bool is_unseen(std::string_view character) {
  if (character.size() == 1) {
    const auto byte = static_cast<unsigned char>(character[0]);
    return byte < 0x20 || byte == 0x7F;
  }
  for (const Range& range : kUnseen) {
    if (character.size() != range.first.size()) continue;
    if (character >= range.first && character <= range.last) return true;
  }
  return false;
}

std::size_t length_at(std::string_view text, std::size_t at) {
  std::size_t length = 1;
  while (at + length < text.size() && (text[at + length] & 0xC0) == 0x80) ++length;
  return length;
}

// What people see of it, without what systems take for something else.
std::string visible(std::string_view name) {
  std::string seen;
  for (std::size_t at = 0; at < name.size();) {
    const std::string_view character = name.substr(at, length_at(name, at));
    at += character.size();
    if (is_unseen(character)) continue;
    const bool special =
        character.size() == 1 &&
        std::string_view("\\:*?\"<>|").find(character[0]) != std::string_view::npos;
    seen += special ? std::string_view("_") : character;
  }
  const auto first = seen.find_first_not_of(" .");
  if (first == std::string::npos) return std::string(kNameless);
  return seen.substr(first, seen.find_last_not_of(" .") + 1 - first);
}

// Cut before its ending, between characters.
std::string shortened(std::string name, std::size_t bytes_max) {
  if (name.size() <= bytes_max) return name;
  std::string ending;
  const std::size_t dot = name.rfind('.');
  if (dot != std::string::npos && name.size() - dot <= kEndingBytesMax) ending = name.substr(dot);
  name.resize(bytes_max - ending.size());
  name.resize(valid_utf8_prefix(name));
  return name + ending;
}

bool ends_so(std::string_view name, std::string_view ending) {
  if (name.size() < ending.size()) return false;
  return net::equals_ignoring_case(name.substr(name.size() - ending.size()), ending);
}

bool is_plain(unsigned char byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= 'a' && byte <= 'z') || byte == '.' || byte == '-' || byte == '_';
}

}  // namespace

std::string download_name(std::string_view filename, std::string_view ending) {
  const std::size_t slash = filename.rfind('/');
  const std::string last =
      valid_utf8(slash == std::string_view::npos ? filename : filename.substr(slash + 1));
  std::string name = visible(last);
  if (ends_so(name, ending)) ending = "";
  return shortened(std::move(name), kDownloadNameBytesMax - ending.size()) + std::string(ending);
}

std::string attachment(std::string_view name) {
  std::string ascii;
  std::string all;
  for (std::size_t at = 0; at < name.size();) {
    const std::string_view character = name.substr(at, length_at(name, at));
    at += character.size();
    const bool fits = character.size() == 1 && (is_plain(character[0]) || character == " " ||
                                                character == "(" || character == ")");
    ascii += fits ? character : std::string_view("_");
    for (const char c : character) {
      const auto byte = static_cast<unsigned char>(c);
      all += is_plain(byte) ? std::string(1, c) : fmt::format("%{:02X}", byte);
    }
  }
  return fmt::format("attachment; filename=\"{}\"; filename*=UTF-8''{}", ascii, all);
}

}  // namespace quern::api
