#include "worker/embedded_font.h"

#include <fmt/format.h>
#include <hb-subset.h>

#include "worker/font_subset.h"

namespace quern::worker {

void EmbeddedFont::use(unsigned glyph, const std::u32string& letters) {
  std::u32string& known = glyphs_[glyph].letters;
  if (known.empty()) known = letters;
}

// Glyphs keep their numbers: pages are written before the last glyph is known. The numbers between
// are empty, and cost little once compressed; where the font names its glyphs by number, it need
// not even have them.
std::string EmbeddedFont::subset() const {
  hb_subset_input_t* input = ::hb_subset_input_create_or_fail();
  if (input == nullptr) return "";
  for (const auto& [glyph, used] : glyphs_) {
    ::hb_set_add(::hb_subset_input_glyph_set(input), glyph);
  }
  // What only shaping needs is not for viewers.
  hb_set_t* dropped = ::hb_subset_input_set(input, HB_SUBSET_SETS_DROP_TABLE_TAG);
  for (const char* tag : {"GSUB", "GPOS", "GDEF", "name", "DSIG", "kern", "BASE", "STAT"}) {
    ::hb_set_add(dropped, ::hb_tag_from_string(tag, -1));
  }
  const unsigned numbers = font_.is_cid_keyed ? 0 : HB_SUBSET_FLAGS_RETAIN_GIDS;
  ::hb_subset_input_set_flags(
      input, numbers | HB_SUBSET_FLAGS_NO_HINTING | HB_SUBSET_FLAGS_DESUBROUTINIZE);
  hb_face_t* face = ::hb_subset_or_fail(font_.face, input);
  ::hb_subset_input_destroy(input);
  if (face == nullptr) return "";
  hb_blob_t* blob = ::hb_face_reference_blob(face);
  unsigned size = 0;
  const char* bytes = ::hb_blob_get_data(blob, &size);
  std::string result(bytes, size);
  ::hb_blob_destroy(blob);
  ::hb_face_destroy(face);
  return result;
}

std::string EmbeddedFont::widths() const {
  std::string list;
  for (const auto& [glyph, used] : glyphs_) {
    list += fmt::format("{}[{}]", glyph, font_.advance_of(glyph));
  }
  return list;
}

int EmbeddedFont::write(PdfFile& file) const {
  const std::string name = "QUERNF+" + font_.name;
  const bool cff = font_.outlines_are_cff;
  const std::string bytes = subset();
  const int program = cff ? file.add_stream("/Subtype/OpenType", bytes)
                          : file.add_stream(fmt::format("/Length1 {}", bytes.size()), bytes);
  const int descriptor = file.add(
      fmt::format("<</Type/FontDescriptor/FontName/{}/Flags 4/FontBBox[-200 -300 1200 1000]"
                  "/ItalicAngle 0/Ascent 900/Descent -250/CapHeight 700/StemV 80/{} {} 0 R>>",
                  name, cff ? "FontFile3" : "FontFile2", program));
  const int cid_font = file.add(fmt::format(
      "<</Type/Font/Subtype/{}/BaseFont/{}/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)"
      "/Supplement 0>>/FontDescriptor {} 0 R/DW 1000/W[{}]{}>>",
      cff ? "CIDFontType0" : "CIDFontType2", name, descriptor, widths(),
      cff ? "" : "/CIDToGIDMap/Identity"));
  const int map = file.add_stream("", unicode_map(glyphs_));
  return file.add(
      fmt::format("<</Type/Font/Subtype/Type0/BaseFont/{}/Encoding/Identity-H"
                  "/DescendantFonts[{} 0 R]/ToUnicode {} 0 R>>",
                  name, cid_font, map));
}

}  // namespace quern::worker
