#include "search/sqlite_file.h"

#include <sqlite3.h>

namespace quern::search {
namespace {

// A page that is read is checked before it is used; what a schema calls is not trusted.
constexpr char kConfigure[] =
    "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY;";

Errc kind_of(int code) {
  switch (code & 0xFF) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR:  // of a statement of ours: the file is not as we wrote it
    case SQLITE_MISMATCH:
    case SQLITE_FORMAT:
      return Errc::Corrupt;
    case SQLITE_FULL:
      return Errc::Full;
    case SQLITE_TOOBIG:
      return Errc::TooLarge;
    case SQLITE_CONSTRAINT:
      return Errc::Conflict;
    case SQLITE_CANTOPEN:
      return Errc::Missing;
    case SQLITE_INTERRUPT:
    case SQLITE_ABORT:
      return Errc::Canceled;
    default:
      return Errc::Unavailable;
  }
}

// As a URI: what means something there is written as %XX.
std::string uri_of(const std::filesystem::path& path, std::string_view options) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string uri = "file:";
  for (const char c : path.string()) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '?' || c == '#' || c == '%' || byte < 0x21 || byte > 0x7E) {
      uri += '%';
      uri += kHex[byte >> 4];
      uri += kHex[byte & 15];
    } else {
      uri += c;
    }
  }
  return uri.append("?").append(options);
}

constexpr int kInstructionsBetweenLooks = 10'000;

int is_stopping(void* stopping) {
  return static_cast<const std::atomic<bool>*>(stopping)->load() ? 1 : 0;
}

}  // namespace

void CloseDatabase::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}
void FinalizeStatement::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Error sqlite_error(sqlite3* database, std::string_view doing) {
  const int code = sqlite3_errcode(database);
  return {kind_of(code), std::string(doing) + ": " + sqlite3_errmsg(database)};
}

Statement& Statement::bind(int at, std::int64_t number) {
  sqlite3_bind_int64(statement_.get(), at, number);
  return *this;
}

// A null pointer would be NULL, so an empty text points somewhere.
Statement& Statement::bind_text(int at, std::string_view text) {
  sqlite3_bind_text64(statement_.get(), at, text.empty() ? "" : text.data(), text.size(),
                      SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

Statement& Statement::bind_blob(int at, std::string_view bytes) {
  sqlite3_bind_blob64(statement_.get(), at, bytes.empty() ? "" : bytes.data(), bytes.size(),
                      SQLITE_STATIC);
  return *this;
}

Statement& Statement::bind_null(int at) {
  sqlite3_bind_null(statement_.get(), at);
  return *this;
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return sqlite_error(sqlite3_db_handle(statement_.get()), "pack");
}

Result<> Statement::run() {
  const auto stepped = step();
  reset();
  if (!stepped) return stepped.error();
  return {};
}

std::int64_t Statement::number(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string_view Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return data == nullptr
             ? std::string_view()
             : std::string_view(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

Result<SqliteFile> SqliteFile::open(const std::filesystem::path& path, Mode mode) {
  sqlite3* database = nullptr;
  const int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE |
                    (mode == Mode::ReadImmutable ? SQLITE_OPEN_READONLY
                                                 : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  const std::string name = mode == Mode::Memory ? ":memory:"
                           : mode == Mode::ReadImmutable
                               ? uri_of(std::filesystem::absolute(path), "immutable=1&mode=ro")
                               : uri_of(std::filesystem::absolute(path), "mode=rwc");
  const int code = sqlite3_open_v2(name.c_str(), &database, flags, nullptr);
  SqliteFile file(database);
  if (code != SQLITE_OK) {
    return Error{database == nullptr ? Errc::Unavailable : kind_of(code),
                 "opening " + path.string() + ": " + sqlite3_errstr(code)};
  }
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  TRY(file.run(kConfigure));
  return file;
}

Result<> SqliteFile::run(const char* script) {
  if (sqlite3_exec(get(), script, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return sqlite_error(get(), "pack");
}

Result<Statement> SqliteFile::prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) !=
      SQLITE_OK) {
    return sqlite_error(get(), "pack");
  }
  return Statement(statement);
}

Result<std::int64_t> SqliteFile::number(const char* sql) {
  TRY_ASSIGN(Statement statement, prepare(sql));
  TRY_ASSIGN(const bool row, statement.step());
  return row ? statement.number(0) : 0;
}

void SqliteFile::interrupt_when(const std::atomic<bool>* stopping) {
  if (stopping == nullptr) return;
  sqlite3_progress_handler(database_.get(), kInstructionsBetweenLooks, is_stopping,
                           const_cast<std::atomic<bool>*>(stopping));
}

}  // namespace quern::search
