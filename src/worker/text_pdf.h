// A PDF of plain text: pages of lines, with a base-14 font where that has all letters.
#pragma once

#include <string>

#include "worker/text_layout.h"

namespace quern::worker {

std::string text_pdf(const Layout& layout);

}  // namespace quern::worker
