// Instants as web archives write them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quern::web {

// "2026-11-16T06:00:00.123456Z".
std::string warc_date(std::int64_t at_us);
// Also with less precision ("2026", "2026-11-16T06:00Z") and with up to nine digits of a second.
// Nothing where it is none, or of a year beyond 9999.
std::optional<std::int64_t> parse_warc_date(std::string_view text);

}  // namespace quern::web
