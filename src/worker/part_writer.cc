#include "worker/part_writer.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "base/check.h"

namespace quern::worker {
namespace {

constexpr std::size_t kBoundaryLetters = 50;

std::int64_t now_ms() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

std::string head_of(std::string_view boundary) {
  return fmt::format("--{}\r\nContent-Disposition: form-data; name=\"", boundary);
}

}  // namespace

PartWriter::PartWriter(int descriptor, std::string boundary)
    : descriptor_(descriptor), delimiter_(head_of(boundary)), flushed_ms_(now_ms()) {
  buffer_.reserve(kPartBufferBytes);
}

void PartWriter::part(std::string_view name, std::string_view body) {
  begin(name);
  write(body);
  end();
}

void PartWriter::begin(std::string_view name) {
  append(delimiter_);
  append(name);
  append("\"\r\n\r\n");
}

void PartWriter::write(std::string_view bytes) {
  append(bytes);
}

void PartWriter::end() {
  append("\r\n");
  flush_if_old();
}

void PartWriter::append(std::string_view bytes) {
  while (bytes.size() > kPartBufferBytes - buffer_.size()) {
    const std::size_t room = kPartBufferBytes - buffer_.size();
    buffer_.append(bytes.substr(0, room));
    bytes.remove_prefix(room);
    flush();
  }
  buffer_.append(bytes);
}

void PartWriter::flush_if_old() {
  if (now_ms() - flushed_ms_ >= kPartFlushMs) flush();
}

void PartWriter::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const ssize_t n = ::write(descriptor_, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) ::_exit(1);
    rest.remove_prefix(static_cast<std::size_t>(n));
    bytes_written_ += static_cast<std::uint64_t>(n);
  }
  buffer_.clear();
  flushed_ms_ = now_ms();
}

std::string make_boundary() {
  constexpr std::string_view kLetters =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz__";
  unsigned char random[kBoundaryLetters];
  CHECK(::getrandom(random, sizeof random, 0) == sizeof random);
  std::string boundary;
  for (const unsigned char byte : random) boundary += kLetters[byte % kLetters.size()];
  return boundary;
}

std::string closing(std::string_view boundary) {
  return fmt::format("--{}--", boundary);
}

std::string part_text(std::string_view boundary, std::string_view name, std::string_view body) {
  return fmt::format("{}{}\"\r\n\r\n{}\r\n", head_of(boundary), name, body);
}

}  // namespace quern::worker
