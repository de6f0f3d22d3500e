// Connection: what one thread asks of the file of a pack. Kept in a pool, with its statements.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "search/fts.h"
#include "search/list.h"
#include "search/pack.h"
#include "search/sqlite_file.h"

namespace quern::search {

// Good until the next one is asked for.
struct DocumentRow {
  std::int64_t page = 0;
  std::string_view title;
  std::string_view filename;
  std::string_view author;
  std::string_view sender;
  std::string_view url;
  std::int64_t text_bytes = 0;
  std::string_view page_ends;
  std::string_view text;  // packed
};

struct TermRow {
  std::int64_t documents = 0;
  std::int64_t list = 0;  // 0: it has none
};

// Words of a beginning.
struct Beginning {
  std::vector<Suggestion> words;  // the most frequent first
  std::int64_t rows = 0;          // of all its words, counted for each word; an estimate
  bool complete = true;           // these are all of them but those of a single document
};

class Connection {
 public:
  // Corrupt where the schema is not that of a pack.
  static Result<std::unique_ptr<Connection>> open(const std::filesystem::path& path);

  Result<DocumentRow> document(std::uint32_t row);
  // The name that filters of paths look at.
  Result<std::string> path(std::uint32_t row);
  // Of 0 documents where it is not in the table: it may still be in one.
  Result<TermRow> term(std::string_view token);
  // Every row of a MATCH of one phrase, of 1 to `documents`; with their spots, if asked for.
  Result<std::vector<Posting>> match(const std::string& phrase, std::size_t documents,
                                     std::vector<std::vector<Spot>>* spots = nullptr);
  Result<bool> has(const std::string& phrase);
  // Of a token in a row of its list, by the place of the row there.
  Result<> spots(std::int64_t list, std::pair<std::size_t, std::size_t> place,
                 std::vector<Spot>& into);
  // How many rows a list has; 0: there is none.
  Result<std::int64_t> list_rows(std::int64_t id);
  enum class ListPart { Rows, Best };
  // Empty where there is none.
  Result<std::string> list(std::int64_t id, ListPart part);
  Result<Beginning> words_of(const std::string& beginning);

  SqliteFile& file() { return file_; }
  // Lets go of the document that was read last.
  void rest() { document_.reset(); }

 private:
  explicit Connection(SqliteFile file) : file_(std::move(file)) {}
  Result<> prepare();
  Result<bool> best_words(const std::string& beginning, Beginning& found);
  Result<> scan_words(const std::string& beginning, Beginning& found);

  RowHits hits_;
  SqliteFile file_;
  Statement document_;
  Statement path_;
  Statement term_;
  Statement match_;
  Statement has_;
  Statement spots_;
  Statement count_;
  Statement rows_;
  Statement best_;
  Statement begin_;
  Statement range_;
};

class ConnectionPool;

// Goes back to its pool.
class PooledConnection {
 public:
  PooledConnection(std::unique_ptr<Connection> connection, ConnectionPool& pool)
      : connection_(std::move(connection)), pool_(&pool) {}
  ~PooledConnection();
  PooledConnection(PooledConnection&&) noexcept = default;
  PooledConnection& operator=(PooledConnection&&) = delete;
  Connection* operator->() const { return connection_.get(); }
  Connection& operator*() const { return *connection_; }

 private:
  std::unique_ptr<Connection> connection_;
  ConnectionPool* pool_;
};

// As many as ask at the same time, made when they are first needed.
class ConnectionPool {
 public:
  explicit ConnectionPool(std::filesystem::path path) : path_(std::move(path)) {}
  Result<PooledConnection> take();

 private:
  friend class PooledConnection;
  std::filesystem::path path_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> free_;
};

// A phrase as FTS5 reads it. `field` is the name of a column, or empty for all of them. Nothing
// where no document can have it.
enum class LastToken { Whole, Beginning };
std::optional<std::string> phrase_text(std::span<const std::string> tokens, Field field,
                                       LastToken last);

}  // namespace quern::search
