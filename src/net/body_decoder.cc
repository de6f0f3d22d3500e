#include "net/body_decoder.h"

#include <algorithm>
#include <cstring>

namespace quern::net {
namespace {

constexpr int kSizeDigitsMax = 15;  // 60 bits: adding and shifting cannot overflow

Error malformed(std::string_view what) {
  return Error{Errc::Invalid, std::string(what)};
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

BodyDecoder::BodyDecoder(Framing framing) : framing_(framing) {
  switch (framing.kind) {
    case Framing::Kind::None:
      state_ = State::Done;
      break;
    case Framing::Kind::Length:
      left_ = framing.length;
      state_ = left_ == 0 ? State::Done : State::Data;
      break;
    case Framing::Kind::Chunked:
      state_ = State::Size;
      break;
    case Framing::Kind::UntilClose:
      state_ = State::UntilClose;
      break;
  }
}

std::uint64_t BodyDecoder::raw_bytes_ahead() const {
  if (state_ == State::Data) return left_;
  return state_ == State::UntilClose ? UINT64_MAX : 0;
}

void BodyDecoder::passed_raw(std::uint64_t bytes) {
  if (state_ == State::UntilClose) return;
  CHECK(state_ == State::Data && bytes <= left_);
  left_ -= bytes;
  if (left_ > 0) return;
  state_ = framing_.kind == Framing::Kind::Chunked ? State::DataCr : State::Done;
}

Result<BodyDecoder::Step> BodyDecoder::decode(std::string_view input, std::span<char> output) {
  Step step;
  while (step.consumed < input.size() && !done()) {
    if (const std::uint64_t raw = raw_bytes_ahead(); raw > 0) {
      const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(
          {raw, input.size() - step.consumed, output.size() - step.produced}));
      if (n == 0) break;
      std::memcpy(output.data() + step.produced, input.data() + step.consumed, n);
      step.consumed += n;
      step.produced += n;
      passed_raw(n);
      continue;
    }
    TRY(take_framing_byte(input[step.consumed]));
    ++step.consumed;
  }
  return step;
}

Result<> BodyDecoder::take_framing_byte(char c) {
  switch (state_) {
    case State::Size:
      return take_size_byte(c);
    case State::Extension:
      if (++line_bytes_ > kChunkLineBytesMax) {
        return over_limit("chunk line", static_cast<std::int64_t>(line_bytes_), kChunkLineBytesMax,
                          "net.chunk_line_bytes_max");
      }
      if (c == '\r') state_ = State::SizeLf;
      if (c == '\n') return malformed("a bare LF in a chunk line");
      return {};
    case State::SizeLf:
      if (c != '\n') return malformed("a CR without LF in a chunk line");
      state_ = left_ > 0 ? State::Data : State::Trailer;
      size_digits_ = 0;
      line_bytes_ = 0;
      return {};
    case State::DataCr:
      if (c != '\r') return malformed("a chunk is longer than its size");
      state_ = State::DataLf;
      return {};
    case State::DataLf:
      if (c != '\n') return malformed("a chunk is longer than its size");
      state_ = State::Size;
      return {};
    case State::Trailer:
      return take_trailer_byte(c);
    default:
      CHECK(false);
  }
  return {};
}

Result<> BodyDecoder::take_size_byte(char c) {
  if (const int digit = hex_digit(c); digit >= 0) {
    if (++size_digits_ > kSizeDigitsMax) return malformed("a chunk size has too many digits");
    left_ = left_ * 16 + static_cast<std::uint64_t>(digit);
    return {};
  }
  if (size_digits_ == 0) return malformed("a chunk size has no digits");
  if (c == '\r') {
    state_ = State::SizeLf;
  } else if (c == ';' || c == ' ' || c == '\t') {
    state_ = State::Extension;
  } else {
    return malformed("a chunk size is not hexadecimal");
  }
  return {};
}

// Lines up to an empty one.
Result<> BodyDecoder::take_trailer_byte(char c) {
  if (++line_bytes_ > kTrailerBytesMax) {
    return over_limit("trailer", static_cast<std::int64_t>(line_bytes_), kTrailerBytesMax,
                      "net.trailer_bytes_max");
  }
  if (trailer_cr_) {
    if (c != '\n') return malformed("a CR without LF in the trailer");
    if (trailer_line_ == 0) state_ = State::Done;
    trailer_cr_ = false;
    trailer_line_ = 0;
  } else if (c == '\r') {
    trailer_cr_ = true;
  } else if (c == '\n') {
    return malformed("a bare LF in the trailer");
  } else {
    ++trailer_line_;
  }
  return {};
}

Result<> BodyDecoder::end_of_input() {
  if (state_ == State::UntilClose) state_ = State::Done;
  if (done()) return {};
  return Error{Errc::Unavailable, "the peer closed within the body"};
}

}  // namespace quern::net
