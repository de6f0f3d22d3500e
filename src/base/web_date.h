// Dates as people write them on the web, in one form.
#pragma once

#include <string>
#include <string_view>

namespace quern {

// "2020-03-27", "2020-03-27T01:09:35-04:00" and "Fri, 27 Mar 2020 01:09:35 GMT" are ISO 8601 in as
// much as they say; "March 27, 2020" is a day. "" for everything else: 03/04/2020 is two days.
std::string iso_date(std::string_view text);

}  // namespace quern
