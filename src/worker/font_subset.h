// Programs of fonts with only those glyphs that are used; each keeps its number.
#pragma once

#include <string>
#include <string_view>

#include "worker/glyph_use.h"

namespace quern::worker {

// TrueType and OpenType. "" where it cannot be done, as with the next one.
std::string subset_of_font(std::string_view program, const UsedGlyphs& glyphs);
// CFF without any tables around it, as MuPDF carries its own fonts.
std::string subset_of_cff(std::string_view program, const UsedGlyphs& glyphs);

// For PDF: which letters the glyphs stand for.
std::string unicode_map(const UsedGlyphs& glyphs);

}  // namespace quern::worker
