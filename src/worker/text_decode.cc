#include "worker/text_decode.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "worker/charset.h"

namespace quern::worker {
namespace {

constexpr std::size_t kPatternBytes = 64 * 1024;
// What a cut in the middle of a character may leave.
constexpr std::size_t kCharacterBytesMax = 4;

struct Mark {
  std::string_view bytes;
  const char* charset;
};
// The longer ones first: UTF-32's begins like UTF-16's.
constexpr std::array kMarks = {
    Mark{"\xEF\xBB\xBF", "UTF-8"},
    Mark{std::string_view("\xFF\xFE\x00\x00", 4), "UTF-32LE"},
    Mark{std::string_view("\x00\x00\xFE\xFF", 4), "UTF-32BE"},
    Mark{"\xFF\xFE", "UTF-16LE"},
    Mark{"\xFE\xFF", "UTF-16BE"},
};

// What is cut off in the middle of a character is still UTF-8, if there is another such character
// that is whole.
bool is_nearly_utf8(std::string_view bytes) {
  const std::size_t valid = valid_utf8_prefix(bytes);
  if (valid == bytes.size()) return true;
  const std::string_view whole = bytes.substr(0, valid);
  return bytes.size() - valid < kCharacterBytesMax &&
         std::any_of(whole.begin(), whole.end(), [](char c) { return (c & 0x80) != 0; });
}

// Western text in UTF-16 has a zero in every second byte, and hardly any in the others.
std::optional<std::string> utf16_without_mark(std::string_view bytes) {
  bytes = bytes.substr(0, kPatternBytes);
  std::size_t zeros[2] = {0, 0};
  for (std::size_t i = 0; i < bytes.size(); ++i) zeros[i % 2] += bytes[i] == '\0' ? 1 : 0;
  const std::size_t pairs = bytes.size() / 2;
  const auto many = [pairs](std::size_t n) { return n * 2 > pairs; };
  const auto few = [pairs](std::size_t n) { return n * 20 < pairs; };
  if (pairs < 2) return std::nullopt;
  if (many(zeros[1]) && few(zeros[0])) return "UTF-16LE";
  if (many(zeros[0]) && few(zeros[1])) return "UTF-16BE";
  return std::nullopt;
}

std::string charset_without_mark(std::string_view bytes) {
  if (const auto utf16 = utf16_without_mark(bytes)) return *utf16;
  if (is_nearly_utf8(bytes)) return "UTF-8";
  const std::string guess = guess_charset(bytes);
  // "ASCII" is said of text whose only odd byte comes late.
  if (guess.empty() || guess == "ASCII" || guess == "UTF-8") return "WINDOWS-1252";
  return guess;
}

std::string utf8_of(std::string_view bytes, DecodedText& decoded) {
  if (decoded.charset == "UTF-8") return valid_utf8(bytes.substr(0, valid_utf8_prefix(bytes)));
  if (auto text = to_utf8(bytes, decoded.charset)) return *std::move(text);
  decoded.charset = "WINDOWS-1252";
  return to_utf8(bytes, decoded.charset).value_or(valid_utf8(bytes));
}

std::size_t length_of(unsigned char lead) {
  return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

// U+FFFE and the like, which mean nothing to anybody.
bool is_noncharacter(std::string_view c) {
  const auto byte = [c](std::size_t i) { return static_cast<unsigned char>(c[i]); };
  if (c.size() == 3 && byte(0) == 0xEF) {
    if (byte(1) == 0xBF) return byte(2) >= 0xBE;
    return byte(1) == 0xB7 && byte(2) >= 0x90 && byte(2) <= 0xAF;
  }
  return c.size() == 4 && (byte(1) & 0x0F) == 0x0F && byte(2) == 0xBF && byte(3) >= 0xBE;
}

class Cleaner {
 public:
  explicit Cleaner(std::uint64_t characters_max) : left_(characters_max) {}

  // False where there is no room for more.
  bool add(std::string_view c) {
    if (c == "\n" && after_cr_) {
      after_cr_ = false;
      return true;
    }
    if (is_noncharacter(c)) return true;
    if (left_ == 0) return false;
    --left_;
    after_cr_ = c == "\r";
    if (c == "\r" || c == "\xC2\x85") {
      text += '\n';
    } else if (is_control(c)) {
      text += ' ';
    } else {
      text += c;
    }
    return true;
  }

  std::string text;

 private:
  static bool is_control(std::string_view c) {
    const auto lead = static_cast<unsigned char>(c[0]);
    if (c.size() == 1)
      return (lead < 0x20 && lead != '\n' && lead != '\t' && lead != '\f') || lead == 0x7F;
    return c.size() == 2 && lead == 0xC2 && static_cast<unsigned char>(c[1]) < 0xA0;
  }

  std::uint64_t left_;
  bool after_cr_ = false;
};

}  // namespace

bool looks_like_utf16(std::string_view bytes) {
  return utf16_without_mark(bytes).has_value();
}

DecodedText decode_text(std::string_view bytes, std::uint64_t characters_max) {
  DecodedText decoded;
  for (const Mark& mark : kMarks) {
    if (!bytes.starts_with(mark.bytes)) continue;
    decoded.charset = mark.charset;
    bytes.remove_prefix(mark.bytes.size());
    break;
  }
  if (decoded.charset.empty()) decoded.charset = charset_without_mark(bytes);
  const std::string text = valid_utf8(utf8_of(bytes, decoded));
  Cleaner cleaner(characters_max);
  cleaner.text.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = length_of(static_cast<unsigned char>(text[at]));
    if (!cleaner.add(std::string_view(text).substr(at, length))) {
      decoded.was_cut = true;
      break;
    }
    at += length;
  }
  decoded.text = std::move(cleaner.text);
  return decoded;
}

std::string without_form_feeds(std::string text) {
  std::replace(text.begin(), text.end(), '\f', ' ');
  return text;
}

}  // namespace quern::worker
