#include "worker/letter_forms.h"

namespace quern::worker {
namespace {

constexpr char32_t kLam = 0x644;

// Shapes of one letter stand side by side: alone, at the end, and for most at the beginning and in
// the middle of a word.
struct Shapes {
  char32_t letter;
  int count;
};
constexpr char32_t kFirstArabic = 0xFE80;
constexpr Shapes kArabic[] = {
    {0x621, 1}, {0x622, 2}, {0x623, 2}, {0x624, 2}, {0x625, 2}, {0x626, 4}, {0x627, 2}, {0x628, 4},
    {0x629, 2}, {0x62A, 4}, {0x62B, 4}, {0x62C, 4}, {0x62D, 4}, {0x62E, 4}, {0x62F, 2}, {0x630, 2},
    {0x631, 2}, {0x632, 2}, {0x633, 4}, {0x634, 4}, {0x635, 4}, {0x636, 4}, {0x637, 4}, {0x638, 4},
    {0x639, 4}, {0x63A, 4}, {0x641, 4}, {0x642, 4}, {0x643, 4}, {0x644, 4}, {0x645, 4}, {0x646, 4},
    {0x647, 4}, {0x648, 2}, {0x649, 2}, {0x64A, 4}};
// Lam with what follows it, two shapes each.
constexpr char32_t kFirstLam = 0xFEF5;
constexpr char32_t kBehindLam[] = {0x622, 0x623, 0x625, 0x627};

struct Run {
  char32_t first;
  Shapes shapes;
};
constexpr Run kPersian[] = {{0xFB56, {0x67E, 4}}, {0xFB7A, {0x686, 4}}, {0xFB8A, {0x698, 2}},
                            {0xFB8E, {0x6A9, 4}}, {0xFB92, {0x6AF, 4}}, {0xFBFC, {0x6CC, 4}}};

constexpr char32_t kFirstLatin = 0xFB00;
constexpr std::u32string_view kLatin[] = {U"ff", U"fi", U"fl", U"ffi", U"ffl", U"st", U"st"};

char32_t arabic_letter(char32_t form) {
  char32_t first = kFirstArabic;
  for (const Shapes& shapes : kArabic) {
    first += static_cast<char32_t>(shapes.count);
    if (form < first) return shapes.letter;
  }
  return form;
}

}  // namespace

void append_plain(std::u32string& letters, char32_t form) {
  if (form >= kFirstLatin && form < kFirstLatin + std::size(kLatin)) {
    letters += kLatin[form - kFirstLatin];
    return;
  }
  if (form >= kFirstLam && form < kFirstLam + 2 * std::size(kBehindLam)) {
    letters += kLam;
    letters += kBehindLam[(form - kFirstLam) / 2];
    return;
  }
  for (const Run& run : kPersian) {
    const bool is_one =
        form >= run.first && form < run.first + static_cast<char32_t>(run.shapes.count);
    if (is_one) form = run.shapes.letter;
  }
  const bool is_arabic = form >= kFirstArabic && form < kFirstLam;
  letters += is_arabic ? arabic_letter(form) : form;
}

}  // namespace quern::worker
