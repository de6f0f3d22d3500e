#include "search/codec.h"

#include <zstd.h>

#include <memory>

namespace quern::search {
namespace {

constexpr int kCompression = 3;
// What is shorter gains nothing worth a call.
constexpr std::size_t kCompressBytesMin = 128;

struct FreeCompressor {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};
struct FreeDecompressor {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

Error corrupt(std::string_view what) {
  return {Errc::Corrupt, "pack: " + std::string(what) + " is damaged"};
}

}  // namespace

void put_varint(std::string& into, std::uint64_t number) {
  while (number >= 0x80) {
    into += static_cast<char>(number | 0x80);
    number >>= 7;
  }
  into += static_cast<char>(number);
}

bool take_varint(std::string_view bytes, std::size_t& at, std::uint64_t& number) {
  number = 0;
  for (int shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    number |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

Packed pack_text(std::string_view text) {
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeCompressor> context(ZSTD_createCCtx());
  Packed packed{.text_bytes = text.size()};
  if (text.size() >= kCompressBytesMin) {
    packed.bytes.resize(ZSTD_compressBound(text.size()));
    const std::size_t size =
        ZSTD_compressCCtx(context.get(), packed.bytes.data(), packed.bytes.size(), text.data(),
                          text.size(), kCompression);
    if (ZSTD_isError(size) == 0 && size < text.size()) {
      packed.bytes.resize(size);
      return packed;
    }
  }
  packed.bytes.assign(text);
  return packed;
}

Result<std::string_view> unpack_text(std::string_view bytes, std::int64_t text_bytes,
                                     std::string& buffer) {
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeDecompressor> context(ZSTD_createDCtx());
  if (text_bytes == static_cast<std::int64_t>(bytes.size())) return bytes;
  if (text_bytes < 0 || text_bytes > static_cast<std::int64_t>(kTextBytesMax)) {
    return corrupt("the size of a text");
  }
  const auto size = static_cast<std::size_t>(text_bytes);
  // Asked before anything is allocated: a small lie must not cost half a gigabyte.
  if (ZSTD_getFrameContentSize(bytes.data(), bytes.size()) != size) return corrupt("a text");
  if (buffer.size() < size) buffer.resize(size);
  const std::size_t got =
      ZSTD_decompressDCtx(context.get(), buffer.data(), size, bytes.data(), bytes.size());
  if (ZSTD_isError(got) != 0 || got != size) return corrupt("a text");
  return std::string_view(buffer).substr(0, size);
}

std::string pack_ends(const std::vector<std::uint32_t>& ends) {
  std::string bytes;
  std::uint32_t last = 0;
  for (const std::uint32_t end : ends) {
    // One that goes back is no end of a page.
    const std::uint32_t next = end < last ? last : end;
    put_varint(bytes, next - last);
    last = next;
  }
  return bytes;
}

Result<std::vector<std::uint32_t>> unpack_ends(std::string_view bytes) {
  std::vector<std::uint32_t> ends;
  std::uint64_t last = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    std::uint64_t gap = 0;
    if (!take_varint(bytes, at, gap) || gap > UINT32_MAX - last) return corrupt("a list of pages");
    last += gap;
    ends.push_back(static_cast<std::uint32_t>(last));
  }
  return ends;
}

std::uint64_t stable_hash(std::string_view bytes, std::uint64_t seed) {
  // FNV-1a with a last stir, so that low and high bits are equally good.
  std::uint64_t hash = 0xCBF29CE484222325ULL ^ (seed * 0x9E3779B97F4A7C15ULL);
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  hash ^= hash >> 32;
  hash *= 0xD6E8FEB86659FD93ULL;
  return hash ^ (hash >> 32);
}

}  // namespace quern::search
