// ContentDecoder: takes a content coding off, piece by piece: gzip (also several members), deflate
// (with and without its zlib wrapping), br, zstd.
//
// Bounded: it hands out at most kDecodePieceBytes at once, so whoever takes them can stop a bomb
// early. One thread.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quern::web {

inline constexpr std::size_t kDecodePieceBytes = 64 * 1024;
inline constexpr std::size_t kContentCodingsMax = 4;

class ContentDecoder {
 public:
  using Sink = std::function<Result<>(std::string_view)>;

  virtual ~ContentDecoder() = default;
  // Invalid where the bytes are no such coding; else what the sink says.
  virtual Result<> write(std::string_view bytes) = 0;
  // Invalid where the end is missing.
  virtual Result<> finish() = 0;

 protected:
  ContentDecoder() = default;
  ContentDecoder(const ContentDecoder&) = default;
  ContentDecoder& operator=(const ContentDecoder&) = default;
};

// For a Content-Encoding header ("gzip", "gzip, br": the last was applied last). Nothing where
// there is nothing to take off: it is empty, "identity", or names something unknown, which browsers
// pass over, too. Invalid beyond kContentCodingsMax.
Result<std::unique_ptr<ContentDecoder>> make_decoder(std::string_view content_encoding,
                                                     ContentDecoder::Sink sink);

}  // namespace quern::web
