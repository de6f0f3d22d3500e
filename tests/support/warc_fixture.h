// Web archives in memory, for tests: their records read to the end, from pieces of any size.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "web/warc.h"

namespace quern::support {

// Gives at most `piece` bytes at once. The bytes outlive it.
inline web::WarcReader::Source source_of(std::string_view bytes, std::size_t piece = 1 << 20) {
  auto at = std::make_shared<std::size_t>(0);
  return [bytes, piece, at](char* to, std::size_t size) -> Result<std::size_t> {
    const std::size_t taken = std::min({size, piece, bytes.size() - *at});
    std::memcpy(to, bytes.data() + *at, taken);
    *at += taken;
    return taken;
  };
}

struct ReadRecord {
  web::WarcRecord record;
  std::string content;
  std::int64_t length = 0;
};

inline Result<std::string> content_of(web::WarcReader& reader) {
  std::string content;
  char buffer[1000];
  while (true) {
    TRY_ASSIGN(const std::size_t got, reader.read(buffer, sizeof buffer));
    if (got == 0) return content;
    content.append(buffer, got);
  }
}

inline Result<std::vector<ReadRecord>> read_records(std::string_view bytes,
                                                    std::size_t piece = 1 << 20) {
  web::WarcReader reader(source_of(bytes, piece));
  std::vector<ReadRecord> records;
  while (true) {
    TRY_ASSIGN(auto record, reader.next());
    if (!record) return records;
    TRY_ASSIGN(std::string content, content_of(reader));
    const std::int64_t length = reader.position() == 0 ? 0 : reader.position() - record->offset;
    records.push_back({*std::move(record), std::move(content), length});
  }
}

// One gzip member.
inline std::string gzipped(std::string_view bytes) {
  z_stream stream{};
  EXPECT_EQ(::deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(::deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

}  // namespace quern::support
