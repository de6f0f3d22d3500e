#include "worker/shaping.h"

#include <mupdf/fitz.h>
#include <mupdf/ucdn.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "worker/columns.h"
#include "worker/mupdf_context.h"
#include "worker/win_ansi.h"

namespace quern::worker {
namespace {

// Letters of one direction, in the order of reading.
struct Fragment {
  std::size_t begin = 0;
  std::size_t size = 0;
  int level = 0;  // odd: right to left
};

bool is_right_to_left(char32_t c) {
  if (c < 0x590) return false;
  const int kind = ::ucdn_get_bidi_class(c);
  return kind == UCDN_BIDI_CLASS_R || kind == UCDN_BIDI_CLASS_AL;
}

struct Collected {
  const std::uint32_t* begin;
  std::vector<Fragment>* fragments;
};

void collect(const std::uint32_t* fragment, std::size_t size, int level, int, void* argument) {
  auto* collected = static_cast<Collected*>(argument);
  const auto begin = static_cast<std::size_t>(fragment - collected->begin);
  collected->fragments->push_back({begin, size, level});
}

// By the bidirectional algorithm where there is anything to it.
std::vector<Fragment> fragments_of(const std::u32string& text, bool& right_to_left) {
  std::vector<Fragment> fragments;
  right_to_left = false;
  if (std::none_of(text.begin(), text.end(), is_right_to_left)) {
    fragments.push_back({0, text.size(), 0});
    return fragments;
  }
  const std::vector<std::uint32_t> letters(text.begin(), text.end());
  Collected collected{letters.data(), &fragments};
  fz_bidi_direction direction = FZ_BIDI_NEUTRAL;
  fz_context* context = mupdf_context();
  fz_try(context) {
    ::fz_bidi_fragment_text(context, letters.data(), letters.size(), &direction, collect,
                            &collected, 0);
  }
  fz_catch(context) {
    fragments.assign(1, {0, text.size(), 0});
    return fragments;
  }
  right_to_left = direction == FZ_BIDI_RTL;
  return fragments;
}

// From the order of reading to that on the page: whatever has a level is turned around with its
// neighbours of that level or more.
void reorder(std::vector<Fragment>& fragments) {
  int highest = 0;
  for (const Fragment& fragment : fragments) highest = std::max(highest, fragment.level);
  for (int level = highest; level > 0; --level) {
    for (auto begin = fragments.begin(); begin != fragments.end();) {
      if (begin->level < level) {
        ++begin;
        continue;
      }
      const auto end = std::find_if(begin, fragments.end(),
                                    [level](const Fragment& f) { return f.level < level; });
      std::reverse(begin, end);
      begin = end;
    }
  }
}

// Letters of one font.
struct Group {
  const Font* font = nullptr;
  bool is_plain = false;
  std::u32string letters;
};

bool joins_before(char32_t c, const Group& group) {
  if (group.is_plain || group.font == nullptr) return false;
  const bool neutral = c == ' ' || columns_of(c) == 0;
  return neutral && group.font->has(c);
}

// A line in two fonts that look alike is uglier than one in the font that has all its letters.
bool wants_mono(std::u32string_view letters) {
  const Font* mono = FontBook::instance().mono();
  const auto is_of_mono = [mono](char32_t c) {
    return !win_ansi_of(c) && FontBook::instance().find(c) == mono;
  };
  return mono != nullptr && std::any_of(letters.begin(), letters.end(), is_of_mono);
}

std::vector<Group> groups_of(std::u32string_view letters) {
  std::vector<Group> groups;
  const bool mono = wants_mono(letters);
  for (const char32_t c : letters) {
    if (!groups.empty() && joins_before(c, groups.back())) {
      groups.back().letters += c;
      continue;
    }
    const bool plain = win_ansi_of(c).has_value() && !(mono && FontBook::instance().mono()->has(c));
    const Font* font = plain ? nullptr : FontBook::instance().find(c);
    const bool shown_plain = plain || font == nullptr;
    // A mark of no width that nobody has is left out.
    if (!plain && font == nullptr && columns_of(c) == 0) continue;
    if (groups.empty() || groups.back().font != font || groups.back().is_plain != shown_plain) {
      groups.push_back({font, shown_plain, {}});
    }
    groups.back().letters += c;
  }
  return groups;
}

int columns_of_all(std::u32string_view letters) {
  int columns = 0;
  for (const char32_t c : letters) columns += columns_of(c);
  return columns;
}

// The letters of a cluster belong to its first glyph.
void take_letters(GlyphRun& run, std::span<const hb_glyph_info_t> infos,
                  std::u32string_view letters) {
  std::vector<std::size_t> begins;
  for (const hb_glyph_info_t& info : infos) begins.push_back(info.cluster);
  std::sort(begins.begin(), begins.end());
  std::size_t before = letters.size() + 1;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    const std::size_t begin = infos[i].cluster;
    if (begin == before) continue;
    before = begin;
    const auto next = std::upper_bound(begins.begin(), begins.end(), begin);
    const std::size_t end = next == begins.end() ? letters.size() : *next;
    run.glyphs[i].letters = letters.substr(begin, end - begin);
  }
}

void shape(GlyphRun& run, std::u32string_view letters, bool right_to_left) {
  hb_buffer_t* buffer = ::hb_buffer_create();
  ::hb_buffer_add_utf32(buffer, reinterpret_cast<const std::uint32_t*>(letters.data()),
                        static_cast<int>(letters.size()), 0, static_cast<int>(letters.size()));
  ::hb_buffer_set_direction(buffer, right_to_left ? HB_DIRECTION_RTL : HB_DIRECTION_LTR);
  ::hb_buffer_guess_segment_properties(buffer);
  ::hb_shape(run.font->shaping, buffer, nullptr, 0);
  unsigned count = 0;
  const hb_glyph_info_t* infos = ::hb_buffer_get_glyph_infos(buffer, &count);
  const hb_glyph_position_t* positions = ::hb_buffer_get_glyph_positions(buffer, &count);
  for (unsigned i = 0; i < count; ++i) {
    Glyph glyph;
    glyph.id = infos[i].codepoint;
    glyph.x = run.width + positions[i].x_offset;
    glyph.y = positions[i].y_offset;
    run.width += positions[i].x_advance;
    run.glyphs.push_back(std::move(glyph));
  }
  take_letters(run, {infos, count}, letters);
  ::hb_buffer_destroy(buffer);
}

GlyphRun run_of(const Group& group, bool right_to_left) {
  GlyphRun run;
  if (!group.is_plain) {
    run.room = columns_of_all(group.letters) * kColumnUnits;
    run.font = group.font;
    shape(run, group.letters, right_to_left);
    return run;
  }
  for (const char32_t c : group.letters) {
    run.plain += static_cast<char>(win_ansi_of(c).value_or('?'));
  }
  run.room = run.width = static_cast<int>(run.plain.size()) * kColumnUnits;
  if (right_to_left) std::reverse(run.plain.begin(), run.plain.end());
  return run;
}

std::u32string letters_of(std::string_view line) {
  std::u32string letters;
  while (!line.empty()) letters += next_code_point(line);
  return letters;
}

}  // namespace

ShapedLine shape_line(std::string_view line) {
  ShapedLine shaped;
  const std::u32string letters = letters_of(line);
  std::vector<Fragment> fragments = fragments_of(letters, shaped.right_to_left);
  reorder(fragments);
  for (const Fragment& fragment : fragments) {
    const bool right_to_left = fragment.level % 2 == 1;
    std::vector<Group> groups =
        groups_of(std::u32string_view(letters).substr(fragment.begin, fragment.size));
    if (right_to_left) std::reverse(groups.begin(), groups.end());
    for (const Group& group : groups) {
      GlyphRun run = run_of(group, right_to_left);
      run.x = shaped.width;
      shaped.width += run.taken();
      shaped.runs.push_back(std::move(run));
    }
  }
  return shaped;
}

bool is_plain(std::string_view line) {
  const auto is_ascii = [](char c) { return c >= ' ' && c < 0x7F; };
  if (std::all_of(line.begin(), line.end(), is_ascii)) return true;
  while (!line.empty()) {
    if (!win_ansi_of(next_code_point(line))) return false;
  }
  return true;
}

}  // namespace quern::worker
