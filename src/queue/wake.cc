#include "queue/wake.h"

#include "queue/locked_partitions.h"
#include "queue/partition_row.h"

namespace quern::queue {
namespace {

using store::Sql;
using store::Tx;

constexpr Sql kWakeSome{
    "UPDATE item SET status = 1, due_us = $2 WHERE id IN (SELECT id FROM item WHERE partition = $1"
    " AND status = 5 ORDER BY due_us LIMIT $3)"};
constexpr Sql kNextDelayed{"SELECT min(due_us) FROM item WHERE partition = $1 AND status = 5"};

}  // namespace

Result<std::int64_t> wake_items(Tx& tx, PartitionId id) {
  Partition* const partition = LockedPartitions::of(tx).edit(id);
  if (partition == nullptr || partition->deleting) {
    return Error{Errc::Missing, "the partition is gone, or about to go"};
  }
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY_ASSIGN(const std::int64_t woken, tx.exec(kWakeSome, id, now_us, kListMax));
  if (woken == 0) return 0;
  TRY_ASSIGN(const auto next, tx.value<std::optional<std::int64_t>>(kNextDelayed, id));
  partition->delayed_us = next.value_or(kNeverUs);
  make_ready(*partition, now_us);
  return woken;
}

}  // namespace quern::queue
