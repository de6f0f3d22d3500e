// A page without what its scripts and styles say, which is most of many pages: the parser need not
// look at it, letter by letter. What it holds as data for others (JSON-LD) is told.
//
// Guarantee: whatever stands outside of them is parsed as before. How: tags, attributes and
// comments are skipped as the HTML standard does; a script that is odd stays, and all behind it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quern::worker {

// Of the data that is told, and how many pieces of it.
inline constexpr std::size_t kPageDataBytesMax = 256 * 1024;
inline constexpr std::size_t kPageDataMax = 10;

struct PageWithoutScripts {
  std::string html;
  std::vector<std::string> data;  // of <script type="application/ld+json">
};

PageWithoutScripts without_scripts(std::string_view html);

}  // namespace quern::worker
