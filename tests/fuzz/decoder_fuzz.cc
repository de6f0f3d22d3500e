// Content codings: any bytes are decoded or refused, in pieces that keep their bound, whichever way
// they are cut.
#include <string>
#include <string_view>

#include "base/check.h"
#include "web/decoder.h"

namespace quern::web {
namespace {

constexpr std::size_t kTakenMax = 256 * 1024;

struct Outcome {
  std::string bytes;
  bool is_whole = false;
};

Outcome decoded(std::string_view coding, std::string_view bytes, std::size_t piece) {
  Outcome out;
  auto decoder = make_decoder(coding, [&out](std::string_view part) -> Result<> {
    CHECK(part.size() <= kDecodePieceBytes);
    out.bytes += part;
    if (out.bytes.size() > kTakenMax) return Error{Errc::TooLarge, "enough"};
    return {};
  });
  if (!decoder || !*decoder) return out;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    if (!(*decoder)->write(bytes.substr(at, piece))) return out;
  }
  out.is_whole = (*decoder)->finish().ok();
  return out;
}

}  // namespace
}  // namespace quern::web

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  // The header, an end of line, the body.
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return 0;
  const auto at_once = quern::web::decoded(text.substr(0, end), text.substr(end + 1), size);
  const auto in_pieces = quern::web::decoded(text.substr(0, end), text.substr(end + 1), 7);
  CHECK(at_once.is_whole == in_pieces.is_whole);
  if (at_once.is_whole) CHECK(at_once.bytes == in_pieces.bytes);
  return 0;
}
