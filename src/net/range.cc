#include "net/range.h"

#include <algorithm>

#include "net/head_parser.h"

namespace quern::net {
namespace {

// "-500": the last bytes, at most all of them.
RangeChoice suffix_range(std::string_view digits, std::uint64_t size) {
  const auto length = parse_decimal(digits);
  if (!length) return WholeContent{};
  if (*length == 0 || size == 0) return NotSatisfiable{};
  const std::uint64_t bytes = std::min(*length, size);
  return ByteRange{size - bytes, bytes};
}

}  // namespace

RangeChoice choose_range(std::string_view header, std::uint64_t size) {
  const auto equals = header.find('=');
  if (equals == std::string_view::npos) return WholeContent{};
  if (!equals_ignoring_case(trimmed(header.substr(0, equals)), "bytes")) return WholeContent{};
  const std::string_view spec = trimmed(header.substr(equals + 1));
  const auto dash = spec.find('-');
  if (dash == std::string_view::npos) return WholeContent{};
  if (dash == 0) return suffix_range(spec.substr(1), size);

  const auto first = parse_decimal(spec.substr(0, dash));
  if (!first) return WholeContent{};
  std::uint64_t last = UINT64_MAX;
  if (dash + 1 < spec.size()) {
    const auto number = parse_decimal(spec.substr(dash + 1));
    if (!number || *number < *first) return WholeContent{};
    last = *number;
  }
  if (*first >= size) return NotSatisfiable{};
  return ByteRange{*first, std::min(last, size - 1) - *first + 1};
}

bool if_range_allows(std::string_view header, std::string_view etag) {
  return !etag.starts_with("W/") && trimmed(header) == etag;
}

bool etag_listed(std::string_view header, std::string_view etag) {
  const auto opaque = [](std::string_view tag) {
    return tag.starts_with("W/") ? tag.substr(2) : tag;
  };
  if (trimmed(header) == "*") return true;
  while (!header.empty()) {
    const auto comma = header.find(',');
    if (opaque(trimmed(header.substr(0, comma))) == opaque(etag)) return true;
    header = comma == std::string_view::npos ? std::string_view{} : header.substr(comma + 1);
  }
  return false;
}

}  // namespace quern::net
