#include "worker/text_line.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "worker/letter_forms.h"
#include "worker/reading_order.h"

namespace quern::worker {
namespace {

// All in parts of the size of a letter. The narrowest letters are two tenths wide.
constexpr float kDoubledLetter = 0.1F;
// Between two words at least, and more than between most letters of the line.
constexpr float kBlank = 0.11F;
constexpr float kBlankBeyondUsual = 0.09F;

using Letters = std::vector<const fz_stext_char*>;

Letters letters_of(const fz_stext_line& line) {
  Letters letters;
  for (const fz_stext_char* c = line.first_char; c != nullptr; c = c->next) {
    const bool twice = !letters.empty() && letters.back()->c == c->c && c->c != ' ' &&
                       distance(letters.back()->origin, c->origin) < kDoubledLetter * c->size;
    if (!twice && c->c >= ' ' && c->c != 0x7F) letters.push_back(c);
  }
  return letters;
}

// How much room is between two letters along their line, in parts of their size.
float gap_between(const fz_stext_line& line, const fz_stext_char& a, const fz_stext_char& b) {
  const auto along = [&line](fz_point p) { return p.x * line.dir.x + p.y * line.dir.y; };
  const float ahead = along(b.quad.ll) - along(a.quad.lr);
  const float behind = along(a.quad.ll) - along(b.quad.lr);
  const float size = std::max(std::min(a.size, b.size), 0.01F);
  return std::max({ahead, behind, 0.0F}) / size;
}

std::vector<float> gaps_of(const fz_stext_line& line, const Letters& letters) {
  std::vector<float> gaps;
  for (std::size_t i = 1; i < letters.size(); ++i) {
    const bool blank = letters[i]->c == ' ' || letters[i - 1]->c == ' ';
    gaps.push_back(blank || line.wmode != 0 ? 0 : gap_between(line, *letters[i - 1], *letters[i]));
  }
  return gaps;
}

// Letters that are set apart on purpose are no words.
float blank_from(std::vector<float> gaps) {
  if (gaps.size() < 3) return kBlank;
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::nth_element(gaps.begin(), middle, gaps.end());
  return std::max(kBlank, *middle + kBlankBeyondUsual);
}

}  // namespace

TextLine text_line(const fz_stext_line& source) {
  TextLine line;
  const Letters letters = letters_of(source);
  if (letters.empty()) return line;
  const std::vector<float> gaps = gaps_of(source, letters);
  const float blank = blank_from(gaps);
  std::vector<PlacedLetter> placed;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const fz_stext_char& c = *letters[i];
    if (i > 0 && gaps[i - 1] > blank) placed.push_back({U' ', c.origin.x});
    placed.push_back({static_cast<char32_t>(c.c), c.origin.x});
    line.size = std::max(line.size, c.size);
  }
  line.begin = letters.front()->origin;
  line.end = letters.back()->origin;
  to_reading_order(placed);
  for (const PlacedLetter& letter : placed) append_plain(line.letters, letter.letter);
  while (!line.letters.empty() && line.letters.back() == ' ') line.letters.pop_back();
  return line;
}

}  // namespace quern::worker
