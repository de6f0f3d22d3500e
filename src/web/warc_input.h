// WarcInput: the bytes of a web archive, decompressed, gzip member by gzip member. A plain file is
// one member.
//
// Threads: one at a time. Bounded: two buffers of 64 KiB, whatever comes.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "web/warc.h"

namespace quern::web {

class WarcInput {
 public:
  WarcInput(WarcReader::Source source, std::int64_t begin);
  ~WarcInput();
  WarcInput(const WarcInput&) = delete;
  WarcInput& operator=(const WarcInput&) = delete;

  // Goes to the next member; false at the file's end. The one before was read to its end.
  Result<bool> next_member();
  // What can be had without waiting for more, at least a byte; empty at the member's end.
  Result<std::string_view> peek();
  void consume(std::size_t bytes);
  // Passes line ends; false at the member's end.
  Result<bool> skip_line_ends();
  // With its end; without it where the member ends first. TooLarge beyond bytes_max.
  Result<std::string> read_line(std::size_t bytes_max);

  bool is_gzip() const { return gzip_; }
  std::int64_t member_offset() const { return member_offset_; }
  // Of what peek() gives, in the file; in a gzip file only at the member's end.
  std::int64_t position() const;
  bool at_member_end() const { return ended_ && out_begin_ == out_end_; }

 private:
  Result<bool> fill();
  Result<> inflate_some();
  Result<bool> only_zeros_follow();
  std::int64_t in_position() const { return read_ - static_cast<std::int64_t>(in_left()); }
  std::size_t in_left() const { return in_end_ - in_begin_; }

  WarcReader::Source source_;
  std::int64_t read_;  // how far into the file
  std::vector<char> in_;
  std::size_t in_begin_ = 0;
  std::size_t in_end_ = 0;
  std::vector<char> out_;
  std::size_t out_begin_ = 0;
  std::size_t out_end_ = 0;
  z_stream stream_{};
  bool gzip_ = false;
  bool begun_ = false;
  bool ended_ = true;  // the member
  std::int64_t member_offset_ = 0;
};

}  // namespace quern::web
