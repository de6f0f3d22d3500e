#include "worker/page_text.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <vector>

#include "worker/text_line.h"

namespace quern::worker {
namespace {

// In parts of the size of a letter.
constexpr float kDoubledLine = 0.25F;
constexpr float kDoubledLetter = 0.1F;
constexpr float kSameBaseline = 0.3F;
constexpr float kSameRow = 0.7F;
constexpr float kRoom = 2.5F;
constexpr float kStackedDown = 1.8F;
constexpr std::size_t kStackedMax = 3;  // letters and the marks behind them
constexpr char32_t kFirstEastAsian = 0x2E80;
constexpr std::size_t kSameTextMax = 64;
// Of what lies on top; the rest goes to the end.
constexpr std::size_t kAddedLinesMax = 2'000;

constexpr char32_t kSoftHyphen = 0xAD;
constexpr char32_t kHyphen = 0x2010;

using Lines = std::vector<TextLine>;

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

Lines lines_of(const fz_stext_page& page) {
  Lines lines;
  int number = 0;
  for (const fz_stext_block* block = page.first_block; block != nullptr; block = block->next) {
    if (block->type != FZ_STEXT_BLOCK_TEXT) continue;
    ++number;
    for (const fz_stext_line* line = block->u.t.first_line; line != nullptr; line = line->next) {
      TextLine found = text_line(*line);
      if (found.letters.empty()) continue;
      found.block = number;
      lines.push_back(std::move(found));
    }
  }
  return lines;
}

bool is_same_row(const TextLine& a, const TextLine& b, float tolerance) {
  return std::abs(a.begin.y - b.begin.y) < tolerance * std::max(a.size, b.size);
}

// Behind the nearest line that stands to its left, else at the end.
void put(Lines& lines, TextLine added) {
  auto nearest = lines.end();
  for (auto line = lines.begin(); line != lines.end(); ++line) {
    if (!is_same_row(*line, added, kSameRow) || line->begin.x > added.begin.x) continue;
    if (nearest == lines.end() || line->begin.x >= nearest->begin.x) nearest = line;
  }
  if (nearest == lines.end()) {
    lines.push_back(std::move(added));
    return;
  }
  added.block = nearest->block;
  added.begin.y = nearest->begin.y;
  lines.insert(nearest + 1, std::move(added));
}

class Reading {
 public:
  explicit Reading(std::uint64_t characters_max) : characters_max_(characters_max) {}

  PageText read(const Lines& lines) {
    for (const TextLine& line : lines) {
      if (!result_.was_cut && !is_shadow(line)) take(line);
    }
    if (!result_.text.empty()) result_.text += '\n';
    return std::move(result_);
  }

 private:
  void take(const TextLine& line) {
    const bool twice = last_ != nullptr && begins_twice(*last_, line);
    if (last_ != nullptr && !twice) part(*last_, line);
    for (const char32_t c : std::u32string_view(line.letters).substr(twice ? 1 : 0)) {
      if (result_.characters >= characters_max_) {
        result_.was_cut = true;
        return;
      }
      append(c);
    }
    last_ = &line;
  }

  void append(char32_t c) {
    if (c == kSoftHyphen) return;
    append_utf8(result_.text, c == kHyphen ? U'-' : c);
    ++result_.characters;
  }

  // What stands between two lines.
  void part(const TextLine& before, const TextLine& line) {
    if (is_stacked(before, line)) return;
    if (is_same_row(before, line, kSameBaseline) && line.begin.x > before.end.x) {
      append('\t');
    } else if (before.letters.back() == kSoftHyphen && goes_on(line.letters[0])) {
      return;
    } else if (is_cut_word(before.letters) && goes_on(line.letters[0])) {
      result_.text.pop_back();
      --result_.characters;
    } else {
      append('\n');
      const float room = std::abs(line.begin.y - before.begin.y);
      if (before.block != line.block && room > kRoom * std::max(line.size, before.size)) {
        append('\n');
      }
    }
  }

  // A bold letter whose second drawing MuPDF takes for the beginning of a line.
  static bool begins_twice(const TextLine& before, const TextLine& line) {
    return before.letters.back() == line.letters[0] &&
           distance(before.end, line.begin) < kDoubledLetter * line.size;
  }

  // Letters of East Asia below one another: a line from top to bottom.
  static bool is_stacked(const TextLine& before, const TextLine& line) {
    const auto is_tall = [](const TextLine& l) {
      return l.letters.size() <= kStackedMax && l.letters[0] >= kFirstEastAsian;
    };
    const float size = std::max(line.size, before.size);
    const float down = line.begin.y - before.begin.y;
    return is_tall(before) && is_tall(line) && down > 0 && down < kStackedDown * size &&
           std::abs(line.begin.x - before.begin.x) < kSameRow * size;
  }

  static bool is_cut_word(const std::u32string& letters) {
    const std::size_t n = letters.size();
    if (n < 3 || (letters[n - 1] != '-' && letters[n - 1] != kHyphen)) return false;
    return is_letter(letters[n - 2]) && is_letter(letters[n - 3]);
  }

  bool is_shadow(const TextLine& line) {
    std::vector<fz_point>& places = seen_[line.letters];
    for (const fz_point& place : places) {
      if (distance(place, line.begin) < kDoubledLine * line.size) return true;
    }
    if (places.size() < kSameTextMax) places.push_back(line.begin);
    return false;
  }

  std::uint64_t characters_max_;
  PageText result_;
  const TextLine* last_ = nullptr;
  std::unordered_map<std::u32string, std::vector<fz_point>> seen_;
};

}  // namespace

PageText page_text(const fz_stext_page& page, const fz_stext_page& added,
                   std::uint64_t characters_max) {
  Lines lines = lines_of(page);
  Lines on_top = lines_of(added);
  const bool few = on_top.size() <= kAddedLinesMax;
  for (TextLine& line : on_top) {
    few ? put(lines, std::move(line)) : lines.push_back(std::move(line));
  }
  return Reading(characters_max).read(lines);
}

}  // namespace quern::worker
