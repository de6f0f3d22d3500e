#include "fileset/file_row.h"

#include <fmt/format.h>

#include <set>

#include "fileset/request_row.h"
#include "web/archive_name.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr Sql kAdd{
    "INSERT INTO fileset_file (job, number, manifest, ended, status, message, sha256, blob,"
    " capture, tries, bytes) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
    " ON CONFLICT (job, number) DO NOTHING"};
#define QUERN_FILE "SELECT number, manifest, ended, message, blob, capture, tries, bytes"
constexpr Sql kLoad{QUERN_FILE " FROM fileset_file WHERE job = $1 AND number = $2"};
constexpr Sql kList{QUERN_FILE
                    " FROM fileset_file WHERE job = $1 AND number > $2 ORDER BY number LIMIT 1000"};
constexpr Sql kEnd{
    "UPDATE fileset_file SET manifest = $3, ended = $4, status = $5, message = $6, sha256 = $7,"
    " blob = $8, capture = $9, tries = $10, bytes = $11 WHERE job = $1 AND number = $2"
    " AND NOT ended"};
constexpr Sql kTry{
    "UPDATE fileset_file SET status = $3, message = $4, tries = $5, bytes = $6"
    " WHERE job = $1 AND number = $2 AND NOT ended"};
constexpr Sql kNote{
    "INSERT INTO capture (collection, url, surt, at_us, status, type, digest, revisit, warc,"
    " warc_at, warc_bytes, warc_end) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
    " ON CONFLICT (warc, warc_at) DO NOTHING"};
constexpr Sql kKeptBytes{
    "SELECT CAST(coalesce(sum(b.bytes), 0) AS BIGINT) FROM fileset_file AS f"
    " JOIN blob AS b ON b.id = f.blob WHERE f.job = $1"};
constexpr Sql kBlobs{
    "SELECT number, blob FROM fileset_file WHERE job = $1 ORDER BY number LIMIT $2"};
constexpr Sql kRemoveFiles{"DELETE FROM fileset_file WHERE job = $1 AND number <= $2"};
constexpr Sql kCaptures{
    "SELECT number, capture FROM fileset_file WHERE job = $1 AND number > $2"
    " AND capture IS NOT NULL ORDER BY number LIMIT 1000"};
constexpr Sql kStays{"SELECT 1 FROM job WHERE id = $1 AND NOT deleting"};
// Whoever takes over from a request has the same address and collection.
constexpr Sql kTakenOver{
    "SELECT 1 FROM fileset_request AS r JOIN job AS j ON j.id = r.job"
    " JOIN fileset_file AS f ON f.job = r.job WHERE r.base_url = $1 AND r.collection = $2"
    " AND r.job <> $3 AND NOT j.deleting AND f.capture LIKE $4 LIMIT 1"};
constexpr Sql kRemoveRequest{"DELETE FROM fileset_request WHERE job = $1"};

std::optional<std::string> none_if_empty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

std::optional<std::string> capture_text(const FileRow& row) {
  if (!row.capture) return std::nullopt;
  return json::serialize(to_json(*row.capture));
}

Result<json::value> parse(const std::string& text) {
  boost::system::error_code failed;
  json::value value = json::parse(text, failed);
  if (failed) return Error{Errc::Corrupt, "a stored text is no JSON: " + failed.message()};
  return value;
}

// 32 raw bytes; nothing where it is no SHA-256.
std::optional<std::string> raw_sha256(const std::string& hex) {
  if (hex.size() != 64) return std::nullopt;
  std::string raw;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    raw.push_back(static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1])));
  }
  return raw;
}

std::optional<store::Bytes> bytes_of(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  return std::as_bytes(std::span(text->data(), text->size()));
}

// Whose archive a stored capture lies in; none where that is not our own.
std::optional<web::ArchiveName> archive_in(const std::string& capture) {
  const Result<json::value> value = parse(capture);
  const json::object* object = value.ok() ? value->if_object() : nullptr;
  const json::value* cdx = object == nullptr ? nullptr : object->if_contains("cdx");
  const json::object* line = cdx == nullptr ? nullptr : cdx->if_object();
  const json::value* path = line == nullptr ? nullptr : line->if_contains("warc_path");
  if (path == nullptr || !path->is_string()) return std::nullopt;
  return web::parse_archive_name(std::string_view(path->get_string()));
}

Result<FileRow> file_of(const Row& row) {
  FileRow file;
  file.number = row.get<std::int64_t>(0);
  TRY_ASSIGN(const json::value manifest, parse(row.get<std::string>(1)));
  TRY_ASSIGN(file.file, parse_manifest_file(manifest));
  file.ended = row.get<bool>(2);
  file.message = row.is_null(3) ? "" : row.get<std::string>(3);
  file.blob = row.get<std::optional<blob::BlobId>>(4);
  if (!row.is_null(5)) {
    TRY_ASSIGN(const json::value capture, parse(row.get<std::string>(5)));
    TRY_ASSIGN(file.capture, parse_capture(capture));
  }
  file.tries = row.get<std::int64_t>(6);
  file.bytes = row.get<std::int64_t>(7);
  return file;
}

}  // namespace

Result<> add_files(Tx& tx, tree::JobId job, const std::vector<FileRow>& files) {
  std::vector<blob::BlobId> inherited;
  for (const FileRow& file : files) {
    if (file.blob) inherited.push_back(*file.blob);
  }
  if (!inherited.empty()) TRY(blob::keep_blobs(tx, inherited));
  for (const FileRow& row : files) {
    const std::optional<std::string> sha256 = raw_sha256(row.ended ? row.file.sha256 : "");
    TRY(tx.exec(kAdd, job, row.number, json::serialize(to_json(row.file)), row.ended,
                none_if_empty(row.file.status), none_if_empty(row.message), bytes_of(sha256),
                row.blob, capture_text(row), row.tries, row.bytes));
  }
  return {};
}

Result<FileRow> load_file(Tx& tx, tree::JobId job, std::int64_t number) {
  TRY_ASSIGN(const Rows rows, tx.query(kLoad, job, number));
  if (rows.empty()) {
    return Error{Errc::Missing, fmt::format("job {} has no file number {}", job, number)};
  }
  return file_of(rows[0]);
}

Result<std::vector<FileRow>> list_files(Tx& tx, tree::JobId job) {
  std::vector<FileRow> files;
  std::int64_t after = kBundleNumber - 1;
  while (true) {
    TRY_ASSIGN(const Rows rows, tx.query(kList, job, after));
    if (rows.empty()) return files;
    for (const Row row : rows) {
      TRY_ASSIGN(FileRow file, file_of(row));
      after = file.number;
      files.push_back(std::move(file));
    }
  }
}

Result<std::int64_t> sum_kept_bytes(Tx& tx, tree::JobId job) {
  return tx.value<std::int64_t>(kKeptBytes, job);
}

Result<bool> end_file(Tx& tx, tree::JobId job, tree::CollectionId collection, const FileEnd& end,
                      std::vector<std::string>& orphans) {
  const FileRow& row = end.row;
  TRY_ASSIGN(const FileRow before, load_file(tx, job, row.number));
  if (before.ended) {
    if (end.put && !end.put->place.empty()) orphans.push_back(end.put->place);
    return false;
  }
  std::optional<blob::BlobId> blob = row.blob;
  if (end.put) {
    const blob::Put* put = &*end.put;
    TRY_ASSIGN(const std::vector<blob::Stored> stored,
               blob::store_blobs(tx, std::span<const blob::Put* const>(&put, 1)));
    blob = stored[0].id;
    if (stored[0].adopted && !put->place.empty()) orphans.push_back(put->place);
  }
  TRY(note_records(tx, collection, end.records));
  const std::optional<std::string> sha256 = raw_sha256(row.file.sha256);
  TRY_ASSIGN(const std::int64_t changed,
             tx.exec(kEnd, job, row.number, json::serialize(to_json(row.file)), true,
                     none_if_empty(row.file.status), none_if_empty(row.message), bytes_of(sha256),
                     blob, capture_text(row), row.tries, row.bytes));
  return changed > 0;
}

Result<> note_try(Tx& tx, tree::JobId job, const FileRow& row) {
  TRY(tx.exec(kTry, job, row.number, none_if_empty(row.file.status), none_if_empty(row.message),
              row.tries, row.bytes));
  return {};
}

Result<> note_records(Tx& tx, tree::CollectionId collection,
                      const std::vector<OwnRecord>& records) {
  for (const OwnRecord& record : records) {
    TRY(tx.exec(kNote, collection, record.url, record.surt, record.at_us, record.status,
                record.mimetype, "sha1:" + record.sha1b32, false, record.warc, record.offset,
                record.bytes, record.end));
  }
  return {};
}

Result<std::vector<std::string>> list_archives(Tx& tx, tree::JobId job) {
  const Result<RequestRow> row = load_request(tx, job);
  if (!row.ok() && row.error().kind() == Errc::Missing) return std::vector<std::string>();
  if (!row.ok()) return row.error();
  std::set<std::string> named{archive_of(*row)};
  for (std::int64_t after = kBundleNumber - 1;;) {
    TRY_ASSIGN(const Rows rows, tx.query(kCaptures, job, after));
    if (rows.empty()) break;
    for (const Row file : rows) {
      after = file.get<std::int64_t>(0);
      const auto archive = archive_in(file.get<std::string>(1));
      if (!archive) continue;
      TRY_ASSIGN(const Rows stays, tx.query(kStays, archive->job));
      if (stays.empty()) named.insert(archive->prefix);
    }
  }
  std::vector<std::string> going;
  for (const std::string& prefix : named) {
    TRY_ASSIGN(const Rows taken_over, tx.query(kTakenOver, row->request.base_url, row->collection,
                                               job, "%\"" + prefix + "-%"));
    if (taken_over.empty()) going.push_back(prefix);
  }
  return going;
}

Result<bool> remove_fileset(Tx& tx, tree::JobId job) {
  TRY_ASSIGN(const Rows rows, tx.query(kBlobs, job, kRowsRemovedAtOnce));
  if (rows.empty()) {
    TRY(tx.exec(kRemoveRequest, job));
    return true;
  }
  std::vector<blob::BlobId> blobs;
  for (const Row row : rows) {
    if (const auto blob = row.get<std::optional<blob::BlobId>>(1)) blobs.push_back(*blob);
  }
  TRY(tx.exec(kRemoveFiles, job, rows[rows.size() - 1].get<std::int64_t>(0)));
  TRY(blob::doubt_blobs(tx, blobs));
  return false;
}

}  // namespace quern::fileset
