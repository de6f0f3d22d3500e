// Partitions: units of ownership. A partition has items, and a gate that they pass together.
//
//   items at the gate are available -> running -> complete, failed, or available again, perhaps at
//   a later gate. When none is available or running at the gate and none has failed, the
//   partition's gate jumps to the lowest one that has items; when no item is left it closes
//   (auto_close).
//
// Guarantee: whoever has the last token of a partition, and nobody else, changes its items. How:
// the token grows with every claim (queue/owner.h), and each batch locks the rows of the partitions
// it writes for and drops what comes with an older token (queue/locked_partitions.h). Advancing is
// decided under the same lock that putting items takes, so no item is ever passed by.
//
// Functions that take a Tx& run on the writer behind a fence for the partition (change_partition),
// or in a read where they only load.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "store/operation.h"
#include "store/readers.h"
#include "store/tx.h"
#include "store/writer.h"

namespace quern::queue {

using PartitionId = Id<struct PartitionTag>;
using ItemId = Id<struct ItemTag>;
using OwnerId = Id<struct OwnerTag>;

inline constexpr std::int64_t kNeverUs = std::numeric_limits<std::int64_t>::max();
inline constexpr std::size_t kNameBytesMax = 200;
inline constexpr std::size_t kListMax = 1000;
inline constexpr std::int64_t kGateMax = 1'000'000;
inline constexpr std::int64_t kConcurrencyMax = 1000;
inline constexpr std::int64_t kPriorityMax = 1'000'000;
inline constexpr std::size_t kItemsPerDelete = 1000;

// Processed by the HTTP handler of its address. Other kinds are Quern's own.
inline constexpr char kHttpKind[] = "http";
// Names with this beginning are Quern's own.
inline constexpr std::string_view kReservedPrefix = "quern:";

enum class Status { Available = 1, Running = 2, Failed = 3, Complete = 4, Delayed = 5 };
// "available", "running", "failed", "complete"; delayed ones are available, only not yet.
std::string_view to_string(Status status);
std::optional<Status> parse_status(std::string_view text);

struct PartitionConfig {
  std::string kind = kHttpKind;
  std::string handler;  // of kind http
  bool auto_close = false;
  bool manual_checkpoint = false;
  bool refuse_when_closed = false;  // else an item put into a closed one reopens it
  std::int64_t max_retries = 5;     // -1: endless
  std::int64_t priority = 0;
  std::int64_t concurrency = 10;  // items running at once
  std::int64_t backoff_ms = 1000;
  std::int64_t backoff_ms_max = 300'000;
  std::int64_t retain_ms = -1;  // how long complete items are kept; -1: for ever

  friend bool operator==(const PartitionConfig&, const PartitionConfig&) = default;
};

struct Partition {
  PartitionId id;
  std::string name;
  std::int64_t version = 0;
  PartitionConfig config;
  bool declared = false;
  bool sealed = false;
  bool deleting = false;
  std::int64_t gate = 0;
  Status status = Status::Available;
  std::optional<OwnerId> owner;
  std::int64_t token = 0;
  std::optional<std::int64_t> ready_us;
  std::int64_t delayed_us = kNeverUs;
  std::int64_t item_bytes_max = 0;
  std::int64_t items = 0;
  std::int64_t complete_items = 0;
  std::int64_t failed_items = 0;
  std::int64_t event_number = 0;
  std::int64_t created_us = 0;
  std::int64_t updated_us = 0;
  // Loaded beside the row, for people:
  std::string owner_name;
  std::int64_t owner_until_us = 0;

  bool exists() const { return !deleting && (declared || items > 0); }
  std::int64_t open_items() const { return items - complete_items - failed_items; }
};

// Invalid where it is empty, too long, no UTF-8, has control characters or a reserved beginning.
Result<> validate_partition_name(std::string_view name);
Result<> validate_item_name(std::string_view name);
Result<> validate(const PartitionConfig& config);

inline store::LaneKey lane_of(PartitionId id) {
  return {static_cast<std::uint64_t>(id.value)};
}

// The id of a name. Where there is no such partition yet, an empty, undeclared one is made: it is
// not listed and nobody processes it. Reads first, so it is cheap for those that exist. Blocks.
Result<PartitionId> ensure_partition(store::Writer& writer, store::Readers& readers,
                                     const std::string& name);

struct PutPartition {
  PartitionConfig config;
  std::optional<bool> sealed;
  std::optional<std::int64_t> if_version;  // 0: it must not exist
};
// Declares a partition or changes one, as available: a complete or failed one is open again, and
// unsealed. Conflict where the version is another. A version that is given for a partition that is
// not there is a Conflict too.
Result<Partition> put_partition(store::Tx& tx, PartitionId id, const PutPartition& put);
// No item can be put any more; with auto_close it closes when all are complete, at once if empty.
Result<Partition> seal_partition(store::Tx& tx, PartitionId id);
// To the next gate that has items, where none is left to do at this one. Conflict says what is.
Result<Partition> advance_partition(store::Tx& tx, PartitionId id);
// Failed items are available again, with all their retries: the named one, or up to kListMax of
// them. Returns how many. Missing where the named one is not there, Conflict where it did not fail.
Result<std::int64_t> requeue_items(store::Tx& tx, PartitionId id, const std::string& item);
// Takes away up to kItemsPerDelete items and, when none is left, the partition; returns whether it
// is gone. After the first step it does not exist for anybody, and whoever scans finishes it. Its
// owner, if any, finds its token stale.
Result<bool> delete_some(store::Tx& tx, PartitionId id);

// Missing where it does not exist.
Result<Partition> load_partition(store::Tx& tx, const std::string& name);
Result<std::optional<PartitionId>> find_partition(store::Tx& tx, const std::string& name);

struct PartitionFilter {
  std::optional<Status> status;
  std::string after;  // by name
  std::size_t limit = 200;
};
Result<std::vector<Partition>> list_partitions(store::Tx& tx, const PartitionFilter& filter);

}  // namespace quern::queue
