#include "store/migration.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <array>

#include "base/crash.h"
#include "base/log.h"

namespace quern::store {
namespace {

constexpr char kCreateTable[] =
    "CREATE TABLE IF NOT EXISTS schema_migration ("
    " number BIGINT PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL,"
    " applied_us BIGINT NOT NULL)";
constexpr char kLockSqlite[] = "BEGIN IMMEDIATE";
// Whoever reads the table for long (a dump, say) holds us up; then we say so instead of waiting on.
constexpr char kLockPostgres[] =
    "SET lock_timeout = '30s'; BEGIN; LOCK TABLE schema_migration IN ACCESS EXCLUSIVE MODE";
constexpr Sql kApplied{"SELECT number, sha256 FROM schema_migration ORDER BY number"};
constexpr Sql kAdd{
    "INSERT INTO schema_migration (number, name, sha256, applied_us) VALUES ($1, $2, $3, $4)"};

constexpr int kCreateAttemptsMax = 5;

std::string sha256_hex(const std::string& text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

// CREATE TABLE IF NOT EXISTS of two PostgreSQL sessions at once can fail for one of them.
Result<> create_table(Session& session) {
  Result<> created;
  for (int attempt = 0; attempt < kCreateAttemptsMax; ++attempt) {
    created = session.script(kCreateTable);
    if (created.ok() || created.error().kind() != Errc::Conflict) break;
  }
  return created;
}

Result<> verify_applied(const Rows& applied, const std::vector<Migration>& all) {
  if (applied.size() > all.size()) {
    return Error{Errc::Conflict,
                 fmt::format("the store has schema {}, newer than this program's {}; use a newer "
                             "quern",
                             applied.size(), all.size())};
  }
  for (std::size_t i = 0; i < applied.size(); ++i) {
    if (applied[i].get<int>(0) == all[i].number &&
        applied[i].get<std::string>(1) == sha256_hex(all[i].sql)) {
      continue;
    }
    return Error{Errc::Corrupt,
                 fmt::format("migration {:04}_{} is not the one that was applied to this store",
                             all[i].number, all[i].name)};
  }
  return {};
}

// Without a lock: on most starts there is nothing to do.
Result<bool> is_up_to_date(Session& session, const std::vector<Migration>& all) {
  TRY_ASSIGN(const Rows applied, session.run(kApplied, {}));
  TRY(verify_applied(applied, all));
  return applied.size() == all.size();
}

Result<int> apply_missing(Session& session, const std::vector<Migration>& all, MigratePolicy policy,
                          std::int64_t now_us) {
  TRY_ASSIGN(const Rows applied, session.run(kApplied, {}));
  TRY(verify_applied(applied, all));
  const std::size_t missing = all.size() - applied.size();
  if (missing > 0 && policy == MigratePolicy::Refuse) {
    return Error{
        Errc::Conflict,
        fmt::format("the store has schema {}, this program needs {}; start it once without "
                    "--no-migrate",
                    applied.size(), all.size())};
  }
  for (std::size_t i = applied.size(); i < all.size(); ++i) {
    const Migration& script = all[i];
    Result<> done = session.script(script.sql);
    if (!done.ok()) {
      return std::move(done).error().with_context(
          fmt::format("migration {:04}_{}", script.number, script.name));
    }
    const std::string digest = sha256_hex(script.sql);
    const Param row[] = {script.number, script.name, digest, now_us};
    TRY(session.run(kAdd, row));
    crash_point("store.migration.applied");
  }
  return static_cast<int>(missing);
}

}  // namespace

Result<int> migrate(Session& session, const std::vector<Migration>& all, MigratePolicy policy,
                    std::int64_t now_us) {
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i].number == static_cast<int>(i) + 1);
  TRY(create_table(session));
  TRY_ASSIGN(const bool up_to_date, is_up_to_date(session, all));
  if (up_to_date) return 0;
  TRY(session.script(session.kind() == StoreKind::Sqlite ? kLockSqlite : kLockPostgres));
  Result<int> applied = apply_missing(session, all, policy, now_us);
  if (!applied.ok()) {
    session.rollback();
    return applied;
  }
  {
    const DurableWrite write("commit", "migration");
    TRY(session.script("COMMIT"));
  }
  if (*applied > 0) log_info("store.migrated", {{"applied", *applied}, {"schema", all.size()}});
  return applied;
}

}  // namespace quern::store
