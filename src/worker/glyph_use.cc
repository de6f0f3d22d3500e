#include "worker/glyph_use.h"

#include <cmath>
#include <optional>

#include "worker/font_subset.h"
#include "worker/mupdf_call.h"

namespace quern::worker {
namespace {

constexpr std::size_t kNameBytesMax = 128;

struct GlyphDevice {
  fz_device super;
  GlyphUse* use;
};

void note(fz_context* ctx, fz_device* device, const fz_text* text) {
  reinterpret_cast<GlyphDevice*>(device)->use->add(ctx, *text);
}

// long: these are MuPDF's parameters.
void fill_text(fz_context* ctx, fz_device* device, const fz_text* text, fz_matrix /*ctm*/,
               fz_colorspace* /*space*/, const float* /*color*/, float /*alpha*/,
               fz_color_params /*params*/) {
  note(ctx, device, text);
}

// long: these are MuPDF's parameters.
void stroke_text(fz_context* ctx, fz_device* device, const fz_text* text,
                 const fz_stroke_state* /*stroke*/, fz_matrix /*ctm*/, fz_colorspace* /*space*/,
                 const float* /*color*/, float /*alpha*/, fz_color_params /*params*/) {
  note(ctx, device, text);
}

void clip_text(fz_context* ctx, fz_device* device, const fz_text* text, fz_matrix /*ctm*/,
               fz_rect /*scissor*/) {
  note(ctx, device, text);
}

void ignore_text(fz_context* ctx, fz_device* device, const fz_text* text, fz_matrix /*ctm*/) {
  note(ctx, device, text);
}

// Where a font's parts are in a PDF. Nothing with a destructor: MuPDF jumps.
struct FontPlace {
  char name[kNameBytesMax] = "";
  pdf_obj* font = nullptr;
  pdf_obj* descendant = nullptr;
  pdf_obj* file = nullptr;
  pdf_obj* map = nullptr;
  fz_buffer* program = nullptr;
  bool is_cff = false;
};

void find_font(fz_context* ctx, pdf_document* pdf, int number, FontPlace& place) {
  place.font = ::pdf_load_object(ctx, pdf, number);
  if (::pdf_name_eq(ctx, ::pdf_dict_get(ctx, place.font, PDF_NAME(Subtype)), PDF_NAME(Type0)) ==
      0) {
    return;
  }
  pdf_obj* const name = ::pdf_dict_get(ctx, place.font, PDF_NAME(BaseFont));
  ::fz_strlcpy(place.name, ::pdf_to_name(ctx, name), sizeof place.name);
  place.descendant =
      ::pdf_array_get(ctx, ::pdf_dict_get(ctx, place.font, PDF_NAME(DescendantFonts)), 0);
  pdf_obj* const about = ::pdf_dict_get(ctx, place.descendant, PDF_NAME(FontDescriptor));
  pdf_obj* const cff = ::pdf_dict_get(ctx, about, PDF_NAME(FontFile3));
  place.is_cff = cff != nullptr;
  place.file = place.is_cff ? cff : ::pdf_dict_get(ctx, about, PDF_NAME(FontFile2));
  place.map = ::pdf_dict_get(ctx, place.font, PDF_NAME(ToUnicode));
  if (place.file != nullptr) place.program = ::pdf_load_stream(ctx, place.file);
}

void set_stream(fz_context* ctx, pdf_document* pdf, pdf_obj* stream, const std::string* bytes) {
  fz_buffer* const buffer = ::fz_new_buffer_from_copied_data(
      ctx, reinterpret_cast<const unsigned char*>(bytes->data()), bytes->size());
  ::pdf_update_stream(ctx, pdf, stream, buffer, 0);
  ::fz_drop_buffer(ctx, buffer);
}

void set_widths(fz_context* ctx, pdf_document* pdf, pdf_obj* descendant, const UsedGlyphs* glyphs) {
  pdf_obj* const widths = ::pdf_new_array(ctx, pdf, static_cast<int>(glyphs->size() * 2));
  ::pdf_dict_put_drop(ctx, descendant, PDF_NAME(W), widths);
  for (const auto& [glyph, used] : *glyphs) {
    ::pdf_array_push_int(ctx, widths, glyph);
    pdf_obj* const one = ::pdf_array_push_array(ctx, widths, 1);
    ::pdf_array_push_int(ctx, one, used.width);
  }
}

}  // namespace

void GlyphUse::add(fz_context* ctx, const fz_text& text) {
  for (const fz_text_span* span = text.head; span != nullptr; span = span->next) {
    UsedGlyphs& glyphs = fonts_[::fz_font_name(ctx, span->font)];
    std::u32string* open = nullptr;  // of a glyph that may stand for more letters
    for (int i = 0; i < span->len; ++i) {
      const fz_text_item& item = span->items[i];
      if (item.gid >= 0) {
        UsedGlyph& glyph = glyphs[static_cast<unsigned>(item.gid)];
        const bool is_new = glyph.letters.empty();
        const float advance = ::fz_advance_glyph(ctx, span->font, item.gid, 0);
        glyph.width = static_cast<int>(std::lround(advance * 1000));
        open = is_new ? &glyph.letters : nullptr;
      }
      if (open != nullptr && item.ucs > 0) *open += static_cast<char32_t>(item.ucs);
    }
  }
}

void GlyphUse::add(fz_context* ctx, fz_page* page, fz_cookie* cookie) {
  GlyphDevice* const device = fz_new_derived_device(ctx, GlyphDevice);
  device->use = this;
  device->super.fill_text = fill_text;
  device->super.stroke_text = stroke_text;
  device->super.clip_text = clip_text;
  device->super.ignore_text = ignore_text;
  ::fz_run_page(ctx, page, &device->super, fz_identity, cookie);
  ::fz_close_device(ctx, &device->super);
  ::fz_drop_device(ctx, &device->super);
}

void GlyphUse::shrink_fonts(fz_context* ctx, pdf_document* pdf) const {
  const int objects = ::pdf_xref_len(ctx, pdf);
  for (int number = 1; number < objects; ++number) {
    FontPlace place;
    const int found = mupdf_call(ctx, [&] { find_font(ctx, pdf, number, place); });
    const auto used = fonts_.find(std::string_view(place.name));
    if (found == FZ_ERROR_NONE && place.program != nullptr && used != fonts_.end()) {
      const std::string_view program(reinterpret_cast<const char*>(place.program->data),
                                     place.program->len);
      const std::string subset = place.is_cff ? subset_of_cff(program, used->second)
                                              : subset_of_font(program, used->second);
      const std::string map = unicode_map(used->second);
      if (!subset.empty()) {
        mupdf_call(ctx, [&] {
          set_stream(ctx, pdf, place.file, &subset);
          if (!place.is_cff) {
            ::pdf_dict_put_int(ctx, place.file, PDF_NAME(Length1),
                               static_cast<std::int64_t>(subset.size()));
          }
          if (place.map != nullptr) set_stream(ctx, pdf, place.map, &map);
          set_widths(ctx, pdf, place.descendant, &used->second);
        });
      }
    }
    ::fz_drop_buffer(ctx, place.program);
    ::pdf_drop_obj(ctx, place.font);
  }
}

}  // namespace quern::worker
