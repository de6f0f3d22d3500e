// Imports: jobs whose shards are partitions of the work engine, and their roots.
//
// Guarantee: asking again with the same key finds the same job, however far the first request got.
// How: an item that says "run this shard" is put before its partition is declared, and the shard's
// row is written with the declaration; a shard whose row is there is complete.
//
// Functions block; for a pool's thread.
#pragma once

#include <functional>

#include "queue/partition.h"
#include "store/readers.h"
#include "store/writer.h"
#include "tree/job.h"

namespace quern::step {

inline queue::PartitionId partition_of(tree::ShardId shard) {
  return {shard.value};
}

// Of a shard's partition.
std::string shard_name(tree::JobId job, std::int64_t number);

using Poke = std::function<void(queue::PartitionId)>;

// The job, with all its shards.
Result<tree::Job> open_import(store::Writer& writer, store::Readers& readers,
                              const tree::NewJob& order, const Poke& poke);
// Which shard a root belongs to.
Result<tree::ShardId> shard_of_root(store::Readers& readers, tree::JobId job, std::int64_t index);

}  // namespace quern::step
