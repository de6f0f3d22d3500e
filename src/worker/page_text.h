// The text of a page as a person reads it: ligatures taken apart, words that a line's end has cut
// put together, letters that were drawn twice to look bold or to cast a shadow said once.
//
// Lines end with LF; what stands side by side (cells of a table) is parted by a tab; an empty line
// stands between blocks. Valid UTF-8.
#pragma once

#include <cstdint>
#include <string>

#include <mupdf/fitz.h>

namespace quern::worker {

struct PageText {
  std::string text;
  std::uint64_t characters = 0;
  bool was_cut = false;
};

PageText page_text(const fz_stext_page& page, std::uint64_t characters_max);

}  // namespace quern::worker
