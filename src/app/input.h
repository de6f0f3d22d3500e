// Input: what a command reads from a file or, where that is "-", from standard input.
//
// These block: a command that serves others meanwhile reads on another thread.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "io/file.h"

namespace quern::app {

// TooLarge beyond bytes_max.
Result<std::string> read_input(const std::string& file, std::size_t bytes_max);

// Whole lines, a piece at a time. One thread at a time.
class LineInput {
 public:
  static Result<LineInput> open(const std::string& file);

  struct Piece {
    std::string text;  // empty: there is no more
    std::int64_t lines = 0;
  };
  // As many lines as fit into both; at least one, however long it is, up to twice bytes_max.
  Result<Piece> next(std::int64_t lines_max, std::size_t bytes_max);

 private:
  explicit LineInput(std::optional<io::FileReader> file) : file_(std::move(file)) {}
  Result<> read_more();

  std::optional<io::FileReader> file_;  // none: standard input
  std::int64_t offset_ = 0;
  std::string pending_;
  bool ended_ = false;
};

}  // namespace quern::app
