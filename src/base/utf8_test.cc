#include "base/utf8.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

struct Case {
  std::string_view bytes;
  std::size_t valid_prefix;
  std::string_view repaired;
};

TEST(Utf8Test, ValidPrefixAndRepair) {
  const Case table[] = {
      {"", 0, ""},
      {"plain", 5, "plain"},
      {"\xC3\xA9", 2, "\xC3\xA9"},                  // é
      {"\xE2\x82\xAC", 3, "\xE2\x82\xAC"},          // €
      {"\xF0\x9F\x98\x80", 4, "\xF0\x9F\x98\x80"},  // U+1F600
      {"\xEF\xBF\xBF", 3, "\xEF\xBF\xBF"},          // U+FFFF
      {"\xF4\x8F\xBF\xBF", 4, "\xF4\x8F\xBF\xBF"},  // U+10FFFF
      {"a\xFF"
       "b",
       1,
       "a\xEF\xBF\xBD"
       "b"},                                        // never a first byte
      {"\x80", 0, "\xEF\xBF\xBD"},                  // a continuation alone
      {"\xC3", 0, "\xEF\xBF\xBD"},                  // cut
      {"\xE2\x82", 0, "\xEF\xBF\xBD\xEF\xBF\xBD"},  // cut
      {"\xC3(", 0, "\xEF\xBF\xBD("},                // no continuation
      {"\xC0\xAF", 0, "\xEF\xBF\xBD\xEF\xBF\xBD"},  // overlong
      {"\xE0\x80\xAF", 0, "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
      {"\xED\xA0\x80", 0, "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},                  // surrogate
      {"\xF4\x90\x80\x80", 0, "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},  // too high
      {"\xF5\x80\x80\x80", 0, "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
  };
  for (const Case& row : table) {
    EXPECT_EQ(valid_utf8_prefix(row.bytes), row.valid_prefix) << row.bytes;
    EXPECT_EQ(is_valid_utf8(row.bytes), row.valid_prefix == row.bytes.size()) << row.bytes;
    EXPECT_EQ(valid_utf8(row.bytes), row.repaired) << row.bytes;
  }
}

TEST(Utf8Test, RepairOfAnyTwoBytesIsValid) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const char bytes[] = {static_cast<char>(first), static_cast<char>(second)};
      EXPECT_TRUE(is_valid_utf8(valid_utf8({bytes, 2}))) << first << " " << second;
    }
  }
}

}  // namespace
}  // namespace quern
