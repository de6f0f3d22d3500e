#include "worker/fonts.h"

#include <mupdf/fitz.h>
#include <mupdf/ucdn.h>

#include <hb-ot.h>

#include "io/file.h"
#include "worker/mupdf_context.h"

namespace quern::worker {
namespace {

constexpr char kMonoPath[] = "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf";
constexpr std::size_t kFontBytesMax = 16 * 1024 * 1024;

// Letters of these scripts are as wide as Courier's in a font of equal widths.
bool fits_mono(int script) {
  switch (script) {
    case UCDN_SCRIPT_COMMON:
    case UCDN_SCRIPT_INHERITED:
    case UCDN_SCRIPT_LATIN:
    case UCDN_SCRIPT_GREEK:
    case UCDN_SCRIPT_CYRILLIC:
    case UCDN_SCRIPT_ARMENIAN:
    case UCDN_SCRIPT_GEORGIAN:
      return true;
    default:
      return false;
  }
}

bool is_east_asian(int script) {
  return script == UCDN_SCRIPT_HAN || script == UCDN_SCRIPT_HIRAGANA ||
         script == UCDN_SCRIPT_KATAKANA || script == UCDN_SCRIPT_HANGUL ||
         script == UCDN_SCRIPT_BOPOMOFO;
}

bool has_table(hb_face_t* face, hb_tag_t tag) {
  hb_blob_t* table = ::hb_face_reference_table(face, tag);
  const bool there = ::hb_blob_get_length(table) > 0;
  ::hb_blob_destroy(table);
  return there;
}

// The operator ROS, which only such fonts have, stands first in the dictionary behind the name.
bool is_cid_keyed(hb_face_t* face) {
  constexpr std::size_t kLook = 128;
  constexpr std::string_view kRos = "\x0C\x1E";
  hb_blob_t* table = ::hb_face_reference_table(face, HB_TAG('C', 'F', 'F', ' '));
  unsigned size = 0;
  const char* bytes = ::hb_blob_get_data(table, &size);
  const std::string_view head(bytes, std::min<std::size_t>(size, kLook));
  const bool found = head.find(kRos) != std::string_view::npos;
  ::hb_blob_destroy(table);
  return found;
}

// As the font calls itself, in letters that a PDF name can have.
std::string name_of(hb_face_t* face) {
  char text[128];
  unsigned size = sizeof text;
  ::hb_ot_name_get_utf8(face, HB_OT_NAME_ID_POSTSCRIPT_NAME, HB_LANGUAGE_INVALID, &size, text);
  std::string name;
  for (const char c : std::string_view(text, size)) {
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-') {
      name += c;
    }
  }
  return name.empty() ? "Unnamed" : name;
}

}  // namespace

bool Font::has(char32_t c) const {
  hb_codepoint_t glyph = 0;
  return ::hb_font_get_nominal_glyph(shaping, c, &glyph) != 0;
}

int Font::advance_of(unsigned glyph) const {
  return ::hb_font_get_glyph_h_advance(shaping, glyph);
}

FontBook& FontBook::instance() {
  static FontBook book;
  return book;
}

FontBook::FontBook() {
  auto bytes = io::read_file(kMonoPath, kFontBytesMax);
  if (!bytes) return;
  mono_bytes_ = *std::move(bytes);
  mono_ = load(reinterpret_cast<const unsigned char*>(mono_bytes_.data()),
               static_cast<int>(mono_bytes_.size()), 0);
}

const Font* FontBook::load(const unsigned char* bytes, int size, int index) {
  if (bytes == nullptr) return nullptr;
  for (const Loaded& loaded : loaded_) {
    if (loaded.bytes == bytes) return loaded.font.get();
  }
  hb_blob_t* blob =
      ::hb_blob_create(reinterpret_cast<const char*>(bytes), static_cast<unsigned>(size),
                       HB_MEMORY_MODE_READONLY, nullptr, nullptr);
  auto font = std::make_unique<Font>();
  font->face = ::hb_face_create(blob, static_cast<unsigned>(index));
  ::hb_blob_destroy(blob);
  font->shaping = ::hb_font_create(font->face);
  ::hb_font_set_scale(font->shaping, kUnits, kUnits);
  font->outlines_are_cff = has_table(font->face, HB_TAG('C', 'F', 'F', ' '));
  font->is_cid_keyed = font->outlines_are_cff && is_cid_keyed(font->face);
  font->name = name_of(font->face);
  loaded_.push_back({bytes, std::move(font)});
  return loaded_.back().font.get();
}

const Font* FontBook::of_script(int script) {
  fz_context* context = mupdf_context();
  int size = 0;
  int index = 0;
  const unsigned char* bytes =
      is_east_asian(script) ? ::fz_lookup_cjk_font(context, FZ_ADOBE_GB, &size, &index)
                            : ::fz_lookup_noto_font(context, script, FZ_LANG_UNSET, &size, &index);
  return load(bytes, size, index);
}

const Font* FontBook::of_symbols(char32_t c) {
  fz_context* context = mupdf_context();
  for (const auto lookup :
       {::fz_lookup_noto_symbol1_font, ::fz_lookup_noto_symbol2_font, ::fz_lookup_noto_math_font,
        ::fz_lookup_noto_emoji_font, ::fz_lookup_noto_music_font}) {
    int size = 0;
    const unsigned char* bytes = lookup(context, &size);
    const Font* font = load(bytes, size, 0);
    if (font != nullptr && font->has(c)) return font;
  }
  return nullptr;
}

const Font* FontBook::find(char32_t c) {
  const int script = ::ucdn_get_script(c);
  const bool mono_first = fits_mono(script);
  const bool in_mono = mono_ != nullptr && mono_->has(c);
  if (mono_first && in_mono) return mono_;
  const Font* font = of_script(script);
  if (font != nullptr && font->has(c)) return font;
  if (in_mono) return mono_;
  // Wide punctuation and the like belongs to no script.
  font = of_script(UCDN_SCRIPT_HAN);
  if (font != nullptr && font->has(c)) return font;
  return of_symbols(c);
}

}  // namespace quern::worker
