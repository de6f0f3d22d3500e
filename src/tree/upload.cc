#include "tree/upload.h"

#include <fmt/format.h>

#include "base/crash.h"
#include "tree/finish.h"

namespace quern::tree {
namespace {

using store::Bulk;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

#define QUERN_UPLOAD                                                                       \
  "SELECT u.id, u.name, u.file, u.job, u.partition, u.own_job, u.node, u.length, u.bytes," \
  " u.done, u.metadata, u.expires_us, f.state, f.content_type, f.options"                  \
  " FROM upload AS u LEFT JOIN file AS f ON f.id = u.file"

constexpr Sql kOfName{QUERN_UPLOAD " WHERE u.name = $1"};
constexpr Sql kOfFile{QUERN_UPLOAD " WHERE u.file = $1"};
constexpr Sql kExpired{QUERN_UPLOAD " WHERE u.expires_us < $1 ORDER BY u.expires_us LIMIT $2"};
constexpr Sql kComplete{QUERN_UPLOAD
                        " WHERE u.node = $1 AND NOT u.done AND u.id > $2 AND u.bytes = u.length"
                        " ORDER BY u.id LIMIT $3"};
constexpr Sql kOpen{"SELECT name FROM upload WHERE name = $1 AND NOT done",
                    "SELECT name FROM upload WHERE name = ANY ($1::text[]) AND NOT done"};
constexpr Sql kInsert{
    "INSERT INTO upload (name, file, job, partition, own_job, node, length, bytes, done, metadata,"
    " expires_us) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"};
constexpr Sql kRevive{"UPDATE upload SET expires_us = $2 WHERE id = $1"};
constexpr Sql kNoteBytes{
    "UPDATE upload SET bytes = $2, expires_us = $3 WHERE id = $1 AND NOT done AND bytes <= $2"};
constexpr Sql kIsDone{"SELECT done FROM upload WHERE id = $1"};
constexpr Sql kSetDone{
    "UPDATE upload SET done = $2, bytes = length, expires_us = $3 WHERE id = $1 AND NOT done"};
constexpr Sql kDelete{"DELETE FROM upload WHERE id = $1"};
constexpr Sql kDeleteExpired{"DELETE FROM upload WHERE id = $1 AND expires_us < $2"};
constexpr Sql kForget{
    "DELETE FROM upload WHERE id = $1 AND NOT EXISTS"
    " (SELECT 1 FROM file WHERE file.id = upload.file)"};
constexpr Sql kRoot{"SELECT state, bytes, (blob IS NOT NULL) FROM file WHERE id = $1"};
// A colon is followed by a semicolon.
constexpr Sql kDeserted{
    "SELECT j.id FROM job AS j WHERE j.state = 1 AND NOT j.sealed AND j.key >= 'upload:'"
    " AND j.key < 'upload;' AND j.created_us < $1"
    " AND NOT EXISTS (SELECT 1 FROM upload AS u WHERE u.job = j.id) ORDER BY j.id LIMIT $2"};

// As stored.
constexpr int kCreated = 1;

Upload upload_of(const Row& row, std::int64_t now_us) {
  Upload upload;
  upload.id = row.get<UploadId>(0);
  upload.name = row.get<std::string>(1);
  upload.file = row.get<FileId>(2);
  upload.job = row.get<JobId>(3);
  upload.shard = row.get<ShardId>(4);
  upload.own_job = row.get<bool>(5);
  upload.node = row.get<std::string>(6);
  upload.length = row.get<std::int64_t>(7);
  upload.bytes = row.get<std::int64_t>(8);
  upload.done = row.get<bool>(9);
  upload.metadata = row.get<std::string>(10);
  upload.expires_us = row.get<std::int64_t>(11);
  upload.expired = upload.expires_us < now_us;
  upload.root_waits = row.get<std::optional<int>>(12) == kCreated;
  upload.content_type = row.get<std::optional<std::string>>(13).value_or("");
  upload.options = row.get<std::optional<std::string>>(14).value_or("{}");
  return upload;
}

Result<std::vector<Upload>> uploads_of(Tx& tx, Result<Rows> found) {
  TRY_ASSIGN(const Rows rows, std::move(found));
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  std::vector<Upload> uploads;
  for (const Row row : rows) uploads.push_back(upload_of(row, now_us));
  return uploads;
}

Result<std::optional<Upload>> find_of_file(Tx& tx, FileId file) {
  TRY_ASSIGN(std::vector<Upload> uploads, uploads_of(tx, tx.query(kOfFile, file)));
  if (uploads.empty()) return std::optional<Upload>();
  return std::optional<Upload>(std::move(uploads[0]));
}

// Whether the bytes of a root are there already; Conflict where they can never come.
Result<bool> has_arrived(Tx& tx, FileId file, std::int64_t length) {
  TRY_ASSIGN(const Rows rows, tx.query(kRoot, file));
  CHECK(!rows.empty());
  if (rows[0].get<int>(0) == kCreated) return false;
  if (rows[0].get<bool>(2) && rows[0].get<std::int64_t>(1) == length) return true;
  return Error{Errc::Conflict, fmt::format("file {} is there already, and is another one", file)};
}

// The same request again.
Result<Upload> found_again(Tx& tx, Upload known, const NewUpload& order) {
  if (known.length != order.root.file.bytes || known.metadata != order.metadata) {
    return Error{
        Errc::Conflict,
        fmt::format("upload {} was begun with another length or other metadata", known.name)};
  }
  if (!known.expired) return known;
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  known.expires_us = now_us + kUploadKeptUs;
  known.expired = false;
  TRY(tx.exec(kRevive, known.id, known.expires_us));
  return known;
}

}  // namespace

Result<Upload> create_upload(Tx& tx, const NewUpload& order) {
  const AddRoot& root = order.root;
  CHECK(!root.file.blob && !root.file.inherited && !root.file.failure);
  std::vector<Result<AddedFile>> added = apply(tx, std::span(&root, 1));
  TRY_ASSIGN(const AddedFile file, std::move(added[0]));
  bool arrived = false;
  if (file.existed) {
    TRY_ASSIGN(std::optional<Upload> known, find_of_file(tx, file.id));
    if (known) return found_again(tx, *std::move(known), order);
    TRY_ASSIGN(arrived, has_arrived(tx, file.id, root.file.bytes));
  }
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  const std::int64_t bytes = arrived ? root.file.bytes : 0;
  TRY(tx.exec(kInsert, order.name, file.id, root.job, root.shard, order.own_job, order.node,
              root.file.bytes, bytes, arrived, order.metadata, now_us + kUploadKeptUs));
  crash_point("tree.upload.created");
  return load_upload(tx, order.name);
}

Result<Upload> load_upload(Tx& tx, const std::string& name) {
  TRY_ASSIGN(std::vector<Upload> uploads, uploads_of(tx, tx.query(kOfName, name)));
  if (uploads.empty()) return Error{Errc::Missing, "there is no such upload"};
  return std::move(uploads[0]);
}

Result<std::int64_t> note_bytes(Tx& tx, UploadId id, std::int64_t bytes) {
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  const std::int64_t expires_us = now_us + kUploadKeptUs;
  TRY_ASSIGN(const std::int64_t noted, tx.exec(kNoteBytes, id, bytes, expires_us));
  if (noted == 0) return Error{Errc::Missing, "the upload takes no more bytes"};
  return expires_us;
}

Result<AddedFile> complete_upload(Tx& tx, const CompleteUpload& order) {
  const Upload& upload = order.upload;
  TRY_ASSIGN(const auto done, tx.find_value<bool>(kIsDone, upload.id));
  if (!done) return Error{Errc::Missing, "the upload has gone"};
  TRY_ASSIGN(AddedFile written,
             write_root(tx, {upload.file, upload.shard, order.blob, order.step}));
  if (*done) return written;
  if (order.failure && !written.existed) {
    FinishFile end{.shard = upload.shard, .file = upload.file, .failure = order.failure};
    const std::vector<Result<bool>> ended = apply(tx, std::span<const FinishFile>(&end, 1));
    if (!ended[0].ok()) return ended[0].error();
  }
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY(tx.exec(kSetDone, upload.id, true, now_us + kUploadKeptUs));
  crash_point("tree.upload.done");
  if (upload.own_job) TRY(seal_job(tx, upload.job, 0));
  return written;
}

Result<bool> drop_upload(Tx& tx, const Upload& upload, Drop drop) {
  TRY_ASSIGN(const auto done, tx.find_value<bool>(kIsDone, upload.id));
  if (!done) return false;
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY_ASSIGN(const std::int64_t gone, drop == Drop::Asked
                                          ? tx.exec(kDelete, upload.id)
                                          : tx.exec(kDeleteExpired, upload.id, now_us));
  if (gone == 0 || *done) return gone > 0;
  TRY(drop_root(tx, upload.shard, upload.file));
  crash_point("tree.upload.dropped");
  if (upload.own_job) TRY(seal_job(tx, upload.job, 0));
  return true;
}

Result<bool> forget_upload(Tx& tx, UploadId id) {
  TRY_ASSIGN(const std::int64_t gone, tx.exec(kForget, id));
  return gone > 0;
}

Result<std::vector<Upload>> list_expired_uploads(Tx& tx) {
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  return uploads_of(tx, tx.query(kExpired, now_us, kUploadsListed));
}

Result<std::vector<Upload>> list_complete_uploads(Tx& tx, const std::string& node, UploadId after) {
  return uploads_of(tx, tx.query(kComplete, node, after, kUploadsListed));
}

Result<std::vector<std::string>> find_open_uploads(Tx& tx, const std::vector<std::string>& names) {
  Bulk wanted;
  for (const std::string& name : names) wanted.add(name);
  TRY_ASSIGN(const Rows rows, tx.bulk(kOpen, wanted));
  std::vector<std::string> open;
  for (const Row row : rows) open.push_back(row.get<std::string>(0));
  return open;
}

Result<std::vector<JobId>> list_deserted_jobs(Tx& tx) {
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY_ASSIGN(const Rows rows, tx.query(kDeserted, now_us - kUploadKeptUs, kUploadsListed));
  std::vector<JobId> jobs;
  for (const Row row : rows) jobs.push_back(row.get<JobId>(0));
  return jobs;
}

}  // namespace quern::tree
