#include "net/body_reader.h"

#include <algorithm>

namespace quern::net {
namespace {

// Below this, a read goes through the buffer: framing bytes and the next bytes come along.
constexpr std::size_t kDirectReadBytesMin = 16 * 1024;

}  // namespace

Task<Result<std::size_t>> read_body(Stream& stream, BodyDecoder& body, std::span<char> output,
                                    BodyDeadlines deadlines) {
  std::size_t produced = 0;
  while (produced == 0 && !body.done()) {
    if (!stream.buffered().empty()) {
      CO_TRY_ASSIGN(const auto step, body.decode(stream.buffered(), output));
      stream.consume(step.consumed);
      produced = step.produced;
      continue;
    }
    const Instant deadline = std::min(in_ms(deadlines.stall_ms), deadlines.last);
    const auto direct =
        static_cast<std::size_t>(std::min<std::uint64_t>(body.raw_bytes_ahead(), output.size()));
    if (direct >= kDirectReadBytesMin) {
      CO_TRY_ASSIGN(produced, co_await stream.read(output.first(direct), deadline));
      if (produced == 0) CO_TRY(body.end_of_input());
      if (produced > 0) body.passed_raw(produced);
      continue;
    }
    // A body known to be small does not get the large buffer.
    const std::uint64_t wanted = body.length_known() ? body.bytes_left() : kBodyBufferBytes;
    stream.reserve(std::clamp<std::uint64_t>(wanted, kHeadBufferBytes, kBodyBufferBytes));
    CO_TRY_ASSIGN(const std::size_t filled, co_await stream.fill(deadline));
    if (filled == 0) CO_TRY(body.end_of_input());
  }
  co_return produced;
}

}  // namespace quern::net
