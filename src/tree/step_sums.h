// What each step has had to do, and has done, of a shard's files.
//
// Guarantee: the sums are what the files say, at every instant: they are changed in the very
// transactions that give a file its step or end it. A file enters a step when it is written for it,
// and ends it when it is processed. Detect it ends when it gets its type; it fails there only where
// no other step is named. So `entered - ended` files wait or are worked on. One that came whole, or
// as an error, names the step that made it, and never entered it.
#pragma once

#include <map>
#include <string>

#include "store/sql.h"
#include "store/tx.h"
#include "tree/job.h"

namespace quern::tree {

struct StepSum {
  std::int64_t entered = 0;
  std::int64_t ended = 0;
  std::int64_t failed = 0;   // of those that ended
  std::int64_t wall_ms = 0;  // that workers said it took them
  std::int64_t cpu_ms = 0;

  bool operator==(const StepSum&) const = default;
  StepSum& operator+=(const StepSum& more);
};
using StepSums = std::map<std::string, StepSum>;  // by the step's name

// Adds to what is stored. The rows of the shards are locked already: add_to_shards does both.
Result<> add_to_steps(store::Tx& tx, const std::map<ShardId, StepSums>& sums);

Result<std::map<ShardId, StepSums>> load_shard_steps(store::Tx& tx, JobId job);
// Of all its shards.
Result<StepSums> load_steps(store::Tx& tx, JobId job);
// Those of a job that is being removed, before its shards are.
Result<> remove_steps(store::Tx& tx, JobId job);

}  // namespace quern::tree
