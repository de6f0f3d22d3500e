#include "web/warc_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace quern::web {
namespace {

constexpr std::size_t kBufferBytes = 64 * 1024;
constexpr int kGzipWindow = 15 + 16;

bool is_gzip_magic(char first, char second) {
  return first == '\x1F' && second == '\x8B';
}

}  // namespace

WarcInput::WarcInput(WarcReader::Source source, std::int64_t begin)
    : source_(std::move(source)), read_(begin), in_(kBufferBytes) {}

WarcInput::~WarcInput() {
  if (gzip_) ::inflateEnd(&stream_);
}

// Two bytes at least, where the file has them: a magic number is not seen in halves.
Result<bool> WarcInput::fill() {
  std::memmove(in_.data(), in_.data() + in_begin_, in_left());
  in_end_ = in_left();
  in_begin_ = 0;
  while (in_end_ < 2) {
    TRY_ASSIGN(const std::size_t got, source_(in_.data() + in_end_, in_.size() - in_end_));
    CHECK(got <= in_.size() - in_end_);
    if (got == 0) break;
    in_end_ += got;
    read_ += static_cast<std::int64_t>(got);
  }
  return in_end_ > 0;
}

Result<bool> WarcInput::next_member() {
  CHECK(at_member_end());
  if (in_left() < 2) TRY(fill());
  if (in_left() == 0) return false;
  const bool magic = in_left() >= 2 && is_gzip_magic(in_[in_begin_], in_[in_begin_ + 1]);
  if (!begun_) {
    gzip_ = magic;
    if (gzip_) {
      CHECK(::inflateInit2(&stream_, kGzipWindow) == Z_OK);
      out_.resize(kBufferBytes);
    }
  } else if (!gzip_) {
    return false;
  } else if (!magic) {
    // Tapes and block devices pad.
    TRY_ASSIGN(const bool padding, only_zeros_follow());
    if (padding) return false;
    return Error{Errc::Corrupt, fmt::format("no gzip member at {}", in_position())};
  } else {
    CHECK(::inflateReset(&stream_) == Z_OK);
  }
  begun_ = true;
  ended_ = false;
  member_offset_ = in_position();
  return true;
}

Result<bool> WarcInput::only_zeros_follow() {
  while (in_left() > 0) {
    if (in_[in_begin_] != '\0') return false;
    ++in_begin_;
    if (in_left() == 0) TRY(fill());
  }
  return true;
}

Result<std::string_view> WarcInput::peek() {
  if (!gzip_) {
    if (!ended_ && in_left() == 0) {
      TRY_ASSIGN(const bool more, fill());
      ended_ = !more;
    }
    return std::string_view(in_.data() + in_begin_, ended_ ? 0 : in_left());
  }
  while (out_begin_ == out_end_ && !ended_) TRY(inflate_some());
  return std::string_view(out_.data() + out_begin_, out_end_ - out_begin_);
}

void WarcInput::consume(std::size_t bytes) {
  if (gzip_) {
    CHECK(bytes <= out_end_ - out_begin_);
    out_begin_ += bytes;
  } else {
    CHECK(bytes <= in_left());
    in_begin_ += bytes;
  }
}

Result<> WarcInput::inflate_some() {
  if (in_left() == 0) TRY(fill());
  if (in_left() == 0) {
    return Error{Errc::Corrupt, fmt::format("the gzip member at {} is cut off", member_offset_)};
  }
  stream_.next_in = reinterpret_cast<Bytef*>(in_.data() + in_begin_);
  stream_.avail_in = static_cast<uInt>(in_left());
  stream_.next_out = reinterpret_cast<Bytef*>(out_.data());
  stream_.avail_out = static_cast<uInt>(out_.size());
  const int status = ::inflate(&stream_, Z_NO_FLUSH);
  in_begin_ = in_end_ - stream_.avail_in;
  out_begin_ = 0;
  out_end_ = out_.size() - stream_.avail_out;
  ended_ = status == Z_STREAM_END;
  if (status == Z_OK || status == Z_STREAM_END) return {};
  out_end_ = 0;
  return Error{Errc::Corrupt, fmt::format("the gzip member at {} is damaged", member_offset_)};
}

Result<bool> WarcInput::skip_line_ends() {
  while (true) {
    TRY_ASSIGN(const std::string_view bytes, peek());
    if (bytes.empty()) return false;
    const std::size_t end = std::min(bytes.find_first_not_of("\r\n"), bytes.size());
    consume(end);
    if (end < bytes.size()) return true;
  }
}

Result<std::string> WarcInput::read_line(std::size_t bytes_max) {
  std::string line;
  while (true) {
    TRY_ASSIGN(const std::string_view bytes, peek());
    if (bytes.empty()) return line;
    const std::size_t end = bytes.find('\n');
    const std::size_t taken = end == std::string_view::npos ? bytes.size() : end + 1;
    if (line.size() + taken > bytes_max) {
      return over_limit(fmt::format("the head of a record at {}", position()),
                        static_cast<std::int64_t>(line.size() + taken),
                        static_cast<std::int64_t>(bytes_max), "web.warc_head_bytes_max");
    }
    line.append(bytes.substr(0, taken));
    consume(taken);
    if (end != std::string_view::npos) return line;
  }
}

std::int64_t WarcInput::position() const {
  if (!gzip_ || at_member_end()) return in_position();
  return member_offset_;
}

}  // namespace quern::web
