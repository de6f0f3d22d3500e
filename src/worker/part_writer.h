// PartWriter: the parts of a multipart body, as a step makes them, into a pipe.
//
// Guarantee: what it writes is a sequence of whole parts, in order; a step that dies leaves a part
// that has no delimiter behind it. How: a large buffer, written when it is full or when the last
// write was a while ago, since a system call for each part would cost more than the part.
//
// Threads: one. Errors: a pipe that nobody reads any more ends the process (SIGPIPE is left as it
// is: nobody wants the rest).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quern::worker {

inline constexpr std::size_t kPartBufferBytes = 256 * 1024;
inline constexpr std::int64_t kPartFlushMs = 100;

class PartWriter {
 public:
  PartWriter(int descriptor, std::string boundary);

  // A whole part.
  void part(std::string_view name, std::string_view body);
  // One in pieces: begin, write..., end.
  void begin(std::string_view name);
  void write(std::string_view bytes);
  void end();
  // Bytes without any framing, for steps whose output is no multipart body.
  void raw(std::string_view bytes) { append(bytes); }

  void flush();
  std::uint64_t bytes_written() const { return bytes_written_; }

 private:
  void append(std::string_view bytes);
  void flush_if_old();

  int descriptor_;
  std::string delimiter_;  // "--BOUNDARY CRLF Content-Disposition: form-data; name="
  std::string buffer_;
  std::uint64_t bytes_written_ = 0;
  std::int64_t flushed_ms_;
};

// 50 letters and digits: nothing in a person's file begins a line with it.
std::string make_boundary();

// The end of a body, by whoever closes it: parts with their delimiters, then the close delimiter.
std::string closing(std::string_view boundary);
std::string part_text(std::string_view boundary, std::string_view name, std::string_view body);

}  // namespace quern::worker
