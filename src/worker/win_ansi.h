// WinAnsi: the letters that the fonts built into every PDF viewer have.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quern::worker {

// The byte of a code point, or nothing.
std::optional<unsigned char> win_ansi_of(char32_t code_point);
// Of valid UTF-8. What is not among them becomes a question mark.
std::string to_win_ansi(std::string_view text);

// The next code point of valid UTF-8; moves on.
char32_t next_code_point(std::string_view& text);

}  // namespace quern::worker
