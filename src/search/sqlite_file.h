// A connection to a SQLite file, and statements, as objects that close themselves. Only for packs:
// the store has its own driver, with transactions and time.
//
// One thread at a time. Errors are kinds by what SQLite says: Corrupt for a damaged file, Full,
// Unavailable for the device.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace quern::search {

struct CloseDatabase {
  void operator()(sqlite3* database) const;
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const;
};

class SqliteFile;

// Prepared once, used again and again: reset() before each use.
class Statement {
 public:
  Statement() = default;
  Statement& bind(int at, std::int64_t number);
  // The bytes must live until the next reset().
  Statement& bind_text(int at, std::string_view text);
  Statement& bind_blob(int at, std::string_view bytes);
  Statement& bind_null(int at);
  void reset();
  // True: there is a row. False: the end.
  Result<bool> step();
  // reset, of a statement that gives no rows.
  Result<> run();
  std::int64_t number(int column) const;
  // Good until the next step.
  std::string_view bytes(int column) const;

 private:
  friend class SqliteFile;
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  std::unique_ptr<sqlite3_stmt, FinalizeStatement> statement_;
};

// Resets a statement at the end of a scope: one that stays open would pin what it reads.
class ResetAtEnd {
 public:
  explicit ResetAtEnd(Statement& statement) : statement_(statement) { statement_.reset(); }
  ~ResetAtEnd() { statement_.reset(); }
  ResetAtEnd(const ResetAtEnd&) = delete;
  ResetAtEnd& operator=(const ResetAtEnd&) = delete;

 private:
  Statement& statement_;
};

class SqliteFile {
 public:
  enum class Mode { Create, ReadImmutable, Memory };
  static Result<SqliteFile> open(const std::filesystem::path& path, Mode mode);

  Result<> run(const char* script);
  Result<Statement> prepare(const char* sql);
  // The first number of the first row; 0 where there is none.
  Result<std::int64_t> number(const char* sql);
  // Statements end with Canceled soon after that is true; it outlives the connection. Null: never.
  void interrupt_when(const std::atomic<bool>* stopping);
  sqlite3* get() const { return database_.get(); }

 private:
  explicit SqliteFile(sqlite3* database) : database_(database) {}
  std::unique_ptr<sqlite3, CloseDatabase> database_;
};

// What the connection says went wrong.
Error sqlite_error(sqlite3* database, std::string_view doing);

}  // namespace quern::search
