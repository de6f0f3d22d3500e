// Names that people give to things (counters now, collections later). Pure.
//
// A name can stand in an address, a file name and a shell line without quoting, and sorts the same
// everywhere: 1 to kNameBytesMax letters, digits, '.', '_' and '-' of ASCII, not beginning with '.'
// or '-'.
#pragma once

#include <string_view>

#include "base/result.h"

namespace quern::model {

inline constexpr std::size_t kNameBytesMax = 64;

// Invalid, with a sentence that says what a name of this thing ("a counter") looks like.
Result<> validate_name(std::string_view thing, std::string_view name);

}  // namespace quern::model
