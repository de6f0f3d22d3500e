// BodyWriter: makes a Body, in memory while it is short. One thread.
#pragma once

#include <filesystem>
#include <limits>

#include "web/fetcher.h"

namespace quern::web {

class BodyWriter {
 public:
  // Beyond the limit add() says TooLarge; what fits is kept.
  explicit BodyWriter(std::filesystem::path spool,
                      std::int64_t bytes_max = std::numeric_limits<std::int64_t>::max())
      : spool_(std::move(spool)), bytes_max_(bytes_max) {}

  Result<> add(std::string_view bytes);
  std::int64_t size() const { return size_; }
  // What was written so far; last.
  Body finish();
  // One that is in memory whatever its size.
  static Body in_memory(std::string bytes);
  // The bytes of a file, as many as it has now; it may lose its name, and must not change.
  static Result<Body> of_file(const std::filesystem::path& file);

 private:
  std::filesystem::path spool_;
  std::int64_t bytes_max_;
  std::int64_t size_ = 0;
  std::string data_;
  io::Descriptor file_;
};

}  // namespace quern::web
