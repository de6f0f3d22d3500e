#include "tree/child.h"

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

constexpr Sql kExisting{
    "SELECT f.id, f.parent, f.index_in_parent, f.filename, b.sha256 FROM file AS f"
    " LEFT JOIN blob AS b ON b.id = f.blob WHERE f.parent = $1 AND f.index_in_parent = $2",
    "SELECT f.id, f.parent, f.index_in_parent, f.filename, b.sha256"
    " FROM unnest($1::bigint[], $2::bigint[]) AS w (parent, i)"
    " JOIN file AS f ON f.parent = w.parent AND f.index_in_parent = w.i"
    " LEFT JOIN blob AS b ON b.id = f.blob"};
// Only of a file that a step still works on.
constexpr Sql kAddToParent{
    "UPDATE file SET n_children = n_children + $2, progress_given = progress_given + $3,"
    " conflicts = conflicts + $4 WHERE id = $1 AND state = 2 RETURNING id",
    "UPDATE file AS f SET n_children = f.n_children + w.children,"
    " progress_given = f.progress_given + w.given, conflicts = f.conflicts + w.conflicts"
    " FROM unnest($1::bigint[], $2::bigint[], $3::double precision[], $4::bigint[])"
    " AS w (id, children, given, conflicts) WHERE f.id = w.id AND f.state = 2 RETURNING f.id"};
constexpr Sql kIsOpen{"SELECT id FROM file WHERE id = $1 AND state = 2",
                      "SELECT id FROM file WHERE id = ANY ($1) AND state = 2"};
constexpr Sql kAddToRoot{
    "UPDATE file SET tree_files = tree_files + $2, tree_bytes = tree_bytes + $3 WHERE id = $1"
    " RETURNING id, tree_files, tree_bytes",
    "UPDATE file AS f SET tree_files = f.tree_files + w.files, tree_bytes = f.tree_bytes + w.bytes"
    " FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS w (id, files, bytes)"
    " WHERE f.id = w.id RETURNING f.id, f.tree_files, f.tree_bytes"};

using Place = std::pair<FileId, std::int64_t>;  // parent, index

struct Known {
  FileId id;
  std::string filename;
  std::optional<std::string> sha256;
};

Result<std::set<FileId>> open_parents(Tx& tx, std::span<const FinishChild> batch) {
  std::set<FileId> parents;
  for (const FinishChild& op : batch) parents.insert(op.parent.id);
  Bulk wanted;
  for (const FileId parent : parents) wanted.add(parent);
  TRY_ASSIGN(const Rows rows, tx.bulk(kIsOpen, wanted));
  std::set<FileId> open;
  for (const Row row : rows) open.insert(row.get<FileId>(0));
  return open;
}

Result<std::map<Place, Known>> load_existing(Tx& tx, std::span<const FinishChild> batch) {
  std::set<Place> places;
  for (const FinishChild& op : batch) places.insert({op.parent.id, op.index});
  Bulk wanted;
  for (const auto& [parent, index] : places) wanted.add(parent, index);
  TRY_ASSIGN(const Rows rows, tx.bulk(kExisting, wanted));
  std::map<Place, Known> known;
  for (const Row row : rows) {
    known[{row.get<FileId>(1), row.get<std::int64_t>(2)}] = {
        row.get<FileId>(0), row.get<std::string>(3), row.get<std::optional<std::string>>(4)};
  }
  return known;
}

// A replay may end differently; what is stored stays.
bool agrees(const FinishChild& op, const Known& known) {
  if (op.file.filename != known.filename) return false;
  return !op.file.blob || (known.sha256 && *known.sha256 == op.file.blob->sha256);
}

std::vector<std::string> places_of(const NewFile& file) {
  std::vector<std::string> places;
  const auto add = [&places](const blob::Put& put) {
    if (!put.place.empty()) places.push_back(put.place);
  };
  if (file.blob) add(*file.blob);
  if (file.thumbnail) add(file.thumbnail->blob);
  if (file.text && file.text->blob) add(*file.text->blob);
  return places;
}

struct ParentDelta {
  std::int64_t children = 0;
  double given = 0;
  std::int64_t conflicts = 0;
};
struct RootDelta {
  std::int64_t files = 0;
  std::int64_t bytes = 0;
};

// A batch of children on its way into the tables.
class Batch {
 public:
  Batch(Tx& tx, std::span<const FinishChild> ops)
      : tx_(tx), ops_(ops), results_(ops.size(), Error{Errc::Internal, "not applied"}) {}

  Result<std::vector<Result<AddedFile>>> run() {
    TRY_ASSIGN(const std::set<FileId> open, open_parents(tx_, ops_));
    TRY_ASSIGN(known_, load_existing(tx_, ops_));
    for (std::size_t i = 0; i < ops_.size(); ++i) sort_out(i, open);
    TRY_ASSIGN(const std::vector<AddedFile> added, insert_files(tx_, rows_));
    crash_point("tree.children.inserted");
    for (std::size_t i = 0; i < added.size(); ++i) results_[fresh_[i]] = added[i];
    TRY(settle_twins());
    TRY(add_up());
    return std::move(results_);
  }

 private:
  void sort_out(std::size_t i, const std::set<FileId>& open) {
    const FinishChild& op = ops_[i];
    if (!open.contains(op.parent.id)) {
      results_[i] =
          Error{Errc::Conflict, fmt::format("file {} is processed already", op.parent.id)};
      return;
    }
    const Place place{op.parent.id, op.index};
    if (const auto found = known_.find(place); found != known_.end()) {
      results_[i] =
          AddedFile{.id = found->second.id, .existed = true, .orphans = places_of(op.file)};
      if (!agrees(op, found->second)) ++parents_[op.parent.id].conflicts;
      return;
    }
    // An old task's child and its successor's may meet in one batch: the first one counts.
    if (const auto [first, is_new] = first_.try_emplace(place, i); !is_new) {
      twins_.emplace_back(i, first->second);
      return;
    }
    add(i, op);
  }

  void add(std::size_t i, const FinishChild& op) {
    fresh_.push_back(i);
    rows_.push_back({.file = &op.file,
                     .collection = op.parent.collection,
                     .job = op.parent.job,
                     .shard = op.parent.shard,
                     .root = op.parent.root,
                     .parent = op.parent.id,
                     .index = op.index,
                     .depth = op.parent.depth + 1,
                     .position = model::child_position(op.parent.position, op.index),
                     .progress_begin = op.progress_begin,
                     .progress_end = op.progress_end});
    const double width = op.progress_end - op.progress_begin;
    ParentDelta& parent = parents_[op.parent.id];
    ++parent.children;
    parent.given += width;
    RootDelta& root = roots_[op.parent.root];
    ++root.files;
    root.bytes += op.file.inherited ? 0 : op.file.bytes;
    ShardDelta& shard = shards_[op.parent.shard];
    ++shard.files;
    if (state_of(op.file) == FileState::Processed) shard.progress += width;
    count_new(shard.steps, op.file);
  }

  Result<> settle_twins() {
    for (const auto& [twin, first] : twins_) {
      results_[twin] = AddedFile{
          .id = results_[first]->id, .existed = true, .orphans = places_of(ops_[twin].file)};
    }
    return {};
  }

  Result<> add_up() {
    Bulk parents;
    for (const auto& [id, delta] : parents_) {
      parents.add(id, delta.children, delta.given, delta.conflicts);
    }
    TRY(tx_.bulk(kAddToParent, parents));
    Bulk roots;
    for (const auto& [id, delta] : roots_) roots.add(id, delta.files, delta.bytes);
    TRY_ASSIGN(const Rows totals, tx_.bulk(kAddToRoot, roots));
    std::map<FileId, RootDelta> of_root;
    for (const Row row : totals) {
      of_root[row.get<FileId>(0)] = {row.get<std::int64_t>(1), row.get<std::int64_t>(2)};
    }
    for (const std::size_t i : fresh_) {
      results_[i]->tree_files = of_root[ops_[i].parent.root].files;
      results_[i]->tree_bytes = of_root[ops_[i].parent.root].bytes;
    }
    return add_to_shards(tx_, shards_);
  }

  Tx& tx_;
  std::span<const FinishChild> ops_;
  std::vector<Result<AddedFile>> results_;
  std::map<Place, Known> known_;
  std::map<Place, std::size_t> first_;
  std::vector<std::pair<std::size_t, std::size_t>> twins_;
  std::vector<FileRow> rows_;
  std::vector<std::size_t> fresh_;  // the operations of rows_
  std::map<FileId, ParentDelta> parents_;
  std::map<FileId, RootDelta> roots_;
  std::map<ShardId, ShardDelta> shards_;
};

}  // namespace

std::vector<Result<AddedFile>> apply(Tx& tx, std::span<const FinishChild> batch) {
  Result<std::vector<Result<AddedFile>>> results = Batch(tx, batch).run();
  if (!results.ok()) return store::fail_all<AddedFile>(batch.size(), results.error());
  return *std::move(results);
}

}  // namespace quern::tree
