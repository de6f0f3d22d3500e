// The head of a record: of WARC 0.17 to 1.1, and the one line of an ARC file (versions 1 and 2).
// Pure.
#pragma once

#include <string_view>

#include "web/warc.h"

namespace quern::web {

bool is_warc_version(std::string_view line);
// Behind the version's line, with the empty line. Corrupt without a length.
Result<WarcRecord> parse_warc_head(std::string_view text);
// "URL address date type … length"; the URL may have spaces in it.
Result<WarcRecord> parse_arc_line(std::string_view line);

}  // namespace quern::web
