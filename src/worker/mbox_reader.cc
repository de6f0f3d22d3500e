#include "worker/mbox_reader.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace quern::worker {
namespace {

constexpr std::size_t kBufferBytes = 512 * 1024;
// Seen ahead at any time: a separator and the line behind it.
constexpr std::size_t kAheadBytes = 8 * 1024;
constexpr std::size_t kPieceBytesMax = 64 * 1024;
constexpr std::size_t kHeadBytesMax = 64 * 1024;
constexpr std::size_t kSeparatorBytesMax = 1024;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool has_time(std::string_view line) {
  for (std::size_t i = 1; i + 2 < line.size(); ++i) {
    if (line[i] == ':' && is_digit(line[i - 1]) && is_digit(line[i + 1]) && is_digit(line[i + 2])) {
      return true;
    }
  }
  return false;
}

bool has_month(std::string_view line) {
  constexpr std::array kMonths = {" Jan ", " Feb ", " Mar ", " Apr ", " May ", " Jun ",
                                  " Jul ", " Aug ", " Sep ", " Oct ", " Nov ", " Dec "};
  return std::any_of(kMonths.begin(), kMonths.end(), [line](const char* month) {
    return line.find(month) != std::string_view::npos;
  });
}

// "Name: value"; a mail that was moved between mailboxes may have another separator first.
bool is_head_line(std::string_view line) {
  if (line.starts_with(">From ")) return true;
  const std::size_t end = line.find_first_of(": \t\r\n");
  return end != std::string_view::npos && end > 0 && line[end] == ':';
}

bool is_blank(std::string_view line) {
  return line == "\n" || line == "\r\n";
}

// ">From ", ">>From ".
bool is_quoted_from(std::string_view line) {
  const std::size_t quotes = line.find_first_not_of('>');
  return quotes != std::string_view::npos && quotes > 0 && line.substr(quotes).starts_with("From ");
}

}  // namespace

MboxReader::MboxReader(const StepInput& input) : input_(input) {
  fill();
}

void MboxReader::fill() {
  if (buffer_.size() - at_ >= kAheadBytes + kPieceBytesMax) return;
  buffer_.erase(0, at_);
  at_ = 0;
  while (buffer_.size() < kBufferBytes && file_position_ < input_.bytes) {
    const std::size_t had = buffer_.size();
    const std::size_t room =
        std::min<std::uint64_t>(kBufferBytes - had, input_.bytes - file_position_);
    buffer_.resize(had + room);
    const ssize_t n =
        ::pread(input_.descriptor, buffer_.data() + had, room, static_cast<off_t>(file_position_));
    buffer_.resize(had + (n > 0 ? static_cast<std::size_t>(n) : 0));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) input_.bytes = file_position_;
    file_position_ += n > 0 ? static_cast<std::uint64_t>(n) : 0;
  }
}

std::string_view MboxReader::line_at(std::size_t at) const {
  const std::string_view rest = std::string_view(buffer_).substr(std::min(at, buffer_.size()));
  return rest.substr(0, std::min(rest.find('\n'), rest.size() - 1) + 1);
}

bool MboxReader::at_separator() {
  fill();
  if (!at_line_begin_ || !std::string_view(buffer_).substr(at_).starts_with("From ")) return false;
  const std::string_view line = line_at(at_);
  if (line.size() > kSeparatorBytesMax || !has_time(line)) return false;
  // Some programs forget the empty line.
  if (!after_blank_ && !has_month(line)) return false;
  const std::string_view next = line_at(at_ + line.size());
  // A mail may have no head at all.
  return is_head_line(next) || (after_blank_ && has_month(line) && is_blank(next));
}

MboxReader::Piece MboxReader::piece() {
  if (at_ == buffer_.size() || at_separator()) return {};
  Piece piece{line_at(at_).substr(0, kPieceBytesMax), at_line_begin_};
  at_ += piece.text.size();
  after_blank_ = piece.begins_line && is_blank(piece.text);
  at_line_begin_ = piece.text.ends_with('\n');
  return piece;
}

bool MboxReader::next() {
  if (found_separator_) read([](std::string_view) {});
  skip_blank_lines();
  if (!at_separator()) return false;
  found_separator_ = true;
  while (at_separator()) {
    at_ += line_at(at_).size();
    after_blank_ = false;
    fill();
  }
  head_.clear();
  while (head_.size() < kHeadBytesMax) {
    const Piece line = piece();
    head_ += line.text;
    if (line.text.empty() || (line.begins_line && is_blank(line.text))) break;
  }
  return true;
}

void MboxReader::skip_blank_lines() {
  while (at_ < buffer_.size() && is_blank(line_at(at_))) {
    at_ += line_at(at_).size();
    after_blank_ = true;
    fill();
  }
}

void MboxReader::read(const ByteSink& sink) {
  sink(head_);
  head_.clear();
  std::string_view blank;  // the one before a separator belongs to that
  for (;;) {
    const Piece line = piece();
    if (line.text.empty()) break;
    sink(blank);
    blank = {};
    if (line.begins_line && is_blank(line.text)) {
      blank = line.text.size() == 1 ? "\n" : "\r\n";
    } else if (line.begins_line && is_quoted_from(line.text)) {
      sink(line.text.substr(1));
    } else {
      sink(line.text);
    }
  }
  if (at_ == buffer_.size()) sink(blank);
}

}  // namespace quern::worker
