// Where the pages of a text end: so many bytes of it up to the end of each page.
//
// They are kept as a JSON list beside the text. What is no such list is none: a hit without its
// page is still a hit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quern::tree {

inline constexpr std::size_t kPageEndsMax = 100'000;

using PageEnds = std::vector<std::uint32_t>;

// Ascending (a page may be empty), not too many, within the text.
bool are_page_ends(const PageEnds& ends, std::uint64_t text_bytes);
// "[4,4,10]"
std::string to_json(const PageEnds& ends);
PageEnds parse_page_ends(std::string_view json);

}  // namespace quern::tree
