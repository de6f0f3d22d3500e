// Roles: what somebody may do. A token has exactly one.
//
//   reader   reads everything but tokens
//   editor   reads, adds, changes and deletes documents and work
//   worker   takes tasks and holds segments; reads only what that needs
//   admin    everything
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace quern::access {

// The numbers are stored.
enum class Role : std::uint8_t { Reader = 1, Editor = 2, Worker = 3, Admin = 4 };
inline constexpr Role kAllRoles[] = {Role::Reader, Role::Editor, Role::Worker, Role::Admin};

std::string_view to_string(Role role);
std::optional<Role> parse_role(std::string_view text);

// A set of them: those who may.
class Roles {
 public:
  constexpr Roles() = default;
  constexpr Roles(std::initializer_list<Role> roles) {
    for (const Role role : roles) bits_ |= bit(role);
  }

  constexpr bool has(Role role) const { return (bits_ & bit(role)) != 0; }
  constexpr Roles with(Role role) const {
    Roles more = *this;
    more.bits_ |= bit(role);
    return more;
  }
  friend constexpr bool operator==(Roles, Roles) = default;

 private:
  static constexpr unsigned bit(Role role) { return 1U << static_cast<unsigned>(role); }
  unsigned bits_ = 0;
};

inline constexpr Roles kReaders{Role::Reader, Role::Editor, Role::Admin};
inline constexpr Roles kEditors{Role::Editor, Role::Admin};
inline constexpr Roles kWorkers{Role::Worker, Role::Admin};
inline constexpr Roles kAdmins{Role::Admin};

// "reader, editor or admin".
std::string to_string(Roles roles);

}  // namespace quern::access
