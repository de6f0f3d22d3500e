// A web page's bytes become UTF-8: by its mark, by being valid UTF-8, by what it says of itself, by
// a guess, in this order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quern::worker {

// Bytes at its beginning in which a page may say what charset it is in.
inline constexpr std::size_t kCharsetBytes = 4096;

// `told` is the charset that came with it, if any.
std::string decode_html(std::string_view bytes, std::string_view told,
                        std::uint64_t characters_max);

// What a page says of itself: <meta charset="x">, <meta ... content="...; charset=x">, <?xml
// encoding="x"?>. "" where it says nothing.
std::string charset_told(std::string_view html);

// The charset that a page means by a label in lower case, as iconv knows it.
std::string charset_meant(std::string_view label);

}  // namespace quern::worker
