#include "bench/store/raw.h"

#include <libpq-fe.h>
#include <sqlite3.h>

#include <string>
#include <vector>

#include "base/check.h"

namespace quern::bench {
namespace {

class RawSqlite final : public RawStore {
 public:
  explicit RawSqlite(const std::string& path) {
    CHECK(sqlite3_open(path.c_str(), &database_) == SQLITE_OK);
    exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    exec("CREATE TABLE IF NOT EXISTS raw (key INTEGER PRIMARY KEY, text TEXT NOT NULL)");
    CHECK(sqlite3_prepare_v2(database_, "INSERT INTO raw VALUES (?, ?)", -1, &insert_, nullptr) ==
          SQLITE_OK);
  }
  ~RawSqlite() override {
    sqlite3_finalize(insert_);
    sqlite3_close(database_);
  }

  void insert(std::int64_t key, int count, const std::string& text) override {
    if (count > 1) exec("BEGIN");
    for (int i = 0; i < count; ++i) {
      sqlite3_bind_int64(insert_, 1, key + i);
      sqlite3_bind_text(insert_, 2, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
      CHECK(sqlite3_step(insert_) == SQLITE_DONE);
      sqlite3_reset(insert_);
    }
    if (count > 1) exec("COMMIT");
  }

 private:
  void exec(const char* sql) {
    CHECK(sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  }
  sqlite3* database_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
};

class RawPostgres final : public RawStore {
 public:
  explicit RawPostgres(const std::string& url) : connection_(PQconnectdb(url.c_str())) {
    CHECK(PQstatus(connection_) == CONNECTION_OK);
    done(PQexec(connection_, "CREATE TABLE IF NOT EXISTS raw (key BIGINT PRIMARY KEY, text TEXT)"));
    done(
        PQprepare(connection_, "one", "INSERT INTO raw VALUES ($1::bigint, $2::text)", 2, nullptr));
    done(PQprepare(connection_, "many",
                   "INSERT INTO raw SELECT * FROM unnest($1::bigint[], $2::text[])", 2, nullptr));
  }
  ~RawPostgres() override { PQfinish(connection_); }

  void insert(std::int64_t key, int count, const std::string& text) override {
    std::string keys = std::to_string(key);
    std::string texts = text;
    if (count > 1) {
      keys = "{";
      texts = "{";
      for (int i = 0; i < count; ++i) {
        keys += (i > 0 ? "," : "") + std::to_string(key + i);
        texts += (i > 0 ? "," : "") + text;
      }
      keys += "}";
      texts += "}";
    }
    const char* const values[] = {keys.c_str(), texts.c_str()};
    done(PQexecPrepared(connection_, count > 1 ? "many" : "one", 2, values, nullptr, nullptr, 0));
  }

 private:
  static void done(PGresult* result) {
    CHECK(PQresultStatus(result) == PGRES_COMMAND_OK);
    PQclear(result);
  }
  PGconn* connection_;
};

}  // namespace

std::unique_ptr<RawStore> open_raw_sqlite(const std::string& path) {
  return std::make_unique<RawSqlite>(path);
}

std::unique_ptr<RawStore> open_raw_postgres(const std::string& url) {
  return std::make_unique<RawPostgres>(url);
}

}  // namespace quern::bench
