// Waking: items that wait for a time to come need not wait any longer.
#pragma once

#include "queue/partition.h"

namespace quern::queue {

// Delayed items of a partition are available now, up to kListMax of them. Returns how many. Missing
// where the partition is gone. Behind its fence.
Result<std::int64_t> wake_items(store::Tx& tx, PartitionId id);

}  // namespace quern::queue
