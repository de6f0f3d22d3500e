// Charsets: bytes in whatever encoding become UTF-8, and which encoding that was is guessed.
//
// A guess is only asked for bytes that are no valid UTF-8: text that is valid hardly ever is
// anything else. Conversion never loses a byte silently: what cannot be converted becomes U+FFFD.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quern::worker {

// The name of a likely charset as iconv knows it; "" where nobody can tell.
std::string guess_charset(std::string_view bytes);

// Nothing where the charset is not known here.
std::optional<std::string> to_utf8(std::string_view bytes, const std::string& charset);

// The usual ones, so that their tables are loaded before the fork.
void warm_charsets();

}  // namespace quern::worker
