#include "worker/reading_order.h"

#include <algorithm>

namespace quern::worker {
namespace {

using Letters = std::vector<PlacedLetter>;

enum class Direction { Right, Left, Number, None };  // Left: from right to left

bool is_number(char32_t c) {
  return (c >= '0' && c <= '9') || (c >= 0x660 && c <= 0x669) || (c >= 0x6F0 && c <= 0x6F9);
}

Direction direction_of(char32_t c) {
  if (is_number(c)) return Direction::Number;
  if ((c >= 0x590 && c < 0x900) || (c >= 0xFB1D && c < 0xFE00) || (c >= 0xFE70 && c < 0xFEFF)) {
    return Direction::Left;
  }
  const bool ascii = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  const bool other = c >= 0xC0 && (c < 0x2000 || c >= 0x2C00);
  return ascii || other ? Direction::Right : Direction::None;
}

// Letters of one glyph stand in one place; their order stays.
void reverse_glyphs(Letters::iterator begin, Letters::iterator end) {
  std::reverse(begin, end);
  for (auto first = begin; first != end;) {
    auto last = first + 1;
    while (last != end && last->x == first->x) ++last;
    std::reverse(first, last);
    first = last;
  }
}

// Whether the letters from right to left stand from left to right.
bool stands_as_seen(const Letters& line) {
  int growing = 0;
  for (std::size_t i = 1; i < line.size(); ++i) {
    const bool both = direction_of(line[i].letter) == Direction::Left &&
                      direction_of(line[i - 1].letter) == Direction::Left;
    if (!both || line[i].x == line[i - 1].x) continue;
    growing += line[i].x > line[i - 1].x ? 1 : -1;
  }
  return growing > 0;
}

// Runs that begin and end with a letter that is wanted, whatever else stands in between that has
// no direction of its own.
template <typename Wanted>
void reverse_runs(Letters& line, const Wanted& wanted) {
  for (auto begin = line.begin(); begin != line.end();) {
    if (!wanted(direction_of(begin->letter))) {
      ++begin;
      continue;
    }
    auto end = begin + 1;
    for (auto at = end; at != line.end(); ++at) {
      const Direction direction = direction_of(at->letter);
      if (wanted(direction)) {
        end = at + 1;
      } else if (direction != Direction::None) {
        break;
      }
    }
    reverse_glyphs(begin, end);
    begin = end;
  }
}

// The whole line's: what stands at both of its ends, or most of it.
Direction direction_of(const Letters& line) {
  std::vector<Direction> strong;
  for (const PlacedLetter& placed : line) {
    const Direction direction = direction_of(placed.letter);
    if (direction == Direction::Left || direction == Direction::Right) strong.push_back(direction);
  }
  if (strong.empty() || strong.front() == strong.back()) {
    return strong.empty() ? Direction::Right : strong.front();
  }
  const auto left = std::count(strong.begin(), strong.end(), Direction::Left);
  return static_cast<std::size_t>(left) * 2 >= strong.size() ? Direction::Left : Direction::Right;
}

}  // namespace

void to_reading_order(Letters& line) {
  if (!stands_as_seen(line)) return;
  // Words may have been placed in another order than their letters.
  std::stable_sort(line.begin(), line.end(),
                   [](const PlacedLetter& a, const PlacedLetter& b) { return a.x < b.x; });
  if (direction_of(line) == Direction::Right) {
    reverse_runs(line, [](Direction d) { return d == Direction::Left; });
    return;
  }
  reverse_glyphs(line.begin(), line.end());
  reverse_runs(line, [](Direction d) { return d == Direction::Right || d == Direction::Number; });
}

}  // namespace quern::worker
