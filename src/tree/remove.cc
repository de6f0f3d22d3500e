#include "tree/remove.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/crash.h"
#include "blob/row.h"
#include "tree/change.h"
#include "tree/rendering.h"
#include "tree/step_sums.h"

namespace quern::tree {
namespace {

using store::Bulk;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

// Its key is free for a new job at once.
constexpr Sql kMark{
    "UPDATE job SET deleting = $2, sealed = $2, canceled = (canceled OR state = 1),"
    " key = 'deleted:' || id WHERE id = $1 AND NOT deleting RETURNING collection"};
constexpr Sql kIsJob{"SELECT deleting FROM job WHERE id = $1"};
constexpr Sql kCollection{"SELECT id FROM collection WHERE name = $1"};
constexpr Sql kJobsOf{
    "SELECT id FROM job WHERE collection = $1 AND NOT deleting ORDER BY id LIMIT $2"};
constexpr Sql kDeleting{"SELECT id FROM job WHERE deleting = 1 ORDER BY id LIMIT $1",
                        "SELECT id FROM job WHERE deleting ORDER BY id LIMIT $1"};
// The deepest first: what is left is always a tree.
constexpr Sql kFiles{"SELECT id FROM file WHERE job = $1 ORDER BY id DESC LIMIT $2"};
constexpr Sql kRemoveFiles{
    "DELETE FROM file WHERE id = $1 RETURNING blob, thumbnail",
    "DELETE FROM file WHERE id = ANY ($1::bigint[]) RETURNING blob, thumbnail"};
constexpr Sql kRemoveTexts{"DELETE FROM file_text WHERE file = $1 RETURNING blob",
                           "DELETE FROM file_text WHERE file = ANY ($1::bigint[]) RETURNING blob"};
constexpr Sql kRemoveLinks{"DELETE FROM file_links WHERE file = $1",
                           "DELETE FROM file_links WHERE file = ANY ($1::bigint[])"};
constexpr Sql kRemoveShards{"DELETE FROM shard WHERE job = $1"};
constexpr Sql kRemoveJob{"DELETE FROM job WHERE id = $1 RETURNING collection"};
// A job that is being made meanwhile holds its collection, and is seen once the lock is ours.
constexpr Sql kLockCollection{"SELECT id FROM collection WHERE id = $1",
                              "SELECT id FROM collection WHERE id = $1 FOR UPDATE"};
constexpr Sql kRemoveCollection{
    "DELETE FROM collection WHERE id = $1 AND NOT EXISTS"
    " (SELECT 1 FROM job WHERE job.collection = $1)"};

void add_blobs(const Rows& rows, std::size_t columns, std::vector<blob::BlobId>& blobs) {
  for (const Row row : rows) {
    for (std::size_t column = 0; column < columns; ++column) {
      if (!row.is_null(column)) blobs.push_back(row.get<blob::BlobId>(column));
    }
  }
}

Result<> remove_files(Tx& tx, const Rows& files) {
  Bulk ids;
  for (const Row row : files) ids.add(row.get<FileId>(0));
  std::vector<blob::BlobId> blobs;
  TRY(tx.bulk(kRemoveLinks, ids));
  TRY_ASSIGN(const Rows texts, tx.bulk(kRemoveTexts, ids));
  add_blobs(texts, 1, blobs);
  TRY_ASSIGN(const Rows removed, tx.bulk(kRemoveFiles, ids));
  add_blobs(removed, 2, blobs);
  TRY(remove_renderings(tx, ids, blobs));
  std::sort(blobs.begin(), blobs.end());
  blobs.erase(std::unique(blobs.begin(), blobs.end()), blobs.end());
  crash_point("tree.files.removed");
  return blob::doubt_blobs(tx, blobs);
}

// Out of search first: from here on its documents are hidden.
Result<> mark(Tx& tx, JobId id) {
  TRY_ASSIGN(const auto collection, tx.find_value<CollectionId>(kMark, id, true));
  if (!collection) return {};  // it was marked before
  return note_changes(tx, {{*collection, ChangeKind::JobGone, id.value}});
}

}  // namespace

Result<> mark_deleting(Tx& tx, JobId id) {
  TRY_ASSIGN(const auto marked, tx.find_value<bool>(kIsJob, id));
  if (!marked) return Error{Errc::Missing, fmt::format("there is no job {}", id)};
  return mark(tx, id);
}

Result<std::vector<JobId>> mark_collection(Tx& tx, const std::string& name) {
  TRY_ASSIGN(const auto collection, tx.find_value<CollectionId>(kCollection, name));
  if (!collection) {
    return Error{Errc::Missing, fmt::format("there is no collection '{}'", name)};
  }
  TRY_ASSIGN(const Rows rows, tx.query(kJobsOf, *collection, kListMax));
  std::vector<JobId> jobs;
  for (const Row row : rows) jobs.push_back(row.get<JobId>(0));
  for (const JobId job : jobs) TRY(mark(tx, job));
  return jobs;
}

Result<std::vector<JobId>> list_deleting(Tx& tx, std::size_t limit) {
  TRY_ASSIGN(const Rows rows, tx.query(kDeleting, std::min(limit, kListMax)));
  std::vector<JobId> jobs;
  for (const Row row : rows) jobs.push_back(row.get<JobId>(0));
  return jobs;
}

Result<bool> remove_some(Tx& tx, JobId id) {
  TRY_ASSIGN(const Rows files, tx.query(kFiles, id, kRemovedAtOnce));
  if (!files.empty()) {
    TRY(remove_files(tx, files));
    return false;
  }
  TRY(remove_steps(tx, id));
  TRY(tx.exec(kRemoveShards, id));
  TRY_ASSIGN(const auto collection, tx.find_value<CollectionId>(kRemoveJob, id));
  if (!collection) return true;  // somebody else was faster
  crash_point("tree.job.removed");
  TRY(tx.query(kLockCollection, *collection));
  TRY(tx.exec(kRemoveCollection, *collection));
  return true;
}

}  // namespace quern::tree
