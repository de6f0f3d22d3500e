// BodyDecoder: takes the body out of a message's bytes, wherever their borders fall. Pure.
//
// Bounded: a chunk's size line and the trailer section have at most kChunkLineBytesMax and
// kTrailerBytesMax bytes; trailers and chunk extensions are checked for their form and dropped.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "net/head_parser.h"

namespace quern::net {

inline constexpr std::size_t kChunkLineBytesMax = 4 * 1024;
inline constexpr std::size_t kTrailerBytesMax = 16 * 1024;

class BodyDecoder {
 public:
  BodyDecoder() = default;
  explicit BodyDecoder(Framing framing);

  struct Step {
    std::size_t consumed = 0;  // of the input
    std::size_t produced = 0;  // into the output
  };
  // Goes on until the input is used up, the output is full or the body has ended. Invalid on bytes
  // that are no chunked body, TooLarge on an endless size line or trailer.
  Result<Step> decode(std::string_view input, std::span<char> output);
  // The input has ended: fine for a body that lasts until then, Unavailable for one cut short.
  Result<> end_of_input();

  bool done() const { return state_ == State::Done; }
  // Bytes that may be read from the socket straight into the caller's buffer; 0 where framing bytes
  // come next.
  std::uint64_t raw_bytes_ahead() const;
  // Those bytes were read past decode().
  void passed_raw(std::uint64_t bytes);
  // What is left, where the sender has declared it.
  bool length_known() const { return framing_.kind != Framing::Kind::Chunked; }
  std::uint64_t bytes_left() const { return left_; }

 private:
  enum class State { Done, Data, UntilClose, Size, Extension, SizeLf, DataCr, DataLf, Trailer };

  Result<> take_framing_byte(char c);
  Result<> take_size_byte(char c);
  Result<> take_trailer_byte(char c);

  Framing framing_;
  State state_ = State::Done;
  std::uint64_t left_ = 0;      // of the body, or of this chunk
  std::size_t line_bytes_ = 0;  // of this size line or trailer section
  int size_digits_ = 0;
  std::size_t trailer_line_ = 0;  // bytes of this trailer line, without CR
  bool trailer_cr_ = false;
};

}  // namespace quern::net
