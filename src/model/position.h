// Positions: where a file stands in its tree, as a text that sorts like the tree. Pure.
//
// A number is written as one letter for how many hexadecimal digits it has, then the digits: 0 is
// "a0", 15 "af", 16 "b10". So the texts sort like the numbers, and none is the beginning of
// another. A position is the numbers on the way from the root, one after the other. Hence, compared
// byte by byte: a parent comes before its children, those before its next sibling, siblings by
// index. Lower-case letters and digits only, so that every collation of the stores agrees.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::model {

// CHECKs that the number is not negative.
void append_position(std::string& position, std::int64_t number);
// The position of a root (parent "") or of a child.
std::string child_position(const std::string& parent, std::int64_t index);
// The numbers again; nullopt where the text is no position as we write it.
std::optional<std::vector<std::int64_t>> parse_position(std::string_view position);

// The least text above every descendant of this position (itself included): for ranges.
std::string position_end(const std::string& position);

}  // namespace quern::model
