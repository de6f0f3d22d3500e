#include "model/name.h"

#include <fmt/format.h>

#include <algorithm>

namespace quern::model {
namespace {

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool may_stand_inside(char c) {
  return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-';
}

}  // namespace

Result<> validate_name(std::string_view thing, std::string_view name) {
  const bool good = !name.empty() && name.size() <= kNameBytesMax && name.front() != '.' &&
                    name.front() != '-' && std::all_of(name.begin(), name.end(), may_stand_inside);
  if (good) return {};
  return Error{
      Errc::Invalid,
      fmt::format("the name of {} has 1 to {} letters, digits, '.', '_' or '-', and does not "
                  "begin with '.' or '-'",
                  thing, kNameBytesMax)};
}

}  // namespace quern::model
