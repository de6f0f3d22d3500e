#include "worker/text_layout.h"

#include <algorithm>

#include "worker/columns.h"
#include "worker/win_ansi.h"

namespace quern::worker {
namespace {

bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

int columns_of_character(std::string_view character) {
  return character.size() == 1 ? 1 : columns_of(next_code_point(character));
}

class LineBreaker {
 public:
  explicit LineBreaker(std::size_t pages_max) : pages_max_(pages_max) {
    layout_.pages.emplace_back();
  }

  bool full() const { return layout_.was_cut; }
  Layout take() {
    if (!line_.empty()) end_line();
    return std::move(layout_);
  }

  void end_line() {
    if (layout_.pages.back().size() == kLines) end_page();
    if (full()) return;
    while (!line_.empty() && line_.back() == ' ') line_.pop_back();
    layout_.pages.back().push_back(std::move(line_));
    line_.clear();
    columns_ = 0;
  }

  void end_page() {
    if (layout_.pages.size() == pages_max_) {
      layout_.was_cut = true;
    } else {
      layout_.pages.emplace_back();
    }
  }

  void add(std::string_view character) {
    const int columns = columns_of_character(character);
    if (columns_ + columns > kColumns) wrap();
    line_ += character;
    columns_ += columns;
  }

  void tab() {
    const int stop = std::min((columns_ / kTabColumns + 1) * kTabColumns, kColumns);
    while (columns_ < stop) add(" ");
  }

 private:
  // At the last blank, unless that would leave less than half a line.
  void wrap() {
    const std::size_t blank = line_.rfind(' ');
    std::string rest;
    if (blank != std::string::npos && blank > line_.size() / 2) {
      rest = line_.substr(blank + 1);
      line_.resize(blank);
    }
    end_line();
    line_ = std::move(rest);
    columns_ = 0;
    std::string_view left = line_;
    while (!left.empty()) columns_ += columns_of(next_code_point(left));
  }

  std::size_t pages_max_;
  Layout layout_;
  std::string line_;
  int columns_ = 0;
};

}  // namespace

Layout lay_out(std::string_view text, std::size_t pages_max) {
  LineBreaker breaker(pages_max);
  for (std::size_t at = 0; at < text.size() && !breaker.full();) {
    std::size_t end = at + 1;
    while (end < text.size() && !begins_character(text[end])) ++end;
    const std::string_view character = text.substr(at, end - at);
    at = end;
    if (character == "\n") {
      breaker.end_line();
    } else if (character == "\f") {
      breaker.end_line();
      breaker.end_page();
    } else if (character == "\t") {
      breaker.tab();
    } else {
      breaker.add(character);
    }
  }
  return breaker.take();
}

}  // namespace quern::worker
