#include <sqlite3.h>

#include "base/check.h"
#include "bench/search/engine.h"
#include "search/filter.h"
#include "search/query.h"

namespace quern::bench {
namespace {

constexpr char kSchema[] =
    "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -262144;"
    "CREATE TABLE kind (file INTEGER PRIMARY KEY, type TEXT, day INTEGER);"
    "CREATE VIRTUAL TABLE words USING fts5(title, filename, author, text,"
    " tokenize = 'porter unicode61')";
constexpr char kSearch[] =
    "SELECT rowid, snippet(words, 3, '<mark>', '</mark>', '…', 32) FROM words WHERE words MATCH ?1"
    " ORDER BY bm25(words, 4, 2, 2, 1) LIMIT 10";
constexpr char kFiltered[] =
    "SELECT words.rowid, snippet(words, 3, '<mark>', '</mark>', '…', 32) FROM words"
    " JOIN kind ON kind.file = words.rowid WHERE words MATCH ?1 AND type LIKE ?2"
    " AND day BETWEEN ?3 AND ?4 ORDER BY bm25(words, 4, 2, 2, 1) LIMIT 10";

// What the user typed is nearly FTS5's own language; filters are not, and marks of sentences are an
// error there.
struct Asked {
  std::string match;
  std::string type;
  search::DateRange range;
};

Asked asked(const std::string& text) {
  Asked out;
  const search::Query query = search::parse_query(text);
  if (!query.types.any.empty()) out.type = query.types.any.front();
  if (out.type == "mail") out.type = "rfc822";
  if (out.type == "word") out.type = "wordprocessingml";
  if (!query.dates.any.empty()) out.range = query.dates.any.front();
  out.match = text.substr(0, text.find(" type:"));
  std::erase_if(out.match, [](char c) { return c == '.' || c == '\'' || c == ','; });
  return out;
}

class PlainFts5 final : public Engine {
 public:
  explicit PlainFts5(const std::filesystem::path& folder) : path_(folder / "plain.db") {
    std::filesystem::create_directories(folder);
    std::filesystem::remove(path_);
    CHECK(sqlite3_open(path_.c_str(), &database_) == SQLITE_OK);
    exec(kSchema);
    add_ = prepare("INSERT INTO words (rowid, title, filename, author, text) VALUES (?,?,?,?,?)");
    kind_ = prepare("INSERT INTO kind VALUES (?, ?, ?)");
    search_ = prepare(kSearch);
    filtered_ = prepare(kFiltered);
    exec("BEGIN");
  }
  ~PlainFts5() override {
    for (sqlite3_stmt* statement : {add_, kind_, search_, filtered_}) sqlite3_finalize(statement);
    sqlite3_close(database_);
  }
  PlainFts5(const PlainFts5&) = delete;
  PlainFts5& operator=(const PlainFts5&) = delete;

  void add(const search::PackDocument& document) override {
    sqlite3_bind_int64(add_, 1, document.file);
    bind(add_, 2, document.title);
    bind(add_, 3, document.filename);
    bind(add_, 4, document.author);
    bind(add_, 5, document.text);
    run(add_);
    sqlite3_bind_int64(kind_, 1, document.file);
    bind(kind_, 2, document.type);
    sqlite3_bind_int(kind_, 3, document.day);
    run(kind_);
  }
  void finish() override {
    exec("COMMIT");
    exec("INSERT INTO words (words) VALUES ('optimize')");
  }

  std::vector<std::int64_t> search(const std::string& text) override {
    const Asked query = asked(text);
    sqlite3_stmt* statement = query.type.empty() ? search_ : filtered_;
    bind(statement, 1, query.match);
    const std::string type = "%" + query.type + "%";
    if (!query.type.empty()) {
      bind(statement, 2, type);
      sqlite3_bind_int64(statement, 3, query.range.first);
      sqlite3_bind_int64(statement, 4, query.range.last);
    }
    std::vector<std::int64_t> files;
    while (sqlite3_step(statement) == SQLITE_ROW) {
      files.push_back(sqlite3_column_int64(statement, 0));
      CHECK(sqlite3_column_text(statement, 1) != nullptr);
    }
    CHECK(sqlite3_reset(statement) == SQLITE_OK);
    return files;
  }
  std::uintmax_t bytes() const override { return std::filesystem::file_size(path_); }

 private:
  void exec(const char* sql) {
    CHECK(sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  }
  sqlite3_stmt* prepare(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    CHECK(sqlite3_prepare_v2(database_, sql, -1, &statement, nullptr) == SQLITE_OK);
    return statement;
  }
  static void bind(sqlite3_stmt* statement, int at, const std::string& text) {
    sqlite3_bind_text(statement, at, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
  }
  static void run(sqlite3_stmt* statement) {
    CHECK(sqlite3_step(statement) == SQLITE_DONE);
    sqlite3_reset(statement);
  }

  std::filesystem::path path_;
  sqlite3* database_ = nullptr;
  sqlite3_stmt* add_ = nullptr;
  sqlite3_stmt* kind_ = nullptr;
  sqlite3_stmt* search_ = nullptr;
  sqlite3_stmt* filtered_ = nullptr;
};

}  // namespace

std::unique_ptr<Engine> make_plain_fts5(const std::filesystem::path& folder) {
  return std::make_unique<PlainFts5>(folder);
}

}  // namespace quern::bench
