// Range: bytes=..., parsed against the size of what is served (RFC 9110, 14). Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

namespace quern::net {

struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  // at least 1

  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};
struct WholeContent {
  friend bool operator==(const WholeContent&, const WholeContent&) = default;
};
struct NotSatisfiable {
  friend bool operator==(const NotSatisfiable&, const NotSatisfiable&) = default;
};
using RangeChoice = std::variant<WholeContent, ByteRange, NotSatisfiable>;

// A header that is malformed, of another unit, or asks for several ranges is ignored, as the RFC
// allows: the whole content. A well-formed one that begins behind the end is not satisfiable.
RangeChoice choose_range(std::string_view header, std::uint64_t size);

// Whether If-Range (its value) lets the Range header count: only for our strong tag. A date never
// does, since we send no Last-Modified.
bool if_range_allows(std::string_view header, std::string_view etag);
// Whether If-None-Match names the tag ("*", or a list with weak comparison).
bool etag_listed(std::string_view header, std::string_view etag);

}  // namespace quern::net
