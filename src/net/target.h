// Request targets: "/files/a%20b?limit=5" split into decoded segments and query parameters. Pure.
//
// Decoding is strict and happens once, after splitting, so that "%2F" never makes a new segment and
// ".." is a segment like any other: no caller gets a path to hand to a file system.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace quern::net {

// As much as a head has room for: a search of 10 kB, each byte of it escaped, is a valid one.
inline constexpr std::size_t kTargetBytesMax = 31 * 1024;
inline constexpr std::size_t kTargetSegmentsMax = 64;
inline constexpr std::size_t kTargetParametersMax = 128;

struct Target {
  std::vector<std::string> segments;  // of "/a/b": a, b; of "/a/": a and an empty one; of "/": none
  std::vector<std::pair<std::string, std::string>> parameters;

  // The first parameter of this name, or nullptr.
  const std::string* find(std::string_view name) const;
};

// Takes the origin form, the absolute form (its path counts) and "*" (no segments). Invalid where
// escapes are malformed or a NUL comes out of one, TooLarge beyond the limits above.
Result<Target> parse_target(std::string_view target);

// "%41" becomes "A"; in queries '+' is a blank. Invalid on a percent sign without two digits, and
// on %00.
enum class Plus { IsPlus, IsBlank };
Result<std::string> percent_decoded(std::string_view text, Plus plus);
// Everything but letters, digits, '-', '.', '_' and '~' is escaped.
std::string percent_encoded(std::string_view text);

// For clients: "/files", then "/a%20b", then "?name=x%26y", then "&more=1".
void append_segment(std::string& target, std::string_view segment);
void append_query(std::string& target, std::string_view name, std::string_view value);

}  // namespace quern::net
