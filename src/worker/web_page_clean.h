// What stands in the middle of a page's text and is not of it: lists of links, forms, boxes.
#pragma once

#include <vector>

#include "worker/web_page_outline.h"

namespace quern::worker {

void clean_main_text(const std::vector<PageElement>& elements, std::vector<bool>& is_main);

}  // namespace quern::worker
