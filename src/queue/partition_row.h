// How a partition's row is read. For the .cc files of this folder.
#pragma once

#include "queue/partition.h"

// Of the table itself, which has no alias, in the order of partition_of().
#define QUERN_PARTITION_COLUMNS                                                               \
  " partition.id, partition.name, partition.version, partition.kind, partition.handler,"      \
  " partition.declared, partition.auto_close, partition.manual_checkpoint, partition.sealed," \
  " partition.refuse_when_closed, partition.max_retries, partition.priority,"                 \
  " partition.concurrency, partition.backoff_ms, partition.backoff_ms_max,"                   \
  " partition.retain_ms, partition.gate, partition.status, partition.owner, partition.token," \
  " partition.ready_us, partition.delayed_us, partition.item_bytes_max, partition.items,"     \
  " partition.complete_items, partition.failed_items, partition.event_number,"                \
  " partition.created_us, partition.updated_us, partition.deleting "

namespace quern::queue {

inline constexpr std::size_t kPartitionColumns = 30;

Partition partition_of(const store::Row& row);

// Something is to be done from then on.
void make_ready(Partition& partition, std::int64_t at_us);

}  // namespace quern::queue
