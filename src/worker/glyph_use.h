// Which glyphs of which fonts pages use, and fonts of a PDF without all the others.
//
// MuPDF embeds whole fonts: a letter of a few lines would carry some hundred KiB.
#pragma once

#include <map>
#include <string>

#include <mupdf/fitz.h>
#include <mupdf/pdf.h>

namespace quern::worker {

struct UsedGlyph {
  std::u32string letters;  // that it stands for
  int width = 0;           // in thousandths of its size
};
// In order, so that the bytes are always the same.
using UsedGlyphs = std::map<unsigned, UsedGlyph>;

class GlyphUse {
 public:
  // May jump, as every call of MuPDF does.
  void add(fz_context* ctx, fz_page* page, fz_cookie* cookie);
  // Fonts that cannot be made smaller stay as they are.
  void shrink_fonts(fz_context* ctx, pdf_document* pdf) const;

  void add(fz_context* ctx, const fz_text& text);

 private:
  std::map<std::string, UsedGlyphs, std::less<>> fonts_;  // by their names
};

}  // namespace quern::worker
