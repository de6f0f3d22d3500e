// Events: what happened to a partition and its items, written in the transaction of the change and
// numbered without gaps by whoever held the partition.
//
// Guarantee: an event is there if and only if its change is; numbers order the changes of one
// partition. The newest kEventsKeptMax of a partition are kept.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "queue/partition.h"

namespace quern::queue {

inline constexpr std::int64_t kEventsKeptMax = 100'000;
inline constexpr std::int64_t kEventsTrimmedAtOnce = 1000;

// partition.opened, partition.sealed, partition.failed, partition.closed, gate.opened,
// item.complete, item.failed, item.requeued.
struct Event {
  std::int64_t number = 0;
  std::string kind;
  std::string item;  // its name, or empty
  std::int64_t gate = 0;
  std::int64_t token = 0;
  std::int64_t at_us = 0;
};

// Those after a number, in order.
Result<std::vector<Event>> list_events(store::Tx& tx, PartitionId partition, std::int64_t after,
                                       std::size_t limit);

}  // namespace quern::queue
