// Session: one connection to a store, behind the seam that both drivers implement.
//
// A session belongs to one thread at a time. Statements are prepared once and kept. Expected
// failures come back as kinds: Conflict (a constraint), Busy (deadlock, lock), Full (no space),
// Timeout, Unavailable (the connection is gone: lost() is then true), Corrupt; anything else is
// Internal.
//
// After an error look at in_transaction(): SQLite ends a whole transaction when the disk is full,
// also inside a savepoint; PostgreSQL keeps one that can only be rolled back.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"
#include "store/rows.h"
#include "store/sql.h"

namespace quern::store {

class Session {
 public:
  virtual ~Session() = default;

  virtual StoreKind kind() const = 0;
  virtual Result<Rows> run(const Sql& sql, std::span<const Param> params) = 0;
  virtual Result<Rows> run_bulk(const Sql& sql, const Bulk& bulk) = 0;
  // Several statements without parameters: migrations and tests.
  virtual Result<> script(const std::string& sql) = 0;

  virtual Result<> begin_read() = 0;
  // A transaction of the writer: it also advances what makes lost commits and clocks decidable.
  virtual Result<> begin_write() = 0;
  // An error with lost() leaves it open whether the commit happened: see last_commit_happened().
  virtual Result<> commit() = 0;
  virtual void rollback() = 0;
  virtual bool in_transaction() const = 0;

  virtual Result<> savepoint() = 0;
  virtual Result<> release_savepoint() = 0;
  virtual Result<> rollback_to_savepoint() = 0;

  // The database's time in this transaction, in microseconds since the epoch; it never goes back.
  virtual Result<std::int64_t> now_us() = 0;

  virtual bool lost() const = 0;
  // One attempt to connect again.
  virtual Result<> reconnect() = 0;
  // After a commit whose answer was lost, on a connection made since: whether it happened. Waits
  // for a former connection that is still in that commit.
  virtual Result<bool> last_commit_happened() = 0;
};

}  // namespace quern::store
