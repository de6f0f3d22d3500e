// ZipWriter: a zip file of stored entries, written from front to back; zip64 where it must be.
//
// Nothing is compressed: web archives are, and their readers begin in the middle of an entry. The
// size and checksum of an entry are known before it is written, so that there are no data
// descriptors, which many readers stumble over.
//
// Threads: one at a time. Memory: a few bytes and the name of each entry.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quern::web {

inline constexpr std::int64_t kZip64From = 0xFFFFFFFF;
inline constexpr std::size_t kZipNameBytesMax = 0xFFFF;

struct ZipEntry {
  std::string name;  // UTF-8, with "/"
  std::int64_t bytes = 0;
  std::uint32_t crc = 0;  // of zlib's crc32()
};

class ZipWriter {
 public:
  using Sink = std::function<Result<>(std::string_view)>;

  // All entries bear this instant. Sizes and offsets from `zip64_from` on are written as zip64
  // does: less than the default is for tests.
  ZipWriter(Sink sink, std::int64_t at_us, std::int64_t zip64_from = kZip64From);

  // After an error only destruction is left. Invalid where a name is too long.
  Result<> begin(const ZipEntry& entry);
  // Exactly entry.bytes of them, in pieces; anything else is our bug.
  Result<> add(std::string_view bytes);
  // Once, and last.
  Result<> finish();

 private:
  struct Written {
    ZipEntry entry;
    std::int64_t offset;
  };
  Result<> put(std::string_view bytes);
  std::string local_head(const ZipEntry& entry) const;
  std::string directory_row(const Written& written) const;
  std::string end_record(std::int64_t directory_offset, std::int64_t directory_bytes) const;

  Sink sink_;
  std::uint16_t dos_time_;
  std::uint16_t dos_date_;
  std::int64_t zip64_from_;
  std::int64_t written_ = 0;
  std::int64_t entry_left_ = 0;
  std::vector<Written> entries_;
};

}  // namespace quern::web
