// read_body: body bytes from a stream through their decoder. For use inside net only.
#pragma once

#include <span>

#include "net/body_decoder.h"
#include "net/stream.h"

namespace quern::net {

struct BodyDeadlines {
  std::int64_t stall_ms;  // for each pause of the sender
  Instant last = kNever;  // for all of it
};

// At least one byte, or 0 at the body's end. Unavailable where the peer closes before that.
Task<Result<std::size_t>> read_body(Stream& stream, BodyDecoder& body, std::span<char> output,
                                    BodyDeadlines deadlines);

}  // namespace quern::net
