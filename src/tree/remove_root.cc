// remove_root() of tree/remove.h.
#include <algorithm>

#include "base/crash.h"
#include "blob/row.h"
#include "tree/change.h"
#include "tree/insert.h"
#include "tree/remove.h"
#include "tree/rendering.h"

namespace quern::tree {
namespace {

using model::FileClass;
using store::Bulk;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr int kGenerationsMax = 1000;  // more than any tree has

constexpr Sql kRoot{
    "SELECT f.state, f.partition, f.collection FROM file AS f JOIN job AS j ON j.id = f.job"
    " WHERE f.id = $1 AND f.parent IS NULL AND NOT j.deleting"};
constexpr Sql kChildren{
    "SELECT id, EXISTS (SELECT 1 FROM file AS c WHERE c.parent = file.id) FROM file"
    " WHERE parent = $1 ORDER BY index_in_parent LIMIT $2"};
#define QUERN_REMOVED                                                                 \
  " RETURNING id, class, step, waited, error_kind IS NOT NULL, coalesce(wall_ms, 0)," \
  " coalesce(cpu_ms, 0), progress_end - progress_begin, progress_given, bytes, blob," \
  " thumbnail, detected_type IS NOT NULL, parent IS NULL"
constexpr Sql kRemove{"DELETE FROM file WHERE id = $1" QUERN_REMOVED,
                      "DELETE FROM file WHERE id = ANY ($1::bigint[])" QUERN_REMOVED};
constexpr Sql kRemoveTexts{"DELETE FROM file_text WHERE file = $1 RETURNING blob",
                           "DELETE FROM file_text WHERE file = ANY ($1::bigint[]) RETURNING blob"};
constexpr Sql kRemoveLinks{"DELETE FROM file_links WHERE file = $1",
                           "DELETE FROM file_links WHERE file = ANY ($1::bigint[])"};
constexpr Sql kTellParent{
    "UPDATE file SET n_children = n_children - $2, n_ingested_children = n_ingested_children - $2"
    " WHERE id = $1"};
constexpr Sql kTellRoot{"UPDATE file SET tree_files = tree_files - $2 WHERE id = $1"};
constexpr Sql kUncount{
    "UPDATE shard SET roots_ingested = roots_ingested - $2, documents = documents - $3,"
    " containers = containers - $4, converted = converted - $5, empty = empty - $6,"
    " errors = errors - $7 WHERE partition = $1"};

class Removal {
 public:
  Removal(Tx& tx, FileId root, ShardId shard, CollectionId collection)
      : tx_(tx), root_(root), shard_(shard), collection_(collection) {}

  // Whether the root is gone.
  Result<bool> run() {
    while (removed_ < kRemovedAtOnce && !gone_) TRY(remove_below(root_));
    TRY(note_changes(tx_, changes_));
    TRY(add_to_shards(tx_, {{shard_, delta_}}));
    TRY(tx_.exec(kUncount, shard_, gone_ ? 1 : 0, classes_[1], classes_[2], classes_[3],
                 classes_[4], classes_[5]));
    if (!gone_) TRY(tx_.exec(kTellRoot, root_, removed_));
    crash_point("tree.root.removed");
    std::sort(blobs_.begin(), blobs_.end());
    blobs_.erase(std::unique(blobs_.begin(), blobs_.end()), blobs_.end());
    TRY(blob::doubt_blobs(tx_, blobs_));
    return gone_;
  }

 private:
  // Some children of the deepest file on the first way down; with the last of them, that file.
  Result<> remove_below(FileId file) {
    for (int generation = 0; generation < kGenerationsMax; ++generation) {
      TRY_ASSIGN(const Rows children, tx_.query(kChildren, file, kRemovedAtOnce - removed_));
      std::vector<FileId> leaves;
      std::optional<FileId> deeper;
      for (const Row row : children) {
        if (row.get<bool>(1)) {
          deeper = row.get<FileId>(0);
          break;
        }
        leaves.push_back(row.get<FileId>(0));
      }
      if (children.empty()) {
        leaves = {file};
        gone_ = file == root_;
      }
      if (!leaves.empty()) {
        TRY(remove(leaves));
        if (!children.empty()) {
          TRY(tx_.exec(kTellParent, file, static_cast<std::int64_t>(leaves.size())));
        }
        return {};
      }
      file = *deeper;
    }
    return Error{Errc::Internal, "a tree is deeper than any can be"};
  }

  Result<> remove(const std::vector<FileId>& files) {
    Bulk ids;
    for (const FileId id : files) ids.add(id);
    TRY(tx_.bulk(kRemoveLinks, ids));
    TRY_ASSIGN(const Rows texts, tx_.bulk(kRemoveTexts, ids));
    for (const Row row : texts) {
      if (!row.is_null(0)) blobs_.push_back(row.get<blob::BlobId>(0));
    }
    TRY_ASSIGN(const Rows rows, tx_.bulk(kRemove, ids));
    for (const Row row : rows) uncount(row);
    TRY(remove_renderings(tx_, ids, blobs_));
    removed_ += static_cast<std::int64_t>(rows.size());
    return {};
  }

  void uncount(const Row& row) {
    --delta_.files;
    const int became = row.get<int>(1);
    if (became >= 1 && became <= 5) ++classes_[became];
    if (static_cast<FileClass>(became - 1) == FileClass::Document) {
      changes_.push_back({collection_, ChangeKind::Gone, row.get<FileId>(0).value});
    }
    uncount_steps(row);
    delta_.progress -= row.get<double>(7) - row.get<double>(8);
    for (const std::size_t column : {std::size_t{10}, std::size_t{11}}) {
      if (!row.is_null(column)) blobs_.push_back(row.get<blob::BlobId>(column));
    }
    if (!row.get<bool>(13)) return;
    --delta_.roots;
    delta_.bytes_in -= row.get<std::int64_t>(9);
    delta_.weight -= row.get<double>(7);
  }

  void uncount_steps(const Row& row) {
    const bool failed = row.get<bool>(4);
    if (row.get<bool>(12)) {
      StepSum& detect = delta_.steps[std::string(model::to_string(model::StepId::Detect))];
      --detect.entered;
      --detect.ended;
      if (row.is_null(2) && failed) --detect.failed;
    }
    if (row.is_null(2) || !row.get<bool>(3)) return;
    StepSum& step = delta_.steps[row.get<std::string>(2)];
    --step.entered;
    --step.ended;
    if (failed) --step.failed;
    step.wall_ms -= row.get<std::int64_t>(5);
    step.cpu_ms -= row.get<std::int64_t>(6);
  }

  Tx& tx_;
  FileId root_;
  ShardId shard_;
  CollectionId collection_;
  std::int64_t removed_ = 0;
  bool gone_ = false;
  ShardDelta delta_;
  std::int64_t classes_[6] = {};
  std::vector<NewChange> changes_;
  std::vector<blob::BlobId> blobs_;
};

}  // namespace

Result<bool> remove_root(Tx& tx, FileId root) {
  TRY_ASSIGN(const Rows rows, tx.query(kRoot, root));
  if (rows.empty()) return true;
  if (rows[0].get<int>(0) != stored(FileState::Ingested)) {
    return Error{Errc::Conflict, "the file is still being worked on"};
  }
  return Removal(tx, root, rows[0].get<ShardId>(1), rows[0].get<CollectionId>(2)).run();
}

}  // namespace quern::tree
