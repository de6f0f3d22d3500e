// Fonts for letters that no PDF viewer has of itself: DejaVu Sans Mono where it is installed, then
// those that MuPDF carries, which cover every script.
//
// Loaded when first needed, kept for ever; in the zygote all that is warmed is shared by forks.
#pragma once

#include <hb.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace quern::worker {

// Advances and offsets are in thousandths of the font's size.
inline constexpr int kUnits = 1000;

struct Font {
  hb_face_t* face = nullptr;
  hb_font_t* shaping = nullptr;
  std::string name;
  bool outlines_are_cff = false;  // else TrueType's
  bool is_cid_keyed = false;  // its glyphs keep their numbers in a subset, by a table of its own

  bool has(char32_t code_point) const;
  int advance_of(unsigned glyph) const;
};

class FontBook {
 public:
  // A font that has the letter, or null where none does.
  const Font* find(char32_t code_point);

  // One whose letters are all equally wide; null where none is installed.
  const Font* mono() const { return mono_; }

  // The one of this process.
  static FontBook& instance();

 private:
  FontBook();
  const Font* load(const unsigned char* bytes, int size, int index);
  const Font* of_script(int script);
  const Font* of_symbols(char32_t code_point);

  struct Loaded {
    const unsigned char* bytes;
    std::unique_ptr<Font> font;
  };
  std::vector<Loaded> loaded_;
  std::string mono_bytes_;
  const Font* mono_ = nullptr;
};

}  // namespace quern::worker
