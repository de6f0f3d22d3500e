// Finishing: how a written file is processed, or goes back to be lent again.
//
// Guarantee: a file is processed once. Whatever ends a step (done, an error, a cancel, too many
// attempts), the first end counts; later ones change nothing. n_children is what was stored by all
// attempts, for it is counted in the transaction that stores a child.
//
// Bulk operations behind the fence of their partition.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tree/child.h"

namespace quern::tree {

// Ends that a box saw, until the file has failed; and ends that tell nothing of the file.
inline constexpr std::int64_t kAttemptsMax = 3;
inline constexpr std::int64_t kInterruptionsMax = 20;
// From here on a file is lent only when nothing else is.
inline constexpr std::int64_t kInterruptionsAlone = 15;
inline constexpr std::size_t kErrorBytesMax = 4096;

struct StepReport {
  std::string step_version;
  std::string worker;
  std::string note;
  std::optional<std::int64_t> wall_ms;
  std::optional<std::int64_t> cpu_ms;
  std::optional<std::int64_t> peak_kib;
};

struct FinishFile {
  ShardId shard;
  std::int64_t token = 0;
  FileId file;
  std::optional<Failure> failure;  // none: done
  StepReport report;
  std::string links;  // of a web page, as its step found them: JSON; empty: none

  using Reply = bool;  // whether it was this that ended it
  store::Fence fence() const { return {shard.value, token}; }
};
std::vector<Result<bool>> apply(store::Tx& tx, std::span<const FinishFile> batch);

// An attempt ended without a result. With the last one allowed the file has failed.
struct CountEnd {
  enum class Kind { Attempt, Interruption };

  ShardId shard;
  std::int64_t token = 0;
  FileId file;
  Kind kind = Kind::Interruption;
  Failure why;  // what the file is told to have failed of
  StepReport report;

  struct Reply {
    bool failed = false;  // it was the last one
    std::int64_t attempts = 0;
    std::int64_t interruptions = 0;
  };
  store::Fence fence() const { return {shard.value, token}; }
};
std::vector<Result<CountEnd::Reply>> apply(store::Tx& tx, std::span<const CountEnd> batch);

// What detection said of a file, and what follows.
struct SetType {
  ShardId shard;
  std::int64_t token = 0;
  FileId file;
  std::string detected_type;
  std::string step;                // that it waits for now
  std::optional<Failure> failure;  // or why there is none

  using Reply = bool;  // whether it still waited for detection
  store::Fence fence() const { return {shard.value, token}; }
};
std::vector<Result<bool>> apply(store::Tx& tx, std::span<const SetType> batch);

// Files that wait or are lent end as canceled, and uploads that have not come, up to
// kCanceledAtOnce; returns how many.
inline constexpr std::int64_t kCanceledAtOnce = 1000;
Result<std::int64_t> cancel_waiting(store::Tx& tx, ShardId shard);
// The files of a step that nobody serves end as that, up to kCanceledAtOnce; returns how many.
Result<std::int64_t> fail_waiting(store::Tx& tx, ShardId shard, const std::string& step,
                                  const Failure& why);

// These have been lent for a while: should we die, they count as interrupted.
Result<> mark_lent(store::Tx& tx, const std::vector<FileId>& files);
// For a new owner: whatever was lent is interrupted; one that took its server down too often has
// failed. Returns how many.
Result<std::int64_t> interrupt_lent(store::Tx& tx, ShardId shard);

}  // namespace quern::tree
