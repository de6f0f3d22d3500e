// Which part of a web page is its text, and which is what stands around it on every page of the
// site: menus, headers, footers, things to share.
//
// How: what calls itself something else is left out; paragraphs give points to what they stand in,
// by their length and commas; the element with most points, less its links, is the text, with those
// beside it that look the same; lists of links and forms inside of it are left out again. A page
// with little text keeps everything but what calls itself something else.
#pragma once

#include <vector>

#include "worker/web_page_outline.h"

namespace quern::worker {

// Of each element, whether the text right inside of it is of the main text.
std::vector<bool> main_text_of(const PageOutline& outline);

}  // namespace quern::worker
