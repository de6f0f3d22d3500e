// UTF-8: whether bytes are valid, and a valid text made of any bytes.
#pragma once

#include <string>
#include <string_view>

namespace quern {

// Bytes of the longest valid prefix (no overlong forms, no surrogates, nothing above U+10FFFF).
std::size_t valid_utf8_prefix(std::string_view bytes);
inline bool is_valid_utf8(std::string_view bytes) {
  return valid_utf8_prefix(bytes) == bytes.size();
}
// Each byte that is not part of a valid character becomes U+FFFD.
std::string valid_utf8(std::string_view bytes);

}  // namespace quern
