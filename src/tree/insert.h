// Inserting files: what children and roots have in common. For use inside tree only.
#pragma once

#include <map>
#include <set>

#include "tree/child.h"
#include "tree/step_sums.h"

namespace quern::tree {

using model::FileState;

// As stored: 1 created, 2 written, 3 processed, 4 ingested.
constexpr int stored(FileState state) {
  return static_cast<int>(state) + 1;
}

// A row to be. What it refers to outlives it.
struct FileRow {
  const NewFile* file = nullptr;
  CollectionId collection;
  JobId job;
  ShardId shard;
  std::optional<FileId> root;
  std::optional<FileId> parent;
  std::int64_t index = 0;
  std::int64_t depth = 0;
  std::string position;
  double progress_begin = 0;
  double progress_end = 0;
};

FileState state_of(const NewFile& file);

// Stores the blobs, then the rows, then the texts. Nothing of (parent, index) exists yet. In order:
// the id of each and the places that are orphans now.
Result<std::vector<AddedFile>> insert_files(store::Tx& tx, const std::vector<FileRow>& rows);

// What is added to a shard's sums.
struct ShardDelta {
  std::int64_t roots = 0;
  std::int64_t files = 0;
  std::int64_t bytes_in = 0;
  double weight = 0;
  double progress = 0;
  StepSums steps;
};
// A new file waits for its step, unless it came whole or as an error: then that is who made it.
void count_new(StepSums& steps, const NewFile& file);
// The shards' own rows first: who holds one may change those of its steps.
Result<> add_to_shards(store::Tx& tx, const std::map<ShardId, ShardDelta>& deltas);

}  // namespace quern::tree
