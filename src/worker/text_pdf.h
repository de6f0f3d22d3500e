// A PDF of plain text: pages of lines in Courier, which every viewer has; letters that it lacks are
// embedded.
//
// The same layout gives the same bytes. Latin text costs less than 1 KB beside its own bytes.
#pragma once

#include <string>

#include "worker/text_layout.h"

namespace quern::worker {

std::string text_pdf(const Layout& layout);

}  // namespace quern::worker
