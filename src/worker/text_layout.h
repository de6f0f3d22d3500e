// Plain text on pages: lines broken at blanks, tabs expanded, form feeds obeyed. Pure.
//
// One font whose letters are all equally wide, so that what was aligned stays so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quern::worker {

// A4 in points, 9 point Courier.
inline constexpr int kPageWidth = 595;
inline constexpr int kPageHeight = 842;
inline constexpr int kPageMargin = 50;
inline constexpr int kFontSize = 9;
inline constexpr int kLineHeight = 11;
inline constexpr int kColumns = 91;
inline constexpr int kLines = 67;
inline constexpr int kTabColumns = 8;

using Page = std::vector<std::string>;  // lines, UTF-8

struct Layout {
  std::vector<Page> pages;  // at least one
  bool was_cut = false;     // there was more
};
Layout lay_out(std::string_view text, std::size_t pages_max);

}  // namespace quern::worker
