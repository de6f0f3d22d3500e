// The values of filters: dates and types as people write them.
#pragma once

#include <optional>
#include <string_view>

#include "search/query.h"

namespace quern::search {

// 2020, 2020-05, 2020-05-17, and two of them with ".." between, one of which may be missing. The
// later one may stand first.
std::optional<DateRange> parse_dates(std::string_view text);
// Whether it could be the value of a type filter.
bool is_type_filter(std::string_view text);

// The same of a dataset filter: "success", "mismatch-md5", "spn2-error:no-access".
bool is_status_filter(std::string_view text);

}  // namespace quern::search
