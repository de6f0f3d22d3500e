// Turn: the one hot operation of an owner. It stores what became of some items of a partition,
// takes the next ones, and, when nothing is left at the gate, decides what comes next.
//
// Guarantee: an item is running for one owner at a time, and its result is stored once. The
// decision to open the next gate or to close is made under the partition's lock, after the results
// of this turn, from what is stored. Cost: a few array statements for all turns of a batch; none
// visits complete items.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "queue/item.h"

namespace quern::queue {

// An item in the hands of a processor.
struct Taken {
  ItemId id;
  std::string name;
  std::int64_t version = 0;
  std::int64_t gate = 0;
  std::int64_t retry_count = 0;
  std::int64_t calls = 0;  // with this one
  std::int64_t steps = 0;
  std::string errors;
  std::string data;
  std::string limit_key;
};

// What becomes of a taken item. Made by queue/outcome.h.
struct Finished {
  ItemId id;
  std::int64_t version = 0;          // that it had when it was taken: a result is stored once
  Status status = Status::Complete;  // Available, Delayed, Failed or Complete
  std::int64_t gate = 0;
  std::int64_t delay_us = 0;  // of Delayed
  std::int64_t retry_count = 0;
  std::int64_t steps = 0;
  std::optional<std::string> errors;  // absent: as they were
  std::optional<std::string> data;
  bool counted = true;  // false: it was not called after all, and goes back as it was
  // Written in the same transaction, behind the same fence.
  std::function<Result<>(store::Tx&)> effect;
};

struct Turned {
  std::vector<Taken> taken;
  Partition partition;  // as it stands after the turn
  std::int64_t now_us = 0;
  bool more = false;  // another turn would find something to do at once
  // Items are running that this owner knows nothing of (an answer was lost): only a new claim,
  // which interrupts them, helps.
  bool orphans = false;
};

struct Turn {
  PartitionId partition;
  std::int64_t token = 0;
  std::vector<Finished> finished;
  std::int64_t room = 0;       // takes at most so many
  std::int64_t in_flight = 0;  // of this owner, beside the finished ones

  using Reply = Turned;
  store::Fence fence() const { return {partition.value, token}; }
};
std::vector<Result<Turned>> apply(store::Tx& tx, std::span<const Turn> batch);

}  // namespace quern::queue
