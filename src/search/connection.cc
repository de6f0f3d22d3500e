#include "search/connection.h"

#include <sqlite3.h>

#include <algorithm>

#include "search/columns.h"
#include "search/pack_finish.h"
#include "search/pack_format.h"
#include "search/query.h"

namespace quern::search {
namespace {

constexpr char kSchemaOf[] =
    "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name, tbl_name";
constexpr char kMapAll[] = "PRAGMA mmap_size = 1099511627776; PRAGMA cache_size = -2048;";
constexpr char kDocument[] =
    "SELECT page, title, filename, author, sender, url, text_bytes, page_ends, text FROM doc"
    " WHERE row = ?1";
constexpr char kPath[] = "SELECT url, filename FROM doc WHERE row = ?1";
constexpr char kTerm[] = "SELECT documents, list FROM term WHERE token = ?1";
constexpr char kMatch[] = "SELECT rowid, quern_weight(words) FROM words WHERE words MATCH ?1";
constexpr char kHas[] = "SELECT 1 FROM words WHERE words MATCH ?1 LIMIT 1";
constexpr char kSpots[] = "SELECT data FROM spot WHERE id = ?1";
constexpr char kCount[] = "SELECT documents FROM list WHERE id = ?1";
constexpr char kRows[] = "SELECT rows FROM list WHERE id = ?1";
constexpr char kBest[] = "SELECT best FROM list WHERE id = ?1";
constexpr char kBegin[] =
    "SELECT token, documents FROM begin WHERE beginning = ?1 ORDER BY place LIMIT ?2";
constexpr char kRange[] =
    "SELECT token, documents, word, alone FROM term WHERE token >= ?1 AND token < ?2"
    " ORDER BY token LIMIT ?3";

// The largest value that SQLite hands out; a text of kTextBytesMax fits.
constexpr int kValueBytesMax = 600 * 1024 * 1024;
// A beginning with more words has its best ones in a table; where a damaged pack says otherwise, so
// many are looked at.
constexpr std::int64_t kWordsScannedMax = 4 * kBeginningWordsMin;

Result<std::string> schema_of(SqliteFile& file) {
  TRY_ASSIGN(Statement rows, file.prepare(kSchemaOf));
  std::string schema;
  while (true) {
    TRY_ASSIGN(const bool more, rows.step());
    if (!more) return schema;
    for (int column = 0; column < 4; ++column) {
      schema.append(rows.bytes(column)).append(1, '\0');
    }
  }
}

// What SQLite makes of the schema of packs: it adds the tables of FTS5.
const Result<std::string>& expected_schema() {
  static const Result<std::string> schema = []() -> Result<std::string> {
    RowHits hits;
    TRY_ASSIGN(SqliteFile memory, SqliteFile::open("", SqliteFile::Mode::Memory));
    TRY(register_fts(memory.get(), &hits));
    TRY(memory.run(kPackSchema));
    return schema_of(memory);
  }();
  return schema;
}

bool more_frequent(const Suggestion& a, const Suggestion& b) {
  if (a.documents != b.documents) return a.documents > b.documents;
  return a.word < b.word;
}

const char* column_of(Field field) {
  switch (field) {
    case Field::Any:
      return "";
    case Field::Title:
      return "{title} : ";
    case Field::Filename:
      return "{filename} : ";
    case Field::Author:
      return "{author} : ";
    case Field::From:
      return "{sender} : ";
  }
  return "";
}

}  // namespace

std::optional<std::string> phrase_text(std::span<const std::string> tokens, Field field,
                                       LastToken last) {
  std::string text = column_of(field);
  text += '"';
  for (const std::string& token : tokens) {
    // FTS5 reads up to a zero byte. No token has one.
    if (token.empty() || token.find('\0') != std::string::npos) return std::nullopt;
    if (&token != tokens.data()) text += ' ';
    for (const char c : token) text.append(c == '"' ? 2 : 1, c);
  }
  text += last == LastToken::Beginning ? "\" *" : "\"";
  if (tokens.empty()) return std::nullopt;
  return text;
}

Result<std::unique_ptr<Connection>> Connection::open(const std::filesystem::path& path) {
  TRY_ASSIGN(SqliteFile file, SqliteFile::open(path, SqliteFile::Mode::ReadImmutable));
  std::unique_ptr<Connection> connection(new Connection(std::move(file)));
  sqlite3* database = connection->file_.get();
  sqlite3_limit(database, SQLITE_LIMIT_LENGTH, kValueBytesMax);
  sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
  TRY(register_fts(database, &connection->hits_));
  TRY(connection->file_.run(kMapAll));
  const auto& expected = expected_schema();
  if (!expected) return expected.error();
  TRY_ASSIGN(const std::string schema, schema_of(connection->file_));
  if (schema != *expected) return Error{Errc::Corrupt, "this is not a pack of this version"};
  TRY(connection->prepare());
  return connection;
}

Result<> Connection::prepare() {
  TRY_ASSIGN(document_, file_.prepare(kDocument));
  TRY_ASSIGN(path_, file_.prepare(kPath));
  TRY_ASSIGN(term_, file_.prepare(kTerm));
  TRY_ASSIGN(match_, file_.prepare(kMatch));
  TRY_ASSIGN(has_, file_.prepare(kHas));
  TRY_ASSIGN(spots_, file_.prepare(kSpots));
  TRY_ASSIGN(count_, file_.prepare(kCount));
  TRY_ASSIGN(rows_, file_.prepare(kRows));
  TRY_ASSIGN(best_, file_.prepare(kBest));
  TRY_ASSIGN(begin_, file_.prepare(kBegin));
  TRY_ASSIGN(range_, file_.prepare(kRange));
  return {};
}

Result<DocumentRow> Connection::document(std::uint32_t row) {
  document_.reset();
  document_.bind(1, row);
  TRY_ASSIGN(const bool there, document_.step());
  if (!there) return Error{Errc::Missing, "the pack has no row " + std::to_string(row)};
  return DocumentRow{.page = document_.number(0),
                     .title = document_.bytes(1),
                     .filename = document_.bytes(2),
                     .author = document_.bytes(3),
                     .sender = document_.bytes(4),
                     .url = document_.bytes(5),
                     .text_bytes = document_.number(6),
                     .page_ends = document_.bytes(7),
                     .text = document_.bytes(8)};
}

Result<std::string> Connection::path(std::uint32_t row) {
  const ResetAtEnd reset(path_);
  path_.bind(1, row);
  TRY_ASSIGN(const bool there, path_.step());
  if (!there) return Error{Errc::Corrupt, "the pack has no row " + std::to_string(row)};
  return document_path(path_.bytes(0), path_.bytes(1));
}

Result<TermRow> Connection::term(std::string_view token) {
  const ResetAtEnd reset(term_);
  term_.bind_text(1, token);
  TRY_ASSIGN(const bool there, term_.step());
  if (!there) return TermRow{};
  return TermRow{term_.number(0), term_.number(1)};
}

Result<std::vector<Posting>> Connection::match(const std::string& phrase, std::size_t documents,
                                               std::vector<std::vector<Spot>>* spots) {
  const ResetAtEnd reset(match_);
  hits_.wants_spots = spots != nullptr;
  match_.bind_text(1, phrase);
  std::vector<Posting> postings;
  while (true) {
    TRY_ASSIGN(const bool more, match_.step());
    if (!more) return postings;
    const std::int64_t row = match_.number(0);
    const auto before = postings.empty() ? 0 : std::int64_t{postings.back().row};
    if (row <= before || row > static_cast<std::int64_t>(documents)) {
      return Error{Errc::Corrupt, "pack: rows are in disorder"};
    }
    const auto weight = static_cast<std::uint32_t>(std::max<std::int64_t>(1, match_.number(1)));
    postings.push_back({static_cast<std::uint32_t>(row), weight});
    if (spots != nullptr) spots->push_back(hits_.spots);
  }
}

Result<bool> Connection::has(const std::string& phrase) {
  const ResetAtEnd reset(has_);
  has_.bind_text(1, phrase);
  return has_.step();
}

Result<> Connection::spots(std::int64_t list, std::pair<std::size_t, std::size_t> place,
                           std::vector<Spot>& into) {
  const ResetAtEnd reset(spots_);
  spots_.bind(1, spots_id(list, place.first));
  TRY_ASSIGN(const bool there, spots_.step());
  if (!there) return Error{Errc::Corrupt, "pack: spots are missing"};
  return take_spots(spots_.bytes(0), place.second, into);
}

Result<std::int64_t> Connection::list_rows(std::int64_t id) {
  const ResetAtEnd reset(count_);
  count_.bind(1, id);
  TRY_ASSIGN(const bool there, count_.step());
  return there ? count_.number(0) : 0;
}

Result<std::string> Connection::list(std::int64_t id, ListPart part) {
  Statement& select = part == ListPart::Rows ? rows_ : best_;
  const ResetAtEnd reset(select);
  select.bind(1, id);
  TRY_ASSIGN(const bool there, select.step());
  return there ? std::string(select.bytes(0)) : std::string();
}

Result<bool> Connection::best_words(const std::string& beginning, Beginning& found) {
  const ResetAtEnd reset(begin_);
  begin_.bind_text(1, beginning).bind(2, static_cast<std::int64_t>(kBeginningWordsKept));
  while (true) {
    TRY_ASSIGN(const bool more, begin_.step());
    if (!more) return !found.words.empty();
    found.words.push_back({std::string(begin_.bytes(0)), begin_.number(1)});
    found.rows += std::max<std::int64_t>(0, found.words.back().documents);
  }
}

Result<> Connection::scan_words(const std::string& beginning, Beginning& found) {
  // Behind every word that begins so: no letter of UTF-8 has this byte.
  const std::string end = beginning + '\xFF';
  const ResetAtEnd reset(range_);
  range_.bind_text(1, beginning).bind_text(2, end).bind(3, kWordsScannedMax);
  std::int64_t seen = 0;
  std::int64_t alone_first = 0;
  std::int64_t alone_last = 0;
  while (true) {
    TRY_ASSIGN(const bool more, range_.step());
    if (!more) break;
    if (seen++ == 0) alone_first = range_.number(3);
    alone_last = range_.number(3);
    const std::int64_t documents = std::clamp<std::int64_t>(range_.number(1), 0, kPackDocumentsMax);
    found.rows += documents;
    if (range_.number(2) != 0) found.words.push_back({std::string(range_.bytes(0)), documents});
  }
  found.rows += std::clamp<std::int64_t>(alone_last - alone_first, 0, kPackDocumentsMax);
  found.complete = seen < kWordsScannedMax;
  std::ranges::sort(found.words, more_frequent);
  return {};
}

Result<Beginning> Connection::words_of(const std::string& beginning) {
  Beginning found;
  TRY_ASSIGN(const bool many, best_words(beginning, found));
  found.complete = !many;
  if (!many) TRY(scan_words(beginning, found));
  return found;
}

PooledConnection::~PooledConnection() {
  if (!connection_) return;
  connection_->rest();
  const std::lock_guard lock(pool_->mutex_);
  pool_->free_.push_back(std::move(connection_));
}

Result<PooledConnection> ConnectionPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<Connection> connection = std::move(free_.back());
      free_.pop_back();
      return PooledConnection(std::move(connection), *this);
    }
  }
  TRY_ASSIGN(std::unique_ptr<Connection> connection, Connection::open(path_));
  return PooledConnection(std::move(connection), *this);
}

}  // namespace quern::search
