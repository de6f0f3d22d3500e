// The bytes that a web server sent become clean UTF-8, by the order of the HTML standard: its mark,
// the header of the response, what the page says of itself, a look at the bytes.
//
// One step is not the standard's: servers add "iso-8859-1" to whatever they send, and pages are
// converted without their tags, so that bytes that are valid UTF-8 and more than ASCII are that in
// spite of such a header, or of a tag.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quern::worker {

// Bytes at its beginning in which a page may say its charset. The standard has 1,024; people write
// long comments.
inline constexpr std::size_t kCharsetPrescanBytes = 4096;

// "text/html; charset=windows-1251" is "windows-1251"; "" where it says none.
std::string charset_of_type(std::string_view content_type);

// What a <meta> or an XML declaration says; "" where nothing does.
std::string charset_of_page(std::string_view bytes);

// Valid UTF-8 without controls. What is beyond so many characters is left out.
std::string decode_web_page(std::string_view bytes, std::string_view content_type,
                            std::uint64_t characters_max);

}  // namespace quern::worker
