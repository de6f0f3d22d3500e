// EmbeddedFont: the glyphs of a font that a PDF uses, and the objects that carry them.
#pragma once

#include <string>

#include "worker/fonts.h"
#include "worker/glyph_use.h"
#include "worker/pdf_file.h"

namespace quern::worker {

class EmbeddedFont {
 public:
  explicit EmbeddedFont(const Font& font) : font_(font) {}

  // Before write(). The first letters that a glyph stands for count.
  void use(unsigned glyph, const std::u32string& letters);
  // Adds its objects; the number of the font's.
  int write(PdfFile& file) const;

 private:
  std::string subset() const;
  std::string widths() const;

  const Font& font_;
  UsedGlyphs glyphs_;
};

}  // namespace quern::worker
