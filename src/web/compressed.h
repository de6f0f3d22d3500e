// For tests: bytes in content codings.
#pragma once

#include <zlib.h>
#include <zstd.h>

#include <string>
#include <string_view>

#include "base/check.h"

namespace quern::web {

// Window bits as zlib has them: negative without wrapping, +16 for gzip.
inline std::string deflated(std::string_view text, int window_bits) {
  z_stream stream{};
  CHECK(::deflateInit2(&stream, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(::deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  CHECK(::deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

inline std::string gzip_of(std::string_view text) {
  return deflated(text, MAX_WBITS + 16);
}

inline std::string zstd_of(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size = ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3);
  CHECK(!ZSTD_isError(size));
  out.resize(size);
  return out;
}

inline std::string from_hex(std::string_view hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return out;
}

inline constexpr std::string_view kBrotliText = "hello brotli, hello brotli, hello";
inline std::string brotli_sample() {
  return from_hex("1b2000f81d09364e746f2486d7626568721a84858d4eb2a5bdc552f10065865f02");
}
// 32 MiB of "a".
inline std::string brotli_bomb() {
  return from_hex(
      "cbffff3ff825c2e2b14020f7fe8fffff7ff04b00c4611180eefd1fffffffe0970088c30200ddfbbffcffffc32f01"
      "10870500baf77f");
}

}  // namespace quern::web
