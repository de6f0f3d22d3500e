// Roots: AddRoot, create_root, write_root, drop_root of tree/child.h.
#include <fmt/format.h>

#include "base/crash.h"
#include "model/position.h"
#include "tree/insert.h"

namespace quern::tree {
namespace {

using store::Bulk;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

// Even an empty file is some work.
constexpr double kRootWeightMin = 4096;

constexpr Sql kExisting{
    "SELECT f.id, f.job, f.index_in_parent, f.filename FROM file AS f"
    " WHERE f.job = $1 AND f.index_in_parent = $2 AND f.parent IS NULL",
    "SELECT f.id, f.job, f.index_in_parent, f.filename"
    " FROM unnest($1::bigint[], $2::bigint[]) AS w (job, i)"
    " JOIN file AS f ON f.job = w.job AND f.index_in_parent = w.i AND f.parent IS NULL"};
// Locked against a seal: no root comes behind it.
constexpr Sql kTaking{"SELECT id FROM job WHERE id = $1 AND NOT sealed AND state = 1",
                      "SELECT id FROM job WHERE id = ANY ($1) AND NOT sealed AND state = 1"
                      " ORDER BY id FOR SHARE"};
constexpr Sql kLoadCreated{
    "SELECT state, bytes, progress_end FROM file WHERE id = $1 AND partition = $2"
    " AND parent IS NULL"};
constexpr Sql kWrite{
    "UPDATE file SET blob = $2, bytes = $3, state = 2, written_us = $4, step = nullif($5, ''),"
    " progress_end = $6 WHERE id = $1 AND state = 1"};
constexpr Sql kDrop{
    "DELETE FROM file WHERE id = $1 AND partition = $2 AND state = 1 AND parent IS NULL"
    " RETURNING bytes, progress_end"};

using Place = std::pair<JobId, std::int64_t>;

FileRow row_of(const AddRoot& op) {
  return {.file = &op.file,
          .collection = op.collection,
          .job = op.job,
          .shard = op.shard,
          .index = op.index,
          .position = model::child_position(model::child_position("", op.job.value), op.index),
          .progress_end = root_weight(op.file.bytes)};
}

struct Known {
  FileId id;
  std::string filename;
};

class Batch {
 public:
  Batch(Tx& tx, std::span<const AddRoot> ops)
      : tx_(tx), ops_(ops), results_(ops.size(), Error{Errc::Internal, "not applied"}) {}

  Result<std::vector<Result<AddedFile>>> run() {
    TRY(load());
    for (std::size_t i = 0; i < ops_.size(); ++i) sort_out(i);
    TRY_ASSIGN(const std::vector<AddedFile> added, insert_files(tx_, rows_));
    crash_point("tree.roots.inserted");
    for (std::size_t i = 0; i < added.size(); ++i) results_[fresh_[i]] = added[i];
    TRY(add_to_shards(tx_, shards_));
    return std::move(results_);
  }

 private:
  Result<> load() {
    std::set<Place> places;
    std::set<JobId> jobs;
    for (const AddRoot& op : ops_) {
      places.insert({op.job, op.index});
      jobs.insert(op.job);
    }
    Bulk wanted_jobs;
    for (const JobId job : jobs) wanted_jobs.add(job);
    TRY_ASSIGN(const Rows taking, tx_.bulk(kTaking, wanted_jobs));
    for (const Row row : taking) taking_.insert(row.get<JobId>(0));
    Bulk wanted;
    for (const auto& [job, index] : places) wanted.add(job, index);
    TRY_ASSIGN(const Rows rows, tx_.bulk(kExisting, wanted));
    for (const Row row : rows) {
      known_[{row.get<JobId>(1), row.get<std::int64_t>(2)}] = {row.get<FileId>(0),
                                                               row.get<std::string>(3)};
    }
    return {};
  }

  void sort_out(std::size_t i) {
    const AddRoot& op = ops_[i];
    const Place place{op.job, op.index};
    if (const auto found = known_.find(place); found != known_.end()) {
      if (found->second.filename != op.file.filename) {
        results_[i] = Error{Errc::Conflict, fmt::format("file {} of job {} is '{}'", op.index,
                                                        op.job, found->second.filename)};
        return;
      }
      AddedFile same{.id = found->second.id, .existed = true};
      if (op.file.blob && !op.file.blob->place.empty()) same.orphans = {op.file.blob->place};
      results_[i] = std::move(same);
      return;
    }
    if (!taking_.contains(op.job)) {
      results_[i] = Error{Errc::Conflict, fmt::format("job {} takes no more files", op.job)};
      return;
    }
    if (!first_.insert(place).second) {
      results_[i] = Error{Errc::Busy, "the same file is being added just now"};
      return;
    }
    fresh_.push_back(i);
    rows_.push_back(row_of(op));
    ShardDelta& shard = shards_[op.shard];
    ++shard.roots;
    ++shard.files;
    shard.bytes_in += op.file.bytes;
    shard.weight += root_weight(op.file.bytes);
    if (state_of(op.file) == FileState::Processed) shard.progress += root_weight(op.file.bytes);
    count_new(shard.steps, op.file);
  }

  Tx& tx_;
  std::span<const AddRoot> ops_;
  std::vector<Result<AddedFile>> results_;
  std::set<JobId> taking_;
  std::map<Place, Known> known_;
  std::set<Place> first_;
  std::vector<FileRow> rows_;
  std::vector<std::size_t> fresh_;
  std::map<ShardId, ShardDelta> shards_;
};

}  // namespace

double root_weight(std::int64_t bytes) {
  return kRootWeightMin + static_cast<double>(bytes);
}

std::vector<Result<AddedFile>> apply(Tx& tx, std::span<const AddRoot> batch) {
  Result<std::vector<Result<AddedFile>>> results = Batch(tx, batch).run();
  if (!results.ok()) return store::fail_all<AddedFile>(batch.size(), results.error());
  return *std::move(results);
}

Result<FileId> create_root(Tx& tx, const AddRoot& root) {
  CHECK(!root.file.blob && !root.file.inherited);
  std::vector<Result<AddedFile>> added = apply(tx, std::span(&root, 1));
  TRY_ASSIGN(const AddedFile file, std::move(added[0]));
  return file.id;
}

Result<AddedFile> write_root(Tx& tx, const WriteRoot& root) {
  TRY_ASSIGN(const Rows rows, tx.query(kLoadCreated, root.id, root.shard));
  if (rows.empty()) return Error{Errc::Missing, fmt::format("there is no file {}", root.id)};
  AddedFile done{.id = root.id};
  if (rows[0].get<int>(0) != stored(FileState::Created)) {
    // Our own earlier attempt got through.
    done.existed = true;
    if (!root.blob.place.empty()) done.orphans = {root.blob.place};
    return done;
  }
  const blob::Put* put = &root.blob;
  TRY_ASSIGN(const std::vector<blob::Stored> kept, blob::store_blobs(tx, std::span(&put, 1)));
  if (kept[0].adopted && !root.blob.place.empty()) done.orphans = {root.blob.place};
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  const double weight = root_weight(root.blob.bytes);
  TRY(tx.exec(kWrite, root.id, kept[0].id, root.blob.bytes, now_us, root.step, weight));
  crash_point("tree.root.written");
  ShardDelta delta{.bytes_in = root.blob.bytes - rows[0].get<std::int64_t>(1),
                   .weight = weight - rows[0].get<double>(2)};
  if (!root.step.empty()) delta.steps[root.step].entered = 1;
  TRY(add_to_shards(tx, {{root.shard, delta}}));
  return done;
}

Result<bool> drop_root(Tx& tx, ShardId shard, FileId id) {
  TRY_ASSIGN(const Rows rows, tx.query(kDrop, id, shard));
  if (rows.empty()) return false;
  const ShardDelta delta{.roots = -1,
                         .files = -1,
                         .bytes_in = -rows[0].get<std::int64_t>(0),
                         .weight = -rows[0].get<double>(1)};
  TRY(add_to_shards(tx, {{shard, delta}}));
  return true;
}

}  // namespace quern::tree
