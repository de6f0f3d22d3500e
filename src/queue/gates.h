// The gates of a partition that have items, and how far each is.
//
// Bounded: each gate is counted by indexes, of each state at most kGateItemsMax items, and a page
// ends where kGateEntriesPerPage were counted.
#pragma once

#include <vector>

#include "queue/partition.h"

namespace quern::queue {

inline constexpr std::size_t kGatesMax = 200;
inline constexpr std::int64_t kGateItemsMax = 10'000;
inline constexpr std::int64_t kGateEntriesPerPage = 200'000;

struct GateCount {
  std::int64_t gate = 0;
  std::int64_t available = 0;  // delayed ones among them
  std::int64_t running = 0;
  std::int64_t failed = 0;
  std::int64_t complete = 0;
  bool at_least = false;  // of one state there are more

  std::int64_t items() const { return available + running + failed + complete; }
};
struct GatePage {
  std::vector<GateCount> gates;
  bool more = false;  // there may be others behind the last
};
// Those behind `after`, the lowest first.
Result<GatePage> list_gates(store::Tx& tx, PartitionId partition, std::int64_t after,
                            std::size_t limit);

}  // namespace quern::queue
