#include "tree/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

namespace quern::tree {
namespace {

using store::Bulk;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

#define QUERN_FILE_COLUMNS                                                                     \
  "f.id, f.collection, f.job, f.partition, f.root, f.parent, f.index_in_parent, f.depth,"      \
  " f.position, f.filename, f.content_type, f.detected_type, f.metadata, f.options, f.blob,"   \
  " f.bytes, f.thumbnail, f.thumbnail_type, f.has_text, f.page, f.pages, f.state, f.class,"    \
  " f.created_us, f.written_us, f.processed_us, f.ingested_us, f.n_children,"                  \
  " f.n_ingested_children, f.step, f.step_version, f.progress_begin, f.progress_end,"          \
  " f.processing_error, f.error_kind, f.attempts, f.interruptions, f.conflicts, f.superseded," \
  " f.tree_files, f.tree_bytes, f.worker, f.note, f.wall_ms, f.cpu_ms, f.peak_kib"
constexpr std::size_t kFileColumns = 46;

constexpr Sql kLoad{"SELECT " QUERN_FILE_COLUMNS " FROM file AS f WHERE f.id = $1"};
constexpr Sql kCollection{"SELECT id FROM collection WHERE name = $1"};
#define QUERN_LIST "SELECT " QUERN_FILE_COLUMNS " FROM file AS f WHERE f.collection = $1"
constexpr Sql kListFiles{QUERN_LIST
                         " AND (f.filename, f.position) > ($2, $3)"
                         " ORDER BY f.filename, f.position LIMIT $4"};
// Documents without a page number come first.
constexpr Sql kListDocuments{QUERN_LIST
                             " AND f.class = 1 AND (f.filename, f.page, f.position) > ($2, $4, $3)"
                             " ORDER BY f.filename, f.page, f.position LIMIT $5"};
constexpr Sql kListErrors{QUERN_LIST
                          " AND f.class = 5 AND (f.filename, f.position) > ($2, $3)"
                          " ORDER BY f.filename, f.position LIMIT $4"};
// Served by file_listed, file_documents and file_errors alone, without a look at the rows. Behind
// 1,000,000 files, on two busy cores: 0.25 s on SQLite, 0.15 to 0.22 s on PostgreSQL, where it took
// 0.9 s before the first vacuum had told which pages all can see.
constexpr Sql kSkipFiles{
    "SELECT filename, -1, position FROM file WHERE collection = $1"
    " ORDER BY filename, position LIMIT 1 OFFSET $2"};
constexpr Sql kSkipDocuments{
    "SELECT filename, page, position FROM file WHERE collection = $1 AND class = 1"
    " ORDER BY filename, page, position LIMIT 1 OFFSET $2"};
constexpr Sql kSkipErrors{
    "SELECT filename, -1, position FROM file WHERE collection = $1 AND class = 5"
    " ORDER BY filename, position LIMIT 1 OFFSET $2"};
constexpr Sql kChildren{"SELECT " QUERN_FILE_COLUMNS
                        " FROM file AS f WHERE f.parent = $1 AND f.index_in_parent > $2"
                        " ORDER BY f.index_in_parent LIMIT $3"};
constexpr Sql kRoots{"SELECT " QUERN_FILE_COLUMNS
                     " FROM file AS f WHERE f.job = $1 AND f.parent IS NULL"
                     " AND f.index_in_parent > $2 ORDER BY f.index_in_parent LIMIT $3"};
constexpr Sql kDigests{
    "SELECT f.id, b.sha256, t.sha256 FROM file AS f LEFT JOIN blob AS b ON b.id = f.blob"
    " LEFT JOIN file_text AS t ON t.file = f.id WHERE f.id = $1",
    "SELECT f.id, b.sha256, t.sha256 FROM file AS f LEFT JOIN blob AS b ON b.id = f.blob"
    " LEFT JOIN file_text AS t ON t.file = f.id WHERE f.id = ANY ($1)"};
constexpr Sql kText{"SELECT text, blob, cut, page_ends FROM file_text WHERE file = $1"};
constexpr Sql kWaiting{"SELECT " QUERN_FILE_COLUMNS
                       ", b.sha256, b.sha1, b.place FROM file AS f JOIN blob AS b ON b.id = f.blob"
                       " WHERE f.partition = $1 AND f.state = 2 AND f.step = $2 AND +f.state < 4"
                       " ORDER BY f.depth DESC, f.id LIMIT $3"};
constexpr Sql kCountWaiting{
    "SELECT step, count(*) FROM (SELECT step FROM file WHERE partition = $1 AND state = 2"
    " AND +state < 4 LIMIT $2) AS w GROUP BY step"};
constexpr Sql kHasRoot{
    "SELECT 1 FROM file AS f JOIN collection AS c ON c.id = f.collection"
    " JOIN blob AS b ON b.id = f.blob WHERE c.name = $1 AND f.filename = $2 AND f.parent IS NULL"
    " AND b.sha256 = $3 LIMIT 1"};

store::Bytes bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string text_at(const Row& row, std::size_t column) {
  return row.get<std::optional<std::string>>(column).value_or("");
}

void read_work(const Row& row, File& file) {
  file.n_children = row.get<std::int64_t>(27);
  file.n_ingested_children = row.get<std::int64_t>(28);
  file.step = text_at(row, 29);
  file.step_version = text_at(row, 30);
  file.progress_begin = row.get<double>(31);
  file.progress_end = row.get<double>(32);
  file.processing_error = text_at(row, 33);
  file.error_kind = text_at(row, 34);
  file.attempts = row.get<std::int64_t>(35);
  file.interruptions = row.get<std::int64_t>(36);
  file.conflicts = row.get<std::int64_t>(37);
  file.superseded = row.get<bool>(38);
  file.tree_files = row.get<std::int64_t>(39);
  file.tree_bytes = row.get<std::int64_t>(40);
  file.worker = text_at(row, 41);
  file.note = text_at(row, 42);
  file.wall_ms = row.get<std::optional<std::int64_t>>(43);
  file.cpu_ms = row.get<std::optional<std::int64_t>>(44);
  file.peak_kib = row.get<std::optional<std::int64_t>>(45);
}

File file_of(const Row& row) {
  File file;
  file.id = row.get<FileId>(0);
  file.collection = row.get<CollectionId>(1);
  file.job = row.get<JobId>(2);
  file.shard = row.get<ShardId>(3);
  file.root = row.get<std::optional<FileId>>(4);
  file.parent = row.get<std::optional<FileId>>(5);
  file.index = row.get<std::int64_t>(6);
  file.depth = row.get<std::int64_t>(7);
  file.position = row.get<std::string>(8);
  file.filename = row.get<std::string>(9);
  file.content_type = row.get<std::string>(10);
  file.detected_type = text_at(row, 11);
  file.metadata = row.get<std::string>(12);
  file.options = row.get<std::string>(13);
  file.blob = row.get<std::optional<blob::BlobId>>(14);
  file.bytes = row.get<std::int64_t>(15);
  file.thumbnail = row.get<std::optional<blob::BlobId>>(16);
  file.thumbnail_type = text_at(row, 17);
  file.has_text = row.get<bool>(18);
  if (const auto page = row.get<std::int64_t>(19); page > 0) file.page = page;
  file.pages = row.get<std::optional<std::int64_t>>(20);
  file.state = static_cast<model::FileState>(row.get<int>(21) - 1);
  if (const auto became = row.get<std::optional<int>>(22)) {
    file.became = static_cast<model::FileClass>(*became - 1);
  }
  file.created_us = row.get<std::int64_t>(23);
  file.written_us = row.get<std::optional<std::int64_t>>(24);
  file.processed_us = row.get<std::optional<std::int64_t>>(25);
  file.ingested_us = row.get<std::optional<std::int64_t>>(26);
  read_work(row, file);
  return file;
}

std::vector<File> files_of(const Rows& rows) {
  std::vector<File> files;
  files.reserve(rows.size());
  for (const Row row : rows) files.push_back(file_of(row));
  return files;
}

Result<Rows> list_rows(Tx& tx, const FileFilter& filter, CollectionId collection,
                       const FileCursor& after, std::int64_t limit) {
  switch (filter.listed) {
    case Listed::Files:
      return tx.query(kListFiles, collection, after.filename, after.position, limit);
    case Listed::Documents:
      return tx.query(kListDocuments, collection, after.filename, after.position, after.page,
                      limit);
    case Listed::Errors:
      return tx.query(kListErrors, collection, after.filename, after.position, limit);
  }
  return Error{Errc::Internal, "no such list"};
}

const Sql& skip_sql(Listed listed) {
  if (listed == Listed::Documents) return kSkipDocuments;
  return listed == Listed::Errors ? kSkipErrors : kSkipFiles;
}

}  // namespace

Result<File> load_file(Tx& tx, FileId id) {
  TRY_ASSIGN(const Rows rows, tx.query(kLoad, id));
  if (rows.empty()) return Error{Errc::Missing, fmt::format("there is no file {}", id)};
  return file_of(rows[0]);
}

Result<std::vector<File>> load_lineage(Tx& tx, FileId id) {
  std::vector<File> lineage;
  std::optional<FileId> next = id;
  while (next && lineage.size() < kLineageMax) {
    TRY_ASSIGN(File file, load_file(tx, *next));
    next = file.parent;
    lineage.push_back(std::move(file));
  }
  return lineage;
}

Result<std::optional<FileCursor>> skip_files(Tx& tx, Listed listed, CollectionId collection,
                                             std::int64_t count) {
  if (count <= 0) return std::optional(FileCursor{});
  TRY_ASSIGN(const Rows rows, tx.query(skip_sql(listed), collection, count - 1));
  if (rows.empty()) return std::optional<FileCursor>();
  return std::optional(FileCursor{rows[0].get<std::string>(0), rows[0].get<std::int64_t>(1),
                                  rows[0].get<std::string>(2)});
}

Result<FilePage> list_files(Tx& tx, const FileFilter& filter) {
  TRY_ASSIGN(const auto collection, tx.find_value<CollectionId>(kCollection, filter.collection));
  FilePage page;
  if (!collection) return page;
  const std::size_t limit = std::clamp<std::size_t>(filter.limit, 1, kListMax);
  std::optional<FileCursor> after = filter.after;
  if (!after) {
    TRY_ASSIGN(after, skip_files(tx, filter.listed, *collection, filter.offset));
  }
  if (!after) return page;  // it is shorter
  TRY_ASSIGN(const Rows rows,
             list_rows(tx, filter, *collection, *after, static_cast<std::int64_t>(limit)));
  page.files = files_of(rows);
  if (page.files.size() == limit) {
    const File& last = page.files.back();
    page.next = FileCursor{last.filename, last.page.value_or(0), last.position};
  }
  // The index goes by collection: a page looks at so many files, whatever it keeps of them.
  if (filter.job) std::erase_if(page.files, [&](const File& f) { return f.job != *filter.job; });
  return page;
}

std::string to_string(const FileCursor& cursor) {
  return fmt::format("{}.{}.{}", cursor.position, cursor.page, cursor.filename);
}

Result<FileCursor> parse_cursor(std::string_view text) {
  const Error wrong{Errc::Invalid, "'after' must be what 'next' of the page before says"};
  const std::size_t first = text.find('.');
  const std::size_t second = first == text.npos ? text.npos : text.find('.', first + 1);
  if (second == text.npos) return wrong;
  FileCursor cursor;
  cursor.position = text.substr(0, first);
  const std::string_view page = text.substr(first + 1, second - first - 1);
  const auto [end, failed] = std::from_chars(page.data(), page.data() + page.size(), cursor.page);
  if (failed != std::errc{} || end != page.data() + page.size()) return wrong;
  cursor.filename = text.substr(second + 1);
  return cursor;
}

Result<std::vector<File>> list_children(Tx& tx, FileId parent, std::int64_t after_index,
                                        std::size_t limit) {
  TRY_ASSIGN(const Rows rows, tx.query(kChildren, parent, after_index, std::min(limit, kListMax)));
  return files_of(rows);
}

Result<std::vector<File>> list_roots(Tx& tx, JobId job, std::int64_t after_index,
                                     std::size_t limit) {
  TRY_ASSIGN(const Rows rows, tx.query(kRoots, job, after_index, std::min(limit, kListMax)));
  return files_of(rows);
}

Result<std::vector<Digests>> load_digests(Tx& tx, const std::vector<File>& files) {
  Bulk wanted;
  for (const File& file : files) wanted.add(file.id);
  TRY_ASSIGN(const Rows rows, tx.bulk(kDigests, wanted));
  std::map<FileId, Digests> found;
  for (const Row row : rows) found[row.get<FileId>(0)] = {text_at(row, 1), text_at(row, 2)};
  std::vector<Digests> digests;
  for (const File& file : files) digests.push_back(found[file.id]);
  return digests;
}

Result<StoredText> load_text(Tx& tx, FileId file) {
  TRY_ASSIGN(const Rows rows, tx.query(kText, file));
  if (rows.empty()) return Error{Errc::Missing, fmt::format("file {} has no text", file)};
  return StoredText{text_at(rows[0], 0), rows[0].get<std::optional<blob::BlobId>>(1),
                    rows[0].get<bool>(2), parse_page_ends(text_at(rows[0], 3))};
}

Result<std::vector<Waiting>> load_waiting(Tx& tx, ShardId shard, const std::string& step,
                                          std::int64_t limit) {
  TRY_ASSIGN(const Rows rows, tx.query(kWaiting, shard, step, limit));
  std::vector<Waiting> waiting;
  for (const Row row : rows) {
    Waiting one{file_of(row), {}};
    one.blob.id = *one.file.blob;
    one.blob.bytes = one.file.bytes;
    one.blob.sha256 = row.get<std::string>(kFileColumns);
    one.blob.sha1 = row.get<std::string>(kFileColumns + 1);
    one.blob.place = text_at(row, kFileColumns + 2);
    waiting.push_back(std::move(one));
  }
  return waiting;
}

Result<std::vector<WaitingCount>> count_waiting(Tx& tx, ShardId shard, std::int64_t limit) {
  TRY_ASSIGN(const Rows rows, tx.query(kCountWaiting, shard, limit));
  std::vector<WaitingCount> counts;
  for (const Row row : rows) counts.push_back({text_at(row, 0), row.get<std::int64_t>(1)});
  return counts;
}

Result<bool> has_root(Tx& tx, const std::string& collection, const std::string& filename,
                      const std::string& sha256) {
  TRY_ASSIGN(const Rows rows, tx.query(kHasRoot, collection, filename, bytes_of(sha256)));
  return !rows.empty();
}

}  // namespace quern::tree
