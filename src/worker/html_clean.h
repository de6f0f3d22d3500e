// A web page made harmless: elements that say something about the text, in well-formed XHTML; no
// scripts, no styles but ours, no addresses, pictures only that are in it or came with it.
//
// Depth, nested tables and pictures are bounded, since layout goes down them again and again.
#pragma once

#include <map>
#include <string>

#include "worker/html_tree.h"

namespace quern::worker {

inline constexpr int kHtmlDepthMax = 60;
inline constexpr int kHtmlTablesMax = 3;  // inside of one another
inline constexpr std::size_t kPictureBytesMax = 4 << 20;
inline constexpr std::size_t kPicturesBytesMax = 32 << 20;
// Of the whole page, without pictures.
inline constexpr std::size_t kCleanBytesMax = 16 << 20;

// Bytes of what came with a page, by the names that it calls them.
using HtmlPictures = std::map<std::string, std::string, std::less<>>;

struct CleanHtml {
  std::string xhtml;
  bool was_cut = false;
};

CleanHtml clean_html(const HtmlTree& tree, const HtmlPictures& pictures);

}  // namespace quern::worker
