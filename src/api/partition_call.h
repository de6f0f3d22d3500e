// How handlers reach a partition: by its name, then behind its lock.
//
// On the loop's thread; nothing here blocks it. Functions that are handed on run on the writer,
// perhaps more than once: they have no effect but on the transaction.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "api/await.h"
#include "api/service.h"
#include "queue/locked_partitions.h"

namespace quern::api {

// A partition may be deleted between a look at its name and a write: then both are made again.
inline constexpr int kPartitionTriesMax = 3;

// Missing where it does not exist.
net::Task<Result<queue::PartitionId>> find_existing(std::shared_ptr<const Parts> parts,
                                                    std::string name);
// Makes an empty, undeclared one where there is none. Invalid where the name is none for users.
net::Task<Result<queue::PartitionId>> ensure_named(std::shared_ptr<const Parts> parts,
                                                   std::string name);

// The partition behind whose lock the transaction runs. Missing where it does not exist; Stale
// where a version was asked for and it has another.
Result<queue::Partition> expect_partition(store::Tx& tx, queue::PartitionId id,
                                          std::optional<std::int64_t> version);

// Runs the function over the transaction behind the partition's lock; the answer comes after the
// commit.
template <class Function>
net::Task<Result<store::Answer<Function>>> change(std::shared_ptr<const Parts> parts,
                                                  queue::PartitionId id, Function function) {
  auto fenced = queue::change_partition(id, std::move(function));
  store::Lane& lane = parts->writer.lane(queue::lane_of(id));
  co_return co_await write(parts->loop, lane, std::move(fenced));
}

}  // namespace quern::api
