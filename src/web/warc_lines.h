// The head lines of records and of HTTP messages, as strangers write them. Pure.
#pragma once

#include <string_view>

#include "web/fetcher.h"

namespace quern::web {

// Takes the first line off, without its end (CRLF or LF).
std::string_view take_line(std::string_view& text);
std::string_view trimmed(std::string_view text);
// "Name: value" lines up to the first empty one, which is taken too. Folded lines are put together
// with one space; lines without a colon are nobody's.
HeaderList take_headers(std::string_view& text);

// Where what lies behind the first empty line begins; npos where there is none.
std::size_t head_end(std::string_view bytes);

}  // namespace quern::web
