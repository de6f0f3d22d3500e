// Items: the work of a partition. An item has bytes that its processor understands, a gate and a
// status.
//
// Guarantee: an item is put once, however often the same put is repeated. How: its name is unique
// in its partition, and its unique key, if it has one, everywhere.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "queue/partition.h"

namespace quern::queue {

inline constexpr std::size_t kItemBytesMax = 1024 * 1024;
inline constexpr std::size_t kItemsPerPutMax = 10'000;
inline constexpr std::size_t kKeyBytesMax = 512;

struct Item {
  ItemId id;
  PartitionId partition;
  std::string name;
  std::int64_t version = 0;
  std::int64_t gate = 0;
  Status status = Status::Available;
  std::int64_t priority = 0;
  std::int64_t due_us = 0;
  std::int64_t retry_count = 0;
  std::int64_t calls = 0;
  std::int64_t interruptions = 0;
  std::int64_t steps = 0;
  std::string errors;  // a JSON list of {"message", "at", "times"}
  std::string data;    // empty where a list left it out
  std::int64_t data_bytes = 0;
  std::string unique_key;
  std::string limit_key;
  std::int64_t created_us = 0;
  std::int64_t updated_us = 0;
};

struct NewItem {
  std::string name;
  std::int64_t gate = 0;
  std::string data;
  std::int64_t priority = 0;
  std::int64_t delay_us = 0;  // not before so long after it was put
  std::string unique_key;     // empty: none
  std::string limit_key;      // empty: none
};

enum class Put {
  Added,
  Same,   // it was put before, just so
  Taken,  // another item, perhaps of another partition, has its unique key
};
struct PutResult {
  Put put = Put::Added;
  ItemId id;  // of Added and Same
};

// Puts items, all or none of them. Errors say which: Conflict where an item of that name is
// different, the gate is below the partition's, or the partition is sealed or closed; Missing where
// the partition is gone.
struct PutItems {
  PartitionId partition;
  std::vector<NewItem> items;

  using Reply = std::vector<PutResult>;
  store::Fence fence() const { return {partition.value, 0}; }
};
std::vector<Result<PutItems::Reply>> apply(store::Tx& tx, std::span<const PutItems> batch);
Result<> validate(const NewItem& item);

// Changes an item that stands at this version: bytes, gate and priority; it is available again.
// Conflict where the version is another, the item is running or gone, or the partition takes no
// item at that gate. Behind a fence.
struct ReplaceItem {
  NewItem item;
  std::int64_t if_version = 0;
};
Result<Item> replace_item(store::Tx& tx, PartitionId partition, const ReplaceItem& replace);
// Missing; Conflict where it is running or the version is another. Behind a fence.
Result<> delete_item(store::Tx& tx, PartitionId partition, const std::string& name,
                     std::optional<std::int64_t> if_version);

Result<Item> load_item(store::Tx& tx, PartitionId partition, const std::string& name);

struct ItemFilter {
  std::optional<Status> status;  // Available includes those that are delayed
  std::optional<std::int64_t> gate;
  std::optional<std::int64_t> updated_before_us;
  std::string after;  // by name
  std::size_t limit = 200;
};
// Without their bytes.
Result<std::vector<Item>> list_items(store::Tx& tx, PartitionId partition,
                                     const ItemFilter& filter);

}  // namespace quern::queue
