#include "access/role.h"

#include <gtest/gtest.h>

namespace quern::access {
namespace {

TEST(RoleTest, EachIsReadBackFromItsName) {
  for (const Role role : kAllRoles) EXPECT_EQ(parse_role(to_string(role)), role);
  EXPECT_EQ(parse_role("root"), std::nullopt);
  EXPECT_EQ(parse_role("Admin"), std::nullopt);
  EXPECT_EQ(parse_role(""), std::nullopt);
}

TEST(RoleTest, ASetSaysWhoIsInIt) {
  EXPECT_EQ(to_string(kReaders), "reader, editor or admin");
  EXPECT_EQ(to_string(kEditors), "editor or admin");
  EXPECT_EQ(to_string(kAdmins), "admin");
  EXPECT_EQ(to_string(Roles()), "");
  EXPECT_FALSE(kReaders.has(Role::Worker));
  EXPECT_TRUE(kReaders.with(Role::Worker).has(Role::Worker));
}

}  // namespace
}  // namespace quern::access
