// A line of a page: its letters as they are read, and where it stands.
//
// Blanks that a PDF only leaves room for are put in; letters that were drawn twice to look bold
// are there once.
#pragma once

#include <cmath>
#include <string>

#include <mupdf/fitz.h>

namespace quern::worker {

struct TextLine {
  std::u32string letters;
  fz_point begin{};  // of the first and the last letter, on the line that they stand on
  fz_point end{};
  float size = 0;  // of its largest letter
  int block = 0;   // lines of one paragraph have the same
};

TextLine text_line(const fz_stext_line& line);

inline float distance(fz_point a, fz_point b) {
  return std::hypot(a.x - b.x, a.y - b.y);
}

}  // namespace quern::worker
