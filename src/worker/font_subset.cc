#include "worker/font_subset.h"

#include <fmt/format.h>
#include <ft2build.h>
#include FT_FREETYPE_H
#include <hb-subset.h>

#include <memory>

namespace quern::worker {
namespace {

// A map has at most a hundred entries in one block.
constexpr std::size_t kMapBlock = 100;

using Face = std::unique_ptr<hb_face_t, void (*)(hb_face_t*)>;
using Blob = std::unique_ptr<hb_blob_t, void (*)(hb_blob_t*)>;

Face make_face(hb_face_t* face) {
  return {face, ::hb_face_destroy};
}

Blob make_blob(std::string_view bytes) {
  return {::hb_blob_create(bytes.data(), static_cast<unsigned>(bytes.size()),
                           HB_MEMORY_MODE_READONLY, nullptr, nullptr),
          ::hb_blob_destroy};
}

std::string bytes_of(hb_blob_t* blob) {
  unsigned size = 0;
  const char* bytes = ::hb_blob_get_data(blob, &size);
  std::string result(bytes, size);
  ::hb_blob_destroy(blob);
  return result;
}

Face subset(hb_face_t* face, const UsedGlyphs& glyphs) {
  const std::unique_ptr<hb_subset_input_t, void (*)(hb_subset_input_t*)> input(
      ::hb_subset_input_create_or_fail(), ::hb_subset_input_destroy);
  if (!input) return make_face(nullptr);
  for (const auto& [glyph, used] : glyphs) {
    ::hb_set_add(::hb_subset_input_glyph_set(input.get()), glyph);
  }
  // What only shaping needs is not for viewers.
  hb_set_t* const dropped = ::hb_subset_input_set(input.get(), HB_SUBSET_SETS_DROP_TABLE_TAG);
  for (const char* tag : {"GSUB", "GPOS", "GDEF", "name", "DSIG", "kern", "BASE", "STAT"}) {
    ::hb_set_add(dropped, ::hb_tag_from_string(tag, -1));
  }
  ::hb_subset_input_set_flags(input.get(), HB_SUBSET_FLAGS_RETAIN_GIDS |
                                               HB_SUBSET_FLAGS_NO_HINTING |
                                               HB_SUBSET_FLAGS_DESUBROUTINIZE);
  return make_face(::hb_subset_or_fail(face, input.get()));
}

unsigned glyphs_in(std::string_view program) {
  FT_Library library = nullptr;
  if (::FT_Init_FreeType(&library) != 0) return 0;
  FT_Face face = nullptr;
  unsigned count = 0;
  if (::FT_New_Memory_Face(library, reinterpret_cast<const FT_Byte*>(program.data()),
                           static_cast<FT_Long>(program.size()), 0, &face) == 0) {
    count = static_cast<unsigned>(face->num_glyphs);
    ::FT_Done_Face(face);
  }
  ::FT_Done_FreeType(library);
  return count;
}

std::string utf16_hex(const std::u32string& letters) {
  std::string hex;
  for (const char32_t c : letters) {
    const auto code = static_cast<unsigned>(c);
    if (code < 0x10000) {
      hex += fmt::format("{:04X}", code);
    } else {
      const unsigned rest = code - 0x10000;
      hex += fmt::format("{:04X}{:04X}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
    }
  }
  return hex;
}

}  // namespace

std::string subset_of_font(std::string_view program, const UsedGlyphs& glyphs) {
  const Blob blob = make_blob(program);
  const Face face = make_face(::hb_face_create(blob.get(), 0));
  const Face small = subset(face.get(), glyphs);
  return small ? bytes_of(::hb_face_reference_blob(small.get())) : "";
}

// HarfBuzz wants tables around it: the least that it understands.
std::string subset_of_cff(std::string_view program, const UsedGlyphs& glyphs) {
  const unsigned count = glyphs_in(program);
  if (count == 0 || count > 0xFFFF) return "";
  const std::string maxp = {0, 0, 0x50, 0, static_cast<char>(count >> 8), static_cast<char>(count)};
  std::string head(54, '\0');
  head[1] = 1;                                   // version
  head.replace(12, 4, "\x5F\x0F\x3C\xF5");       // magic
  head.replace(18, 2, std::string("\x03\xE8"));  // thousandths
  const Face face = make_face(::hb_face_builder_create());
  const std::pair<const char*, std::string_view> tables[] = {
      {"CFF ", program}, {"maxp", maxp}, {"head", head}};
  for (const auto& [tag, bytes] : tables) {
    const Blob blob = make_blob(bytes);
    ::hb_face_builder_add_table(face.get(), ::hb_tag_from_string(tag, -1), blob.get());
  }
  const Blob whole(::hb_face_reference_blob(face.get()), ::hb_blob_destroy);
  const Face readable = make_face(::hb_face_create(whole.get(), 0));
  const Face small = subset(readable.get(), glyphs);
  if (!small) return "";
  return bytes_of(::hb_face_reference_table(small.get(), ::hb_tag_from_string("CFF ", -1)));
}

std::string unicode_map(const UsedGlyphs& glyphs) {
  std::string map =
      "/CIDInit/ProcSet findresource begin 12 dict begin begincmap"
      "/CIDSystemInfo<</Registry(Adobe)/Ordering(UCS)/Supplement 0>>def"
      "/CMapName/Adobe-Identity-UCS def/CMapType 2 def\n"
      "1 begincodespacerange<0000><FFFF>endcodespacerange\n";
  std::string block;
  std::size_t count = 0;
  const auto end_block = [&] {
    if (count > 0) map += fmt::format("{} beginbfchar\n{}endbfchar\n", count, block);
    block.clear();
    count = 0;
  };
  for (const auto& [glyph, used] : glyphs) {
    if (used.letters.empty()) continue;
    block += fmt::format("<{:04X}><{}>\n", glyph, utf16_hex(used.letters));
    if (++count == kMapBlock) end_block();
  }
  end_block();
  return map + "endcmap CMapName currentdict/CMap defineresource pop end end";
}

}  // namespace quern::worker
