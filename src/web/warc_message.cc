#include "web/warc_message.h"

#include <strings.h>

#include <algorithm>
#include <cstring>

#include "web/warc_lines.h"

namespace quern::web {
namespace {

constexpr std::size_t kPieceBytes = 16 * 1024;
constexpr std::size_t kChunkDigitsMax = 15;

bool says_chunked(const HeaderList& headers) {
  const std::string_view value = trimmed(find_header(headers, "Transfer-Encoding"));
  return value.size() == 7 && ::strncasecmp(value.data(), "chunked", 7) == 0;
}

// "1a3; name=value".
std::optional<std::uint64_t> chunk_size(std::string_view line) {
  line = trimmed(line.substr(0, line.find(';')));
  if (line.empty() || line.size() > kChunkDigitsMax) return {};
  std::uint64_t size = 0;
  for (const char c : line) {
    const char lower = static_cast<char>(c | 0x20);
    if (c >= '0' && c <= '9') {
      size = size * 16 + static_cast<std::uint64_t>(c - '0');
    } else if (lower >= 'a' && lower <= 'f') {
      size = size * 16 + static_cast<std::uint64_t>(lower - 'a' + 10);
    } else {
      return {};
    }
  }
  return size;
}

}  // namespace

Result<ArchivedMessage> ArchivedMessage::open(WarcReader& reader) {
  ArchivedMessage message(reader);
  std::size_t end = std::string::npos;
  while (end == std::string::npos && message.held_.size() < kWarcHeadBytesMax) {
    TRY_ASSIGN(const bool more, message.fill());
    if (!more) break;
    end = head_end(message.held_);
  }
  TRY_ASSIGN(message.head_, parse_archived_head(message.held_));
  message.at_ = message.head_.bytes;
  message.chunked_ = says_chunked(message.head_.headers);
  return message;
}

// More of what is stored behind what is held.
Result<bool> ArchivedMessage::fill() {
  if (at_ > 0) held_.erase(0, at_);
  at_ = 0;
  const std::size_t before = held_.size();
  held_.resize(before + kPieceBytes);
  Result<std::size_t> got = reader_->read(held_.data() + before, kPieceBytes);
  held_.resize(before + (got.ok() ? *got : 0));
  TRY_ASSIGN(const std::size_t bytes, std::move(got));
  return bytes > 0;
}

Result<std::size_t> ArchivedMessage::take(char* to, std::size_t size) {
  if (at_ == held_.size()) {
    TRY_ASSIGN(const bool more, fill());
    if (!more) return std::size_t{0};
  }
  const std::size_t taken = std::min(size, held_.size() - at_);
  std::memcpy(to, held_.data() + at_, taken);
  at_ += taken;
  return taken;
}

// Takes the line before a chunk; false where it is none, and stays.
Result<bool> ArchivedMessage::begin_chunk() {
  while (true) {
    std::string_view rest = std::string_view(held_).substr(at_);
    // The end of the chunk before.
    const std::size_t begin = rest.starts_with("\r\n") ? 2 : rest.starts_with('\n') ? 1 : 0;
    const std::size_t end = rest.find('\n', begin);
    if (end != std::string_view::npos && end < kChunkLineBytesMax) {
      const auto size = chunk_size(rest.substr(begin, end - begin));
      if (!size) return false;
      at_ += end + 1;
      chunk_left_ = *size;
      done_ = *size == 0;
      return true;
    }
    if (rest.size() >= kChunkLineBytesMax) return false;
    TRY_ASSIGN(const bool more, fill());
    if (more) continue;
    // Broken off between chunks. What is not a line end is still somebody's text.
    rest = std::string_view(held_).substr(at_);
    done_ = rest.find_first_not_of("\r\n") == std::string_view::npos;
    return done_;
  }
}

Result<std::size_t> ArchivedMessage::read(char* to, std::size_t size) {
  if (size == 0) return std::size_t{0};
  while (chunked_ && chunk_left_ == 0 && !done_) {
    TRY_ASSIGN(const bool begun, begin_chunk());
    if (!begun) chunked_ = false;
  }
  if (done_) return std::size_t{0};
  if (!chunked_) return take(to, size);
  TRY_ASSIGN(const std::size_t taken,
             take(to, static_cast<std::size_t>(std::min<std::uint64_t>(size, chunk_left_))));
  chunk_left_ -= taken;
  if (taken == 0) done_ = true;
  return taken;
}

}  // namespace quern::web
