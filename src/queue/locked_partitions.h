// LockedPartitions: the partition rows of a batch, locked and read at its start, changed in memory,
// written once at its end. And the guard that makes them (store/guard.h).
#pragma once

#include <map>
#include <vector>

#include "queue/partition.h"
#include "store/guard.h"

namespace quern::queue {

class LockedPartitions final : public store::LockedRows {
 public:
  // Of a transaction whose operation has a fence.
  static LockedPartitions& of(store::Tx& tx);

  const Partition* find(PartitionId id) const;
  // For changing; what is not changed is not written. The pointer is good until the next edit().
  Partition* edit(PartitionId id);
  // Adds an event with the next number.
  void note(PartitionId id, std::string_view kind, std::optional<ItemId> item, std::int64_t gate);
  // It was deleted: nothing is written for it.
  void forget(PartitionId id);

  bool holds(const store::Fence& fence) const override;
  void mark() override;
  void undo() override;
  Result<> flush(store::Tx& tx) override;

 private:
  friend class PartitionGuard;
  struct Entry {
    Partition partition;
    bool dirty = false;
  };
  struct NewEvent {
    PartitionId partition;
    std::int64_t number;
    std::string kind;
    std::optional<ItemId> item;
    std::int64_t gate;
    std::int64_t token;
  };

  std::map<PartitionId, Entry> rows_;
  std::vector<NewEvent> events_;
  // Since the last mark():
  std::map<PartitionId, std::optional<Entry>> before_;
  std::size_t events_before_ = 0;
};

class PartitionGuard final : public store::BatchGuard {
 public:
  Result<std::unique_ptr<store::LockedRows>> lock(
      store::Tx& tx, std::span<const std::int64_t> rows) const override;
};

// A closure behind the partition's lock, whoever owns it.
template <class Function>
auto change_partition(PartitionId id, Function function) {
  return store::Fenced{store::Fence{id.value, 0}, std::move(function)};
}

}  // namespace quern::queue
