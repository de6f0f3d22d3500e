#include "step/clean_text.h"

#include <algorithm>

#include "base/utf8.h"

namespace quern::step {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::uint32_t kNextLine = 0x85;

bool is_plain(char c) {
  return (c >= 0x20 && c < 0x7F) || c == '\n' || c == '\t';
}

// Bytes that a character with this first byte has; 0 where none begins so.
std::size_t character_bytes(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xC2) return 0;
  if (first < 0xE0) return 2;
  if (first < 0xF0) return 3;
  return first < 0xF5 ? 4 : 0;
}

// Whether these bytes are no character yet but can become one.
bool is_unfinished(std::string_view bytes) {
  const std::size_t wanted = character_bytes(static_cast<unsigned char>(bytes.front()));
  if (bytes.size() >= wanted) return false;
  // Ends that make each valid beginning whole: the second byte decides, the others are free.
  std::string whole(bytes);
  if (whole.size() == 1) whole += whole == "\xE0" ? '\xA0' : whole == "\xF0" ? '\x90' : '\x80';
  whole.append(wanted - whole.size(), '\x80');
  return is_valid_utf8(whole);
}

std::uint32_t code_point(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  std::uint32_t code = first < 0x80 ? first : first & (0x7FU >> character.size());
  for (const char c : character.substr(1))
    code = code << 6 | (static_cast<unsigned char>(c) & 0x3F);
  return code;
}

bool is_noncharacter(std::uint32_t code) {
  return (code & 0xFFFE) == 0xFFFE || (code >= 0xFDD0 && code <= 0xFDEF);
}

}  // namespace

void TextCleaner::feed(std::string_view bytes, std::string& out) {
  while (!kept_.empty() && !bytes.empty()) {
    kept_ += bytes.front();
    bytes.remove_prefix(1);
    if (is_unfinished(kept_)) continue;
    std::string joined;
    joined.swap(kept_);
    clean(joined, out);
  }
  clean(bytes, out);
}

void TextCleaner::finish(std::string& out) {
  for (std::size_t i = 0; i < kept_.size(); ++i) append(kReplacement, out);
  kept_.clear();
}

void TextCleaner::clean(std::string_view bytes, std::string& out) {
  while (!bytes.empty() && !was_cut_) {
    const bool is_second_half = after_cr_ && bytes.front() == '\n';
    after_cr_ = false;
    if (is_second_half) {
      bytes.remove_prefix(1);
      continue;
    }
    const std::size_t plain = append_plain(bytes, out);
    bytes.remove_prefix(plain != 0 ? plain : clean_one(bytes, out));
  }
}

// Characters that stay as they are, as many as there are at once: most of most texts.
std::size_t TextCleaner::append_plain(std::string_view bytes, std::string& out) {
  const auto end = std::find_if_not(bytes.begin(), bytes.end(), is_plain);
  const auto plain = static_cast<std::size_t>(end - bytes.begin());
  const auto room = static_cast<std::size_t>(characters_max_ - characters_);
  const std::size_t taken = std::min(plain, room);
  out.append(bytes.substr(0, taken));
  characters_ += static_cast<std::int64_t>(taken);
  was_cut_ = was_cut_ || taken < plain;
  return plain;
}

std::size_t TextCleaner::clean_one(std::string_view bytes, std::string& out) {
  const std::size_t wanted = character_bytes(static_cast<unsigned char>(bytes.front()));
  const std::string_view character = bytes.substr(0, wanted);
  if (wanted != 0 && is_valid_utf8(character)) {
    append_cleaned(character, out);
    return wanted;
  }
  if (wanted != 0 && is_unfinished(bytes)) {
    kept_ = bytes;
    return bytes.size();
  }
  append(kReplacement, out);
  return 1;
}

void TextCleaner::append_cleaned(std::string_view character, std::string& out) {
  const std::uint32_t code = code_point(character);
  after_cr_ = code == '\r';
  if (code == '\r' || code == kNextLine) return append("\n", out);
  if (code < 0x20 || (code >= 0x7F && code <= 0x9F)) return append(" ", out);
  if (!is_noncharacter(code)) append(character, out);
}

void TextCleaner::append(std::string_view character, std::string& out) {
  if (characters_ >= characters_max_) {
    was_cut_ = true;
    return;
  }
  out.append(character);
  ++characters_;
}

std::string clean_text(std::string_view bytes, std::int64_t characters_max) {
  TextCleaner cleaner(characters_max);
  std::string out;
  cleaner.feed(bytes, out);
  cleaner.finish(out);
  return out;
}

std::string_view cut_at_character(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  while (bytes_max > 0 && (static_cast<unsigned char>(text[bytes_max]) & 0xC0) == 0x80) --bytes_max;
  return text.substr(0, bytes_max);
}

}  // namespace quern::step
