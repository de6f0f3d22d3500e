// Shapes of letters that have places of their own in Unicode become the letters themselves: what an
// Arabic letter looks like in the middle of a word, or "fi" as one sign. Nobody searches for those.
#pragma once

#include <string>

namespace quern::worker {

void append_plain(std::u32string& letters, char32_t form);

}  // namespace quern::worker
