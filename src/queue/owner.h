// Owners: processes that work. One row holds an owner's expiry; one statement renews all it owns.
//
// Guarantee: of two owners, one has a partition; the other's writes for it are dropped. Safety
// rests on the token alone: expiry (the database's time) only decides when a partition may be taken
// from an owner that is silent. An owner that was silent for too long may renew again; what was
// taken meanwhile it finds out by its stale tokens. docs/lease-model.md checks this.
//
// Functions that take a Tx& run on the writer's control lane, alone (store::Alone): they change
// rows that a batch beside them might have locked and read. They wait for no lock: a partition that
// somebody writes for just now is skipped until the next scan.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "queue/partition.h"

namespace quern::queue {

inline constexpr std::size_t kOwnersMax = 1000;
inline constexpr std::int64_t kClaimedAtOnceMax = 256;
// A call whose owner died is made again; after so many deaths the item has failed.
inline constexpr std::int64_t kInterruptionsMax = 20;

struct Owner {
  OwnerId id;
  std::string name;
};

// Registers a process with a random name. kinds: what it can process, sorted, joined by spaces.
Result<Owner> register_owner(store::Tx& tx, const std::string& name, const std::string& kinds,
                             std::int64_t lease_us);

// Goes first in its batch. Missing where the row is gone: the owner must register anew.
struct RenewOwner {
  OwnerId id;
  std::int64_t lease_us = 0;

  using Reply = std::int64_t;  // until
  static constexpr bool kGoesFirst = true;
};
std::vector<Result<std::int64_t>> apply(store::Tx& tx, std::span<const RenewOwner> batch);

struct Scan {
  OwnerId owner;
  std::vector<std::string> kinds;
  std::int64_t held = 0;
  std::int64_t held_max = 0;  // the cap of this owner
  std::int64_t patience_us =
      0;  // a partition that was ready for longer is claimed beyond the share
};
struct Held {
  PartitionId id;
  std::int64_t token = 0;
};
struct Scanned {
  std::vector<Partition> claimed;     // with their new tokens
  std::vector<Held> ready;            // held ones that have something to do by now
  std::vector<PartitionId> deleting;  // whose deletion was not finished
  std::int64_t surplus = 0;  // so many should be given up, for others have less than their share
  bool room_wanted = false;  // ready ones wait, but the cap is reached
  // Free ones that somebody writes for at every scan: to be claimed in their own lanes.
  std::vector<PartitionId> contended;
};
// Takes the partitions of dead owners away, claims free ones up to a fair share, and looks which of
// the held ones are ready. Its statements do not depend on how many partitions there are.
Result<Scanned> scan_partitions(store::Tx& tx, const Scan& scan);

// Claims one partition in its own lane, where it waits for those who write for it. Empty where it
// is not free.
struct ClaimPartition {
  PartitionId partition;
  OwnerId owner;
  std::vector<std::string> kinds;  // that the owner can process

  using Reply = std::optional<Partition>;
  store::Fence fence() const { return {partition.value, 0}; }
};
std::vector<Result<ClaimPartition::Reply>> apply(store::Tx& tx,
                                                 std::span<const ClaimPartition> batch);
// Frees a partition that the owner has without knowing: the answer to a claim or a release was
// lost. In its lane; returns whether it was so.
Result<bool> release_unknown(store::Tx& tx, const Held& held, OwnerId owner);

// Gives up a partition, in its own lane. Its running items, if any, are interrupted.
struct ReleasePartition {
  PartitionId partition;
  std::int64_t token = 0;

  using Reply = bool;
  store::Fence fence() const { return {partition.value, token}; }
};
std::vector<Result<bool>> apply(store::Tx& tx, std::span<const ReleasePartition> batch);

// The end of a clean stop: the row has expired, and goes if nothing is held any more.
Result<> unregister_owner(store::Tx& tx, OwnerId id);

// For the owner of a SQLite folder at its start: all former owners are known to be dead. Goes in
// steps; returns whether it is done.
Result<bool> end_all_owners(store::Tx& tx);

}  // namespace quern::queue
