// Text in any charset becomes clean UTF-8: one kind of line end, no controls, nothing invalid.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quern::worker {

struct DecodedText {
  std::string text;     // valid UTF-8; LF line ends, TAB and FF stay
  std::string charset;  // as it was read
  bool was_cut = false;
};

// By its byte order mark, by being valid UTF-8, by the pattern of UTF-16, by a guess, in this
// order; what nobody recognises is Western European. At most so many characters come out.
DecodedText decode_text(std::string_view bytes, std::uint64_t characters_max);

// Whether the zeros among the bytes are those of UTF-16.
bool looks_like_utf16(std::string_view bytes);

// For a document's text: form feeds are blanks, as every other control.
std::string without_form_feeds(std::string text);

}  // namespace quern::worker
