// Heads of HTTP/1.x messages: text in, RequestHead or ResponseHead out, and back. Pure.
//
// Strict where leniency lets two parties disagree about where a message ends: no folded lines, no
// blanks before a colon, no bare LF, no two lengths, no length beside chunks, no coding but
// chunked. Ours instead of Beast's for three reasons: the body then goes from the socket straight
// into the handler's buffer, a parser of a whole text is easy to fuzz, and a file costs seconds to
// compile.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "net/http.h"

namespace quern::net {

inline constexpr std::size_t kHeadBytesMaxDefault = 32 * 1024;

// The end of a head within the bytes, behind its empty line; npos while it is incomplete.
// Bytes before `scanned` were looked at by an earlier call.
std::size_t find_head_end(std::string_view bytes, std::size_t scanned = 0);

// The head without its empty line. Invalid says what is wrong.
Result<RequestHead> parse_request_head(std::string_view head);

struct ParsedResponseHead {
  ResponseHead head;
  int version_minor = 1;
};
Result<ParsedResponseHead> parse_response_head(std::string_view head);

// How the body of a message ends.
struct Framing {
  enum class Kind { None, Length, Chunked, UntilClose };
  Kind kind = Kind::None;
  std::uint64_t length = 0;  // for Length
};
// Invalid where lengths contradict each other or a transfer coding is unknown.
Result<Framing> request_framing(const RequestHead& head);
Result<Framing> response_framing(const ResponseHead& head, Method of_request);

bool wants_keep_alive(const Headers& headers, int version_minor);

void append_head(std::string& out, std::string_view first_line, const Headers& headers);
std::string response_line(int status);

// Digits only, no sign, no blanks, within 63 bits.
std::optional<std::uint64_t> parse_decimal(std::string_view text);

}  // namespace quern::net
