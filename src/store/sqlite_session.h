// The SQLite driver: WAL, synchronous=FULL, one connection per session.
//
// Only the owner of the folder opens the file, so there is one writer and locks never contend. Time
// is the clock's, but never below the mark stored with each write transaction: a clock that was set
// back, also across a restart, stands still until it catches up.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>

#include "io/clock.h"
#include "store/session.h"

struct sqlite3;
struct sqlite3_stmt;

namespace quern::store {

struct SqliteOptions {
  std::string path;
  const io::Clock* clock = nullptr;
  std::int64_t page_count_max = 0;  // 0: as many as the disk holds
  int read_ms_max = 1000;           // a read transaction that lasts longer is interrupted
};

class SqliteSession final : public Session {
 public:
  enum class Access { Write, Read };

  // high_water_us is shared by all sessions of a database.
  static Result<std::unique_ptr<SqliteSession>> open(const SqliteOptions& options, Access access,
                                                     std::atomic<std::int64_t>* high_water_us);
  ~SqliteSession() override;

  StoreKind kind() const override { return StoreKind::Sqlite; }
  Result<Rows> run(const Sql& sql, std::span<const Param> params) override;
  Result<Rows> run_bulk(const Sql& sql, const Bulk& bulk) override;
  Result<> script(const std::string& sql) override;
  Result<> begin_read() override;
  Result<> begin_write() override;
  Result<> commit() override;
  void rollback() override;
  bool in_transaction() const override;
  Result<> savepoint() override;
  Result<> release_savepoint() override;
  Result<> rollback_to_savepoint() override;
  Result<std::int64_t> now_us() override;
  bool lost() const override { return false; }
  Result<> reconnect() override { return {}; }
  Result<bool> last_commit_happened() override { return true; }

 private:
  struct Prepared {
    sqlite3_stmt* statement = nullptr;
    std::vector<int> positions;  // of $1, $2, ...; 0 where the text does not use it
    bool read_only = true;
  };

  SqliteSession(sqlite3* database, const SqliteOptions& options,
                std::atomic<std::int64_t>* high_water_us)
      : database_(database), options_(options), high_water_us_(high_water_us) {}

  Result<> configure(Access access);
  Result<Prepared*> prepare(const char* text);
  Result<> step_all(Prepared& prepared, std::span<const Param> params, Rows& rows);
  void bind(Prepared& prepared, std::span<const Param> params);
  Error last_error(std::string_view doing) const;

  sqlite3* database_;
  SqliteOptions options_;
  std::atomic<std::int64_t>* high_water_us_;
  std::unordered_map<const char*, Prepared> prepared_;
  std::int64_t read_deadline_us_ = 0;  // monotonic; 0: none
  std::int64_t now_us_ = 0;            // of the transaction; 0: not asked yet
};

}  // namespace quern::store
