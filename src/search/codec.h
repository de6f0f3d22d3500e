// How packs write numbers and texts: little endian, variable lengths, zstd.
//
// Reading never goes beyond the bytes that are there; what makes no sense is Corrupt.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quern::search {

// Of one document; SQLite itself holds no more than a gigabyte in a value.
inline constexpr std::size_t kTextBytesMax = 512 * 1024 * 1024;

void put_varint(std::string& into, std::uint64_t number);
// Moves `at` behind it. False where the bytes end or the number has more than 64 bits.
bool take_varint(std::string_view bytes, std::size_t& at, std::uint64_t& number);

struct Packed {
  std::string bytes;
  std::size_t text_bytes = 0;  // as many as `bytes` has: they are the text itself
};
// Compressed where that is smaller.
Packed pack_text(std::string_view text);
// Into a buffer of the caller's, whose memory is used again; the view is of it or of `bytes`.
Result<std::string_view> unpack_text(std::string_view bytes, std::int64_t text_bytes,
                                     std::string& buffer);

std::string pack_ends(const std::vector<std::uint32_t>& ends);
Result<std::vector<std::uint32_t>> unpack_ends(std::string_view bytes);

// The same on every machine: ties and places in tables of bits hang on it.
std::uint64_t stable_hash(std::string_view bytes, std::uint64_t seed);

}  // namespace quern::search
