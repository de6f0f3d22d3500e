#include "worker/page_text.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <vector>

#include "worker/reading_order.h"

namespace quern::worker {
namespace {

// Both in parts of the size of a letter. The narrowest letters are two tenths wide.
constexpr float kDoubledLetter = 0.1F;
constexpr float kDoubledLine = 0.25F;
constexpr float kSameBaseline = 0.3F;
constexpr std::size_t kSameTextMax = 64;

constexpr int kSoftHyphen = 0xAD;
constexpr int kHyphen = 0x2010;

float distance(fz_point a, fz_point b) {
  return std::hypot(a.x - b.x, a.y - b.y);
}

bool is_letter(char32_t c) {
  const bool ascii = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return ascii || (c >= 0xC0 && c < 0x2000 && c != 0xD7 && c != 0xF7);
}

// What goes on in the middle of a word: small letters of Latin, Greek and Cyrillic, and whatever
// has no capitals.
bool goes_on(char32_t c) {
  if (c < 0x80) return c >= 'a' && c <= 'z';
  if (c >= 0xC0 && c < 0xDF) return false;
  if (c >= 0x100 && c < 0x180) return (c & 1) != 0;
  if (c >= 0x391 && c <= 0x3A9) return false;
  if (c >= 0x400 && c < 0x430) return false;
  return is_letter(c);
}

void append_utf8(std::string& text, char32_t c) {
  char bytes[8];
  text.append(bytes, static_cast<std::size_t>(::fz_runetochar(bytes, static_cast<int>(c))));
}

// Of one line, without letters that were drawn twice.
struct Line {
  std::u32string letters;
  fz_point begin{};
  fz_point end{};
  float size = 0;
};

Line line_of(const fz_stext_line& source) {
  Line line;
  std::vector<PlacedLetter> placed;
  const fz_stext_char* before = nullptr;
  for (const fz_stext_char* c = source.first_char; c != nullptr; c = c->next) {
    const bool twice = before != nullptr && before->c == c->c && c->c != ' ' &&
                       distance(before->origin, c->origin) < kDoubledLetter * c->size;
    if (twice) continue;
    if (before == nullptr) line.begin = c->origin;
    before = c;
    line.end = c->origin;
    line.size = std::max(line.size, c->size);
    if (c->c >= ' ' && c->c != 0x7F) {
      placed.push_back({static_cast<char32_t>(c->c), c->origin.x});
    }
  }
  to_reading_order(placed);
  for (const PlacedLetter& letter : placed) line.letters += letter.letter;
  while (!line.letters.empty() && line.letters.back() == ' ') line.letters.pop_back();
  return line;
}

class Reading {
 public:
  explicit Reading(std::uint64_t characters_max) : characters_max_(characters_max) {}

  PageText read(const fz_stext_page& page) {
    for (const fz_stext_block* block = page.first_block; block != nullptr; block = block->next) {
      if (block->type != FZ_STEXT_BLOCK_TEXT) continue;
      is_first_of_block_ = true;
      for (const fz_stext_line* line = block->u.t.first_line; line != nullptr; line = line->next) {
        take(line_of(*line));
        if (result_.was_cut) return finished();
      }
    }
    return finished();
  }

 private:
  void take(const Line& line) {
    if (line.letters.empty() || is_shadow(line)) return;
    if (!is_first_) part(line);
    for (const char32_t c : line.letters) {
      if (result_.characters >= characters_max_) {
        result_.was_cut = true;
        return;
      }
      append(c);
    }
    last_ = line;
    is_first_ = is_first_of_block_ = false;
  }

  void append(char32_t c) {
    // Kept back: the next line decides.
    if (c == kSoftHyphen) return;
    append_utf8(result_.text, c == kHyphen ? U'-' : c);
    ++result_.characters;
  }

  // What stands between the last line and this one.
  void part(const Line& line) {
    const bool beside = !is_first_of_block_ && is_beside(line);
    if (beside) {
      append('\t');
    } else if (last_.letters.back() == kSoftHyphen && goes_on(line.letters[0])) {
      return;
    } else if (is_cut_word(line)) {
      result_.text.pop_back();
      --result_.characters;
    } else {
      append('\n');
      if (is_first_of_block_) append('\n');
    }
  }

  bool is_beside(const Line& line) const {
    return std::abs(line.begin.y - last_.begin.y) < kSameBaseline * line.size &&
           line.begin.x > last_.end.x;
  }

  bool is_cut_word(const Line& line) const {
    const std::u32string& before = last_.letters;
    if (before.size() < 3 || (before.back() != '-' && before.back() != kHyphen)) return false;
    return is_letter(before[before.size() - 2]) && is_letter(before[before.size() - 3]) &&
           goes_on(line.letters[0]);
  }

  bool is_shadow(const Line& line) {
    std::vector<fz_point>& places = seen_[line.letters];
    for (const fz_point& place : places) {
      if (distance(place, line.begin) < kDoubledLine * line.size) return true;
    }
    if (places.size() < kSameTextMax) places.push_back(line.begin);
    return false;
  }

  PageText finished() {
    if (!result_.text.empty()) result_.text += '\n';
    return std::move(result_);
  }

  std::uint64_t characters_max_;
  PageText result_;
  Line last_;
  bool is_first_ = true;
  bool is_first_of_block_ = true;
  std::unordered_map<std::u32string, std::vector<fz_point>> seen_;
};

}  // namespace

PageText page_text(const fz_stext_page& page, std::uint64_t characters_max) {
  return Reading(characters_max).read(page);
}

}  // namespace quern::worker
