// The words of a web page, as they stand on it: a line for a line, an empty line between
// paragraphs, tabs between cells. What nobody sees (scripts, styles) is not there.
#pragma once

#include <cstdint>
#include <string>

#include "worker/html_tree.h"

namespace quern::worker {

struct HtmlWords {
  std::string text;
  std::string title;
  std::string author;
  bool was_cut = false;
};

HtmlWords html_words(const HtmlTree& tree, std::uint64_t characters_max);

// Without what stands between angle brackets: for pages that nobody can make sense of.
std::string without_tags(std::string_view html);

// Elements whose content is nothing to read.
bool is_unread(GumboTag tag);

}  // namespace quern::worker
