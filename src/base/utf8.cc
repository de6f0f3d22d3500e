#include "base/utf8.h"

#include <cstdint>
#include <cstring>

namespace quern {
namespace {

bool is_continuation(std::string_view bytes, std::size_t at) {
  return at < bytes.size() && (static_cast<std::uint8_t>(bytes[at]) & 0xC0) == 0x80;
}

// Length of the valid character at the front, 0 if there is none.
std::size_t character_bytes(std::string_view bytes) {
  const auto first = static_cast<std::uint8_t>(bytes[0]);
  const auto second = static_cast<std::uint8_t>(bytes.size() > 1 ? bytes[1] : 0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return is_continuation(bytes, 1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (first == 0xE0 && second < 0xA0) return 0;  // overlong
    if (first == 0xED && second > 0x9F) return 0;  // surrogate
    return is_continuation(bytes, 1) && is_continuation(bytes, 2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (first == 0xF0 && second < 0x90) return 0;  // overlong
    if (first == 0xF4 && second > 0x8F) return 0;  // above U+10FFFF
    const bool whole =
        is_continuation(bytes, 1) && is_continuation(bytes, 2) && is_continuation(bytes, 3);
    return whole ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::size_t valid_utf8_prefix(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    // Most text is ASCII: eight bytes at a time.
    if (std::uint64_t eight = 0; at + sizeof eight <= bytes.size()) {
      std::memcpy(&eight, bytes.data() + at, sizeof eight);
      if ((eight & 0x8080'8080'8080'8080) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    const std::size_t length = character_bytes(bytes.substr(at));
    if (length == 0) break;
    at += length;
  }
  return at;
}

std::string valid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t good = valid_utf8_prefix(bytes);
    out.append(bytes.substr(0, good));
    bytes.remove_prefix(good);
    if (bytes.empty()) break;
    out.append("\xEF\xBF\xBD");
    bytes.remove_prefix(1);
  }
  return out;
}

}  // namespace quern
