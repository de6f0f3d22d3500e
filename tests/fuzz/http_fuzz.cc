// Everything that net reads of a peer's bytes: heads, framing, chunked bodies, targets, ranges.
// Besides not crashing: decoding a body in two pieces gives what decoding it at once gives.
#include <algorithm>
#include <string>
#include <string_view>

#include "net/body_decoder.h"
#include "net/endpoint.h"
#include "net/head_parser.h"
#include "net/http.h"
#include "net/range.h"
#include "net/target.h"

namespace quern::net {
namespace {

constexpr std::size_t kOutputBytes = 4096;

// The body's bytes, then how it went: whole, wrong or cut short. Each piece is handed over as it
// came.
std::string decoded(const Framing& framing, std::string_view body, std::size_t piece_bytes) {
  BodyDecoder decoder(framing);
  std::string text;
  std::string buffer(kOutputBytes, '\0');
  while (!body.empty() && !decoder.done()) {
    std::string_view piece = body.substr(0, piece_bytes);
    body.remove_prefix(piece.size());
    while (!piece.empty() && !decoder.done()) {
      const Result<BodyDecoder::Step> step = decoder.decode(piece, buffer);
      // How much came out before the mistake depends on the pieces; that there is one does not.
      if (!step.ok()) return "|wrong";
      CHECK(step->consumed <= piece.size() && step->produced <= buffer.size());
      CHECK(step->consumed + step->produced > 0);
      text.append(buffer, 0, step->produced);
      piece.remove_prefix(step->consumed);
    }
  }
  if (decoder.done()) return text + "|whole";
  return text + (decoder.end_of_input().ok() ? "|whole" : "|cut");
}

void try_body(const Framing& framing, std::string_view body) {
  const std::string at_once = decoded(framing, body, std::max<std::size_t>(body.size(), 1));
  for (const std::size_t piece_bytes : {1, 2, 7}) {
    CHECK(decoded(framing, body, piece_bytes) == at_once);
  }
}

void try_request(std::string_view head, std::string_view body) {
  const Result<RequestHead> request = parse_request_head(head);
  if (!request.ok()) return;
  CHECK(request->headers.size() <= kHeadersMax);
  if (const auto target = parse_target(request->target); target.ok()) {
    CHECK(target->segments.size() <= kTargetSegmentsMax);
    // What we write of a target, we read back as the same; empty segments are not ours to write.
    std::string again;
    bool writable = !target->segments.empty();
    for (const std::string& segment : target->segments) {
      append_segment(again, segment);
      writable = writable && !segment.empty();
    }
    CHECK(!writable || parse_target(again)->segments == target->segments);
  }
  if (const std::string* range = request->headers.find("Range")) {
    const RangeChoice choice = choose_range(*range, 1000);
    const auto* part = std::get_if<ByteRange>(&choice);
    CHECK(part == nullptr || (part->bytes > 0 && part->offset + part->bytes <= 1000));
  }
  const Result<Framing> framing = request_framing(*request);
  if (framing.ok()) try_body(*framing, body);
}

}  // namespace
}  // namespace quern::net

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace quern::net;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t end = find_head_end(bytes);
  const std::string_view head = bytes.substr(0, end == std::string_view::npos ? size : end);
  const std::string_view body = bytes.substr(head.size());
  const std::string_view lines =
      head.ends_with("\r\n\r\n") ? head.substr(0, head.size() - 4) : head;
  try_request(lines, body);
  (void)parse_response_head(lines);
  (void)Endpoint::parse(bytes);
  try_body({Framing::Kind::Chunked, 0}, bytes);
  return 0;
}
