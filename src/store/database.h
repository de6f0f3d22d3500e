// Database: an opened store. It migrates, then makes sessions for the writer and the readers.
//
// The caller makes sure that it is the only process that opens a SQLite file (io::OwnerLock).
#pragma once

#include <atomic>
#include <memory>

#include "base/result.h"
#include "io/clock.h"
#include "store/migration.h"
#include "store/postgres_session.h"
#include "store/session.h"
#include "store/sqlite_session.h"
#include "store/url.h"

namespace quern::store {

struct DatabaseOptions {
  MigratePolicy migrate = MigratePolicy::Apply;
  const io::Clock* clock = nullptr;  // SQLite's time; the system's where null
  std::int64_t sqlite_page_count_max = 0;
  PostgresOptions postgres;  // its url is filled in
};

class Database {
 public:
  static Result<std::unique_ptr<Database>> open(const DatabaseUrl& url,
                                                const DatabaseOptions& options);

  StoreKind kind() const { return url_.kind; }
  const DatabaseUrl& url() const { return url_; }
  const io::Clock& clock() const { return *clock_; }
  // The random name that this database was given when it was made.
  const std::string& identity() const { return identity_; }

  // Any thread. The session must not outlive the database.
  Result<std::unique_ptr<Session>> connect_writer();
  Result<std::unique_ptr<Session>> connect_reader();

 private:
  Database(DatabaseUrl url, const DatabaseOptions& options);
  Result<> prepare(MigratePolicy policy);
  Result<> load_identity(Session& session);

  DatabaseUrl url_;
  const io::Clock* clock_;
  SqliteOptions sqlite_;
  PostgresOptions postgres_;
  std::atomic<std::int64_t> high_water_us_{0};
  std::string identity_;
};

}  // namespace quern::store
