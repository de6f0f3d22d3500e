#include "app/input.h"

#include <cstdio>

namespace quern::app {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;

Result<std::size_t> read_standard(std::span<char> into) {
  const std::size_t bytes = std::fread(into.data(), 1, into.size(), stdin);
  if (bytes < into.size() && std::ferror(stdin) != 0) {
    return Error{Errc::Unavailable, "standard input cannot be read"};
  }
  return bytes;
}

}  // namespace

Result<std::string> read_input(const std::string& file, std::size_t bytes_max) {
  if (file != "-") return io::read_file(file, bytes_max);
  std::string all(bytes_max + 1, '\0');
  TRY_ASSIGN(const std::size_t bytes, read_standard(all));
  if (bytes > bytes_max) {
    return Error{Errc::TooLarge,
                 "standard input has more than " + std::to_string(bytes_max) + " bytes"};
  }
  all.resize(bytes);
  return all;
}

Result<LineInput> LineInput::open(const std::string& file) {
  if (file == "-") return LineInput(std::nullopt);
  TRY_ASSIGN(io::FileReader reader, io::FileReader::open(file));
  return LineInput(std::move(reader));
}

Result<> LineInput::read_more() {
  const std::size_t had = pending_.size();
  pending_.resize(had + kReadBytes);
  const std::span<char> room = std::span(pending_).subspan(had);
  const Result<std::size_t> bytes = file_ ? file_->read_at(offset_, room) : read_standard(room);
  pending_.resize(had + (bytes.ok() ? *bytes : 0));
  if (!bytes.ok()) return bytes.error();
  offset_ += static_cast<std::int64_t>(*bytes);
  ended_ = *bytes == 0;
  return {};
}

Result<LineInput::Piece> LineInput::next(std::int64_t lines_max, std::size_t bytes_max) {
  Piece piece;
  std::size_t end = 0;  // of the whole lines so far
  while (piece.lines < lines_max) {
    const std::size_t line_end = pending_.find('\n', end);
    if (line_end != std::string::npos) {
      if (piece.lines > 0 && line_end >= bytes_max) break;
      end = line_end + 1;
      ++piece.lines;
    } else if (ended_ || pending_.size() > 2 * bytes_max) {
      if (end < pending_.size() && (piece.lines == 0 || ended_)) {
        ++piece.lines;
        end = pending_.size();
      }
      break;
    } else if (end >= bytes_max) {
      break;
    } else {
      TRY(read_more());
    }
  }
  piece.text = pending_.substr(0, end);
  pending_.erase(0, end);
  return piece;
}

}  // namespace quern::app
