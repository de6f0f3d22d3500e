// A PDF of plain text: pages of lines in Courier, which every viewer has; letters that it lacks are
// embedded.
//
// The same layout gives the same bytes. Latin text costs less than 1 KB beside its own bytes.
#pragma once

#include <string>
#include <string_view>

#include "worker/text_layout.h"

namespace quern::worker {

// `drawing` is put under the text of the first page.
std::string text_pdf(const Layout& layout, std::string_view drawing = {});

}  // namespace quern::worker
