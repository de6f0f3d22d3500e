// The text of a page as a person reads it: ligatures taken apart, words that a line's end has cut
// put together, letters that were drawn twice to look bold or to cast a shadow said once, what
// was filled into a form behind the words it stands behind.
//
// Lines end with LF; what stands side by side (cells of a table) is parted by a tab; an empty line
// stands where the page leaves more room. Valid UTF-8.
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

// `added` is what lies on top of the page: forms that were filled in, notes.
PageText page_text(const fz_stext_page& page, const fz_stext_page& added,
                   std::uint64_t characters_max);

}  // namespace quern::worker
