// What people call the parts of their pages, in class and id, and what that says about them.
#pragma once

#include "worker/web_page_outline.h"

namespace quern::worker {

PageHints hints_of(const GumboElement& element);

// Whether one of its names begins a known kind; for tests.
PageHints hints_of_names(std::string_view names);

}  // namespace quern::worker
