#include "tree/page_ends.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace quern::tree {

bool are_page_ends(const PageEnds& ends, std::uint64_t text_bytes) {
  return !ends.empty() && ends.size() <= kPageEndsMax && std::ranges::is_sorted(ends) &&
         ends.back() <= text_bytes;
}

std::string to_json(const PageEnds& ends) {
  return fmt::format("[{}]", fmt::join(ends, ","));
}

PageEnds parse_page_ends(std::string_view json) {
  PageEnds ends;
  if (!json.starts_with('[') || !json.ends_with(']')) return {};
  const char* at = json.data() + 1;
  const char* const last = json.data() + json.size() - 1;
  while (at < last && ends.size() < kPageEndsMax) {
    std::uint32_t end = 0;
    const auto [next, failed] = std::from_chars(at, last, end);
    if (failed != std::errc() || (next != last && *next != ',')) return {};
    ends.push_back(end);
    at = next == last ? last : next + 1;
  }
  return are_page_ends(ends, UINT32_MAX) && at == last ? ends : PageEnds();
}

}  // namespace quern::tree
