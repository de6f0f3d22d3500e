// Tables in text (CSV and its kin) as a spreadsheet that an office opens without asking anything.
#pragma once

#include <string>
#include <string_view>

namespace quern::worker {

// What a sheet can hold.
inline constexpr std::size_t kSheetColumnsMax = 1024;
inline constexpr std::size_t kSheetRowsMax = 1'000'000;

// Which of the usual separators stands in the first lines most.
char separator_of(std::string_view text);

struct FlatSheet {
  std::string xml;  // flat OpenDocument
  bool was_cut = false;
};
// `text` is valid UTF-8. Quotes as RFC 4180 has them; one that never ends goes to the end.
FlatSheet flat_sheet(std::string_view text, char separator);

}  // namespace quern::worker
