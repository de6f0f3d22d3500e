#include "bench/queue/raw.h"

#include <fmt/format.h>
#include <libpq-fe.h>
#include <sqlite3.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "base/check.h"
#include "bench/queue/report.h"
#include "bench/queue/rig.h"

namespace quern::bench {
namespace {

constexpr char kTable[] =
    "CREATE TABLE raw (id {}, partition BIGINT NOT NULL, name TEXT NOT NULL,"
    " version BIGINT NOT NULL, gate BIGINT NOT NULL, status BIGINT NOT NULL,"
    " priority BIGINT NOT NULL, due_us BIGINT NOT NULL, retry_count BIGINT NOT NULL,"
    " calls BIGINT NOT NULL, interruptions BIGINT NOT NULL, steps BIGINT NOT NULL,"
    " errors TEXT NOT NULL, data {} NOT NULL, put_digest {} NOT NULL, unique_key TEXT,"
    " limit_key TEXT, created_us BIGINT NOT NULL, updated_us BIGINT NOT NULL);"
    "CREATE UNIQUE INDEX raw_name ON raw (partition, name)";
#define QUERN_RAW_COLUMNS                                                                      \
  "INSERT INTO raw (partition, name, version, gate, status, priority, due_us, retry_count,"    \
  " calls, interruptions, steps, errors, data, put_digest, unique_key, limit_key, created_us," \
  " updated_us) "
#define QUERN_RAW_TIME "1700000000000000"

class RawSqlite {
 public:
  explicit RawSqlite(const std::string& path) {
    CHECK(sqlite3_open(path.c_str(), &database_) == SQLITE_OK);
    exec(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 2000;"
        "PRAGMA cache_size = -8000");
    exec(fmt::format(fmt::runtime(kTable), "INTEGER PRIMARY KEY", "BLOB", "BLOB").c_str());
    constexpr char kInsert[] = QUERN_RAW_COLUMNS "VALUES (1, ?, 1, 0, 1, 0, " QUERN_RAW_TIME
                                                 ", 0, 0, 0, 0, '', ?, ?, NULL, NULL,"
                                                 " " QUERN_RAW_TIME ", " QUERN_RAW_TIME ")";
    CHECK(sqlite3_prepare_v2(database_, kInsert, -1, &insert_, nullptr) == SQLITE_OK);
  }
  ~RawSqlite() {
    sqlite3_finalize(insert_);
    sqlite3_close(database_);
  }

  void insert(int first, int count) {
    if (count > 1) exec("BEGIN IMMEDIATE");
    for (int i = first; i < first + count; ++i) {
      const std::string name = item_name(i);
      bind(1, name);
      CHECK(sqlite3_bind_blob(insert_, 2, kItemData.data(), static_cast<int>(kItemData.size()),
                              SQLITE_STATIC) == SQLITE_OK);
      CHECK(sqlite3_bind_blob(insert_, 3, kItemData.data(), 16, SQLITE_STATIC) == SQLITE_OK);
      CHECK(sqlite3_step(insert_) == SQLITE_DONE);
      sqlite3_reset(insert_);
    }
    if (count > 1) exec("COMMIT");
  }

 private:
  void bind(int at, const std::string& text) {
    CHECK(sqlite3_bind_text(insert_, at, text.data(), static_cast<int>(text.size()),
                            SQLITE_TRANSIENT) == SQLITE_OK);
  }
  void exec(const char* sql) {
    CHECK(sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  }
  sqlite3* database_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
};

class RawPostgres {
 public:
  explicit RawPostgres(const std::string& url) : connection_(PQconnectdb(url.c_str())) {
    CHECK(PQstatus(connection_) == CONNECTION_OK);
  }
  ~RawPostgres() { PQfinish(connection_); }

  void make_table() {
    done(PQexec(connection_,
                fmt::format(fmt::runtime(kTable), "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
                            "BYTEA", "BYTEA")
                    .c_str()));
  }
  void prepare() {
    done(PQprepare(connection_, "many",
                   QUERN_RAW_COLUMNS
                   "SELECT 1, w.name, 1, 0, 1, 0, " QUERN_RAW_TIME ", 0, 0, 0, 0, '', w.data,"
                   " w.digest, NULL, NULL, " QUERN_RAW_TIME ", " QUERN_RAW_TIME
                   " FROM unnest($1::text[], $2::bytea[], $3::bytea[]) AS w (name, data, digest)",
                   3, nullptr));
  }
  void insert(int first, int count) {
    std::string names = "{";
    std::string data = "{";
    std::string digests = "{";
    for (int i = first; i < first + count; ++i) {
      const char* comma = i > first ? "," : "";
      names += comma + item_name(i);
      data += comma + kItemData;
      digests += comma + kItemData.substr(0, 16);
    }
    for (std::string* array : {&names, &data, &digests}) *array += "}";
    const char* const values[] = {names.c_str(), data.c_str(), digests.c_str()};
    done(PQexecPrepared(connection_, "many", 3, values, nullptr, nullptr, 0));
  }

 private:
  static void done(PGresult* result) {
    CHECK(PQresultStatus(result) == PGRES_COMMAND_OK);
    PQclear(result);
  }
  PGconn* connection_;
};

template <class Raw>
void insert_all(Raw& raw, int first, int rows, int per_transaction) {
  for (int at = 0; at < rows; at += per_transaction) {
    raw.insert(first + at, std::min(per_transaction, rows - at));
  }
}

}  // namespace

double raw_sqlite(const std::string& path, const RawLoad& load) {
  RawSqlite raw(path);
  const Instant begin = now();
  insert_all(raw, 0, load.rows, load.per_transaction);
  return load.rows / seconds_since(begin);
}

double raw_postgres(const std::string& url, const RawLoad& load) {
  std::vector<std::unique_ptr<RawPostgres>> connections;
  for (int i = 0; i < load.connections; ++i) {
    connections.push_back(std::make_unique<RawPostgres>(url));
    if (i == 0) connections.back()->make_table();
    connections.back()->prepare();
  }
  const int each = load.rows / load.connections;
  const Instant begin = now();
  std::vector<std::thread> threads;
  for (int i = 0; i < load.connections; ++i) {
    threads.emplace_back([&, i] {
      insert_all(*connections[static_cast<std::size_t>(i)], i * each, each, load.per_transaction);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return each * load.connections / seconds_since(begin);
}

}  // namespace quern::bench
