#include "api/partition_call.h"

#include <fmt/format.h>

namespace quern::api {

using PartsPtr = std::shared_ptr<const Parts>;

net::Task<Result<queue::PartitionId>> find_existing(PartsPtr parts, std::string name) {
  auto load = [name](store::Tx& tx) { return queue::load_partition(tx, name); };
  CO_TRY_ASSIGN(const queue::Partition partition,
                co_await read(parts->loop, parts->readers, std::move(load)));
  co_return partition.id;
}

net::Task<Result<queue::PartitionId>> ensure_named(PartsPtr parts, std::string name) {
  CO_TRY(queue::validate_partition_name(name));
  auto find = [name](store::Tx& tx) { return queue::find_partition(tx, name); };
  CO_TRY_ASSIGN(const std::optional<queue::PartitionId> known,
                co_await read(parts->loop, parts->readers, std::move(find)));
  if (known) co_return *known;
  auto make = [parts, name] {
    return queue::ensure_partition(parts->writer, parts->readers, name);
  };
  co_return co_await offload(parts->loop, parts->pool, std::move(make));
}

Result<queue::Partition> expect_partition(store::Tx& tx, queue::PartitionId id,
                                          std::optional<std::int64_t> version) {
  const queue::Partition* partition = queue::LockedPartitions::of(tx).find(id);
  if (partition == nullptr || !partition->exists()) {
    return Error{Errc::Missing, "the partition is gone"};
  }
  if (!version || *version == partition->version) return *partition;
  return Error{Errc::Stale, fmt::format("partition '{}' is at version {}, not {}", partition->name,
                                        partition->version, *version)};
}

}  // namespace quern::api
