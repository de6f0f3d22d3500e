#include "blob/place.h"

#include <fmt/format.h>

namespace quern::blob {
namespace {

constexpr std::int64_t kPerFolder = 1000;

bool consists_of(std::string_view text, std::string_view letters) {
  return !text.empty() && text.find_first_not_of(letters) == std::string_view::npos;
}

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kHexDigits = "0123456789abcdef";

}  // namespace

std::string session_name(std::int64_t id, std::string_view name) {
  return fmt::format("{}-{}", id, name);
}

std::string place_name(std::string_view session, std::int64_t number) {
  return fmt::format("{}/{:03}/{:06}", session, number / kPerFolder, number);
}

bool is_session(std::string_view text) {
  const std::size_t dash = text.find('-');
  return dash != std::string_view::npos && consists_of(text.substr(0, dash), kDigits) &&
         consists_of(text.substr(dash + 1), kHexDigits);
}

bool is_place(std::string_view text) {
  const std::size_t first = text.find('/');
  const std::size_t last = text.rfind('/');
  return first != last && is_session(text.substr(0, first)) &&
         consists_of(text.substr(first + 1, last - first - 1), kDigits) &&
         consists_of(text.substr(last + 1), kDigits);
}

}  // namespace quern::blob
