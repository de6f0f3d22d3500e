#include "access/role.h"

#include <vector>

namespace quern::access {

std::string_view to_string(Role role) {
  switch (role) {
    case Role::Reader:
      return "reader";
    case Role::Editor:
      return "editor";
    case Role::Worker:
      return "worker";
    case Role::Admin:
      return "admin";
  }
  return "";
}

std::optional<Role> parse_role(std::string_view text) {
  for (const Role role : kAllRoles) {
    if (text == to_string(role)) return role;
  }
  return std::nullopt;
}

std::string to_string(Roles roles) {
  std::vector<std::string_view> names;
  for (const Role role : kAllRoles) {
    if (roles.has(role)) names.push_back(to_string(role));
  }
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

}  // namespace quern::access
