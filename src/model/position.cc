#include "model/position.h"

#include <fmt/format.h>

#include "base/check.h"

namespace quern::model {
namespace {

constexpr char kOneDigit = 'a';
constexpr int kDigitsMax = 16;

std::optional<std::int64_t> hex_number(std::string_view digits) {
  std::uint64_t number = 0;
  for (const char c : digits) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit && (c < 'a' || c > 'f')) return std::nullopt;
    number = number * 16 + static_cast<std::uint64_t>(is_digit ? c - '0' : c - 'a' + 10);
  }
  const auto as_signed = static_cast<std::int64_t>(number);
  if (as_signed < 0) return std::nullopt;
  return as_signed;
}

}  // namespace

void append_position(std::string& position, std::int64_t number) {
  CHECK(number >= 0);
  const std::string digits = fmt::format("{:x}", number);
  position += static_cast<char>(kOneDigit + static_cast<int>(digits.size()) - 1);
  position += digits;
}

std::string child_position(const std::string& parent, std::int64_t index) {
  std::string position = parent;
  append_position(position, index);
  return position;
}

std::optional<std::vector<std::int64_t>> parse_position(std::string_view position) {
  std::vector<std::int64_t> numbers;
  while (!position.empty()) {
    const int digits = position.front() - kOneDigit + 1;
    position.remove_prefix(1);
    if (digits < 1 || digits > kDigitsMax) return std::nullopt;
    const std::string_view text = position.substr(0, static_cast<std::size_t>(digits));
    const bool is_padded = digits > 1 && text.starts_with('0');
    const auto number = hex_number(text);
    if (text.size() != static_cast<std::size_t>(digits) || is_padded || !number) {
      return std::nullopt;
    }
    numbers.push_back(*number);
    position.remove_prefix(text.size());
  }
  return numbers;
}

// No number begins with a letter beyond 'p', so 'z' is above whatever can follow.
std::string position_end(const std::string& position) {
  return position + 'z';
}

}  // namespace quern::model
