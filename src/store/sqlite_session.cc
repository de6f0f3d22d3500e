#include "store/sqlite_session.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <string>

#include "base/crash.h"
#include "base/log.h"

namespace quern::store {
namespace {

constexpr Sql kBeginRead{"BEGIN"};
constexpr Sql kBeginWrite{"BEGIN IMMEDIATE"};
constexpr Sql kCommit{"COMMIT"};
constexpr Sql kRollback{"ROLLBACK"};
constexpr Sql kSavepoint{"SAVEPOINT operation"};
constexpr Sql kRelease{"RELEASE operation"};
constexpr Sql kRollbackTo{"ROLLBACK TO operation"};
constexpr Sql kAdvanceClock{"UPDATE store_clock SET now_us = max(now_us, $1) RETURNING now_us"};

constexpr int kProgressStep = 10'000;  // virtual machine instructions between looks at the deadline

Errc kind_of(int code) {
  switch (code & 0xFF) {
    case SQLITE_CONSTRAINT:
      return Errc::Conflict;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Errc::Busy;
    case SQLITE_FULL:
      return Errc::Full;
    case SQLITE_INTERRUPT:
      return Errc::Timeout;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Errc::Corrupt;
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
      return Errc::Unavailable;
    case SQLITE_PERM:
    case SQLITE_READONLY:
      return Errc::Denied;
    case SQLITE_TOOBIG:
      return Errc::TooLarge;
    default:
      return Errc::Internal;
  }
}

Cell cell_of(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL:
      return std::monostate{};
    case SQLITE_INTEGER:
      return sqlite3_column_int64(statement, column);
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    default: {
      const void* bytes = sqlite3_column_blob(statement, column);
      const int size = sqlite3_column_bytes(statement, column);
      return std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
    }
  }
}

int bind_one(sqlite3_stmt* statement, int position, const Param& param) {
  if (param.null) return sqlite3_bind_null(statement, position);
  // A null pointer would bind NULL; an empty text is a text.
  const char* bytes = param.bytes.empty() ? "" : param.bytes.data();
  switch (param.type) {
    case Param::Type::Bool:
    case Param::Type::Int:
      return sqlite3_bind_int64(statement, position, param.integer);
    case Param::Type::Real:
      return sqlite3_bind_double(statement, position, param.real);
    case Param::Type::Text:
      return sqlite3_bind_text64(statement, position, bytes, param.bytes.size(), SQLITE_STATIC,
                                 SQLITE_UTF8);
    case Param::Type::Blob:
      return sqlite3_bind_blob64(statement, position, bytes, param.bytes.size(), SQLITE_STATIC);
  }
  return SQLITE_MISUSE;
}

}  // namespace

Result<std::unique_ptr<SqliteSession>> SqliteSession::open(
    const SqliteOptions& options, Access access, std::atomic<std::int64_t>* high_water_us) {
  sqlite3* database = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const int code = sqlite3_open_v2(options.path.c_str(), &database, flags, nullptr);
  std::unique_ptr<SqliteSession> session(new SqliteSession(database, options, high_water_us));
  if (code != SQLITE_OK) return session->last_error("opening");
  sqlite3_extended_result_codes(database, 1);
  TRY(session->configure(access));
  return session;
}

SqliteSession::~SqliteSession() {
  for (auto& [text, prepared] : prepared_) sqlite3_finalize(prepared.statement);
  sqlite3_close(database_);
}

Result<> SqliteSession::configure(Access access) {
  TRY(
      script("PRAGMA journal_mode = WAL;"
             "PRAGMA synchronous = FULL;"
             "PRAGMA foreign_keys = ON;"
             "PRAGMA trusted_schema = OFF;"
             "PRAGMA cell_size_check = ON;"
             "PRAGMA temp_store = MEMORY;"
             "PRAGMA busy_timeout = 1000;"
             "PRAGMA cache_size = -6000;"
             "PRAGMA wal_autocheckpoint = 2000;"
             "PRAGMA journal_size_limit = 67108864;"));
  if (access == Access::Read) {
    // A page cache each: small, so that memory is soon what it will be for ever.
    TRY(script("PRAGMA query_only = ON; PRAGMA cache_size = -2000"));
    // A reader that stays would keep the log from being checkpointed.
    sqlite3_progress_handler(
        database_, kProgressStep,
        [](void* self) {
          const auto& session = *static_cast<SqliteSession*>(self);
          const std::int64_t deadline = session.read_deadline_us_;
          return deadline != 0 && session.options_.clock->monotonic_us() > deadline ? 1 : 0;
        },
        this);
  } else if (options_.page_count_max > 0) {
    TRY(script(fmt::format("PRAGMA max_page_count = {}", options_.page_count_max)));
  }
  return {};
}

Error SqliteSession::last_error(std::string_view doing) const {
  const int code = sqlite3_extended_errcode(database_);
  return Error{kind_of(code), fmt::format("{} {}: {} ({})", doing, options_.path,
                                          sqlite3_errmsg(database_), code)};
}

Result<SqliteSession::Prepared*> SqliteSession::prepare(const char* text) {
  const auto found = prepared_.find(text);
  if (found != prepared_.end()) return &found->second;
  Prepared prepared;
  const int code = sqlite3_prepare_v3(database_, text, -1, SQLITE_PREPARE_PERSISTENT,
                                      &prepared.statement, nullptr);
  if (code != SQLITE_OK) return last_error(fmt::format("preparing '{}' for", text));
  prepared.read_only = sqlite3_stmt_readonly(prepared.statement) != 0;
  // SQLite numbers $-parameters by appearance, so look each up by name.
  const int count = sqlite3_bind_parameter_count(prepared.statement);
  for (int i = 1, seen = 0; seen < count; ++i) {
    const std::string name = "$" + std::to_string(i);
    prepared.positions.push_back(sqlite3_bind_parameter_index(prepared.statement, name.c_str()));
    if (prepared.positions.back() != 0) ++seen;
    CHECK(i < 1000);
  }
  return &prepared_.emplace(text, std::move(prepared)).first->second;
}

void SqliteSession::bind(Prepared& prepared, std::span<const Param> params) {
  CHECK(params.size() >= prepared.positions.size());
  for (std::size_t i = 0; i < prepared.positions.size(); ++i) {
    if (prepared.positions[i] == 0) continue;
    CHECK(bind_one(prepared.statement, prepared.positions[i], params[i]) == SQLITE_OK);
  }
}

Result<> SqliteSession::step_all(Prepared& prepared, std::span<const Param> params, Rows& rows) {
  bind(prepared, params);
  if (!prepared.read_only) rows.mark_written();
  int code = 0;
  while ((code = sqlite3_step(prepared.statement)) == SQLITE_ROW) {
    const int width = sqlite3_data_count(prepared.statement);
    rows.set_width(static_cast<std::size_t>(width));
    for (int i = 0; i < width; ++i) rows.add(cell_of(prepared.statement, i));
    CHECK(rows.size() <= kRowsMax);
  }
  if (code == SQLITE_DONE) {
    if (!prepared.read_only) rows.count(sqlite3_changes64(database_));
    sqlite3_reset(prepared.statement);
    return {};
  }
  Error error = last_error("in");
  sqlite3_reset(prepared.statement);
  return error;
}

Result<Rows> SqliteSession::run(const Sql& sql, std::span<const Param> params) {
  TRY_ASSIGN(Prepared* const prepared, prepare(sql.text(StoreKind::Sqlite)));
  Rows rows;
  TRY(step_all(*prepared, params, rows));
  return rows;
}

Result<Rows> SqliteSession::run_bulk(const Sql& sql, const Bulk& bulk) {
  TRY_ASSIGN(Prepared* const prepared, prepare(sql.text(StoreKind::Sqlite)));
  Rows rows;
  for (std::size_t i = 0; i < bulk.rows(); ++i) {
    TRY(step_all(*prepared, bulk.row(i), rows));
  }
  return rows;
}

Result<> SqliteSession::script(const std::string& sql) {
  if (sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return last_error("in");
}

Result<> SqliteSession::begin_read() {
  now_us_ = 0;
  read_deadline_us_ = options_.clock->monotonic_us() + options_.read_ms_max * 1000LL;
  TRY(run(kBeginRead, {}));
  return {};
}

Result<> SqliteSession::begin_write() {
  now_us_ = 0;
  TRY(run(kBeginWrite, {}));
  // With the transaction, not now and then: a time that was used is never below the stored mark.
  const Param clock[] = {options_.clock->now_us()};
  Result<Rows> advanced = run(kAdvanceClock, clock);
  if (!advanced.ok()) {
    rollback();
    return std::move(advanced).error();
  }
  CHECK(advanced->size() == 1);
  now_us_ = (*advanced)[0].get<std::int64_t>(0);
  return {};
}

Result<> SqliteSession::commit() {
  read_deadline_us_ = 0;
  Result<Rows> done = run(kCommit, {});
  if (done.ok()) {
    if (now_us_ > high_water_us_->load()) high_water_us_->store(now_us_);
    return {};
  }
  // The log's tail may or may not be on the disk now. Only recovery can tell.
  CHECK(done.error().kind() != Errc::Unavailable && "a commit failed to reach the disk");
  rollback();
  return std::move(done).error();
}

void SqliteSession::rollback() {
  read_deadline_us_ = 0;
  if (!in_transaction()) return;
  const Result<Rows> done = run(kRollback, {});
  CHECK(done.ok() || !in_transaction());
}

bool SqliteSession::in_transaction() const {
  return sqlite3_get_autocommit(database_) == 0;
}

Result<> SqliteSession::savepoint() {
  TRY(run(kSavepoint, {}));
  return {};
}

Result<> SqliteSession::release_savepoint() {
  TRY(run(kRelease, {}));
  return {};
}

Result<> SqliteSession::rollback_to_savepoint() {
  TRY(run(kRollbackTo, {}));
  return release_savepoint();
}

Result<std::int64_t> SqliteSession::now_us() {
  if (now_us_ == 0) now_us_ = std::max(options_.clock->now_us(), high_water_us_->load());
  return now_us_;
}

}  // namespace quern::store
