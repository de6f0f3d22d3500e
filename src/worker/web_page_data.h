// What a page says about itself for machines (JSON-LD), where its head says nothing.
#pragma once

#include <string>
#include <vector>

#include "worker/web_page_about.h"

namespace quern::worker {

// Things in things that are looked at.
inline constexpr int kPageDataDepthMax = 6;

void add_data(const std::vector<std::string>& data, PageAbout& about);

}  // namespace quern::worker
