// Migrations: numbered scripts that bring a store to the schema this program needs. Forward only.
//
// Guarantee: a store is at one version, with every script up to it applied whole, once. All missing
// scripts run in one transaction under an exclusive lock, so of several servers that start together
// one migrates and the others find it done. A script that changed after it was applied, or a store
// newer than the program, is refused.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "store/session.h"

namespace quern::store {

struct Migration {
  int number;
  std::string name;
  std::string sql;
};

// From migrations/, compiled in.
const std::vector<Migration>& sqlite_migrations();
const std::vector<Migration>& postgres_migrations();

enum class MigratePolicy {
  Apply,
  Refuse,  // Conflict where a script is missing: --no-migrate
};

// Returns how many scripts were applied.
Result<int> migrate(Session& session, const std::vector<Migration>& all, MigratePolicy policy,
                    std::int64_t now_us);

}  // namespace quern::store
