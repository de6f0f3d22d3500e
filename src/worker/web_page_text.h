// The words of a web page: first its main text, then the rest, each as it stands there: a line for
// a line, an empty line between paragraphs, tabs between cells; nothing twice, nothing glued.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "worker/web_page_outline.h"

namespace quern::worker {

inline constexpr std::size_t kHeadingsMax = 200;
inline constexpr std::size_t kHeadingBytesMax = 300;

struct PageText {
  std::string text;
  std::size_t main_bytes = 0;  // of it; an empty line and the rest follow
  std::vector<std::string> headings;
  std::string first_h1;
  bool was_cut = false;
};

// `is_main` says of each element whether the text right inside of it is of the main text.
PageText text_of(const PageOutline& outline, const std::vector<bool>& is_main,
                 std::uint64_t characters_max);

}  // namespace quern::worker
