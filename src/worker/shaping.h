// Shaping: a line of text becomes runs of glyphs, in the order in which they stand on the page.
//
// Runs of letters that PDF viewers have are kept as such. Others get a font each and are shaped:
// joined, reordered, right to left where their script is. No run takes more than the columns that
// its letters have in the grid. Widths are in thousandths of the font's size.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "worker/fonts.h"

namespace quern::worker {

inline constexpr int kColumnUnits = 600;  // the width of each letter of Courier

struct Glyph {
  unsigned id = 0;
  int x = 0;  // from the run's beginning
  int y = 0;
  std::u32string letters;  // what it stands for; "" where another of its run does
};

struct GlyphRun {
  const Font* font = nullptr;  // null: `plain` in the viewer's own font
  std::string plain;           // WinAnsi
  std::vector<Glyph> glyphs;
  int x = 0;      // of its beginning, from that of the line
  int width = 0;  // as shaped
  int room = 0;   // what its letters may take in the grid; wider ones are made narrower

  int taken() const { return width < room ? width : room; }
};

struct ShapedLine {
  std::vector<GlyphRun> runs;
  int width = 0;
  bool right_to_left = false;  // it begins at the right margin
};

// Of valid UTF-8.
ShapedLine shape_line(std::string_view line);

// Whether all its letters are among those of PDF viewers.
bool is_plain(std::string_view line);

}  // namespace quern::worker
