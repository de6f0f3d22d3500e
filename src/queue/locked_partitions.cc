#include "queue/locked_partitions.h"

#include <algorithm>

#include "queue/event.h"
#include "queue/partition_row.h"

namespace quern::queue {
namespace {

using store::Bulk;
using store::Row;
using store::Rows;
using store::Sql;

constexpr Sql kLock{"SELECT" QUERN_PARTITION_COLUMNS "FROM partition WHERE id = $1",
                    "SELECT" QUERN_PARTITION_COLUMNS
                    "FROM partition WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE"};
// What changes while a partition is worked on. What a user configures is written by
// put_partition().
constexpr Sql kFlush{
    "UPDATE partition SET version = $2, sealed = $3, gate = $4, status = $5, owner = $6,"
    " ready_us = $7, delayed_us = $8, item_bytes_max = $9, items = $10, complete_items = $11,"
    " failed_items = $12, event_number = $13, updated_us = $14, token = $15 WHERE id = $1",
    "UPDATE partition AS p SET version = w.version, sealed = w.sealed, gate = w.gate,"
    " status = w.status, owner = w.owner, ready_us = w.ready_us, delayed_us = w.delayed_us,"
    " item_bytes_max = w.item_bytes_max, items = w.items, complete_items = w.complete_items,"
    " failed_items = w.failed_items, event_number = w.event_number, updated_us = w.updated_us,"
    " token = w.token"
    " FROM unnest($1::bigint[], $2::bigint[], $3::boolean[], $4::bigint[], $5::bigint[],"
    " $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[],"
    " $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[]) AS w (id, version, sealed, gate, "
    "status, owner,"
    " ready_us, delayed_us, item_bytes_max, items, complete_items, failed_items, event_number,"
    " updated_us, token) WHERE p.id = w.id"};
constexpr Sql kAddEvents{
    "INSERT INTO event (partition, number, kind, item, gate, token, at_us)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7)",
    "INSERT INTO event (partition, number, kind, item, gate, token, at_us)"
    " SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[],"
    " $6::bigint[], $7::bigint[])"};
constexpr Sql kTrimEvents{
    "DELETE FROM event WHERE partition = $1 AND number <= $2",
    "DELETE FROM event USING unnest($1::bigint[], $2::bigint[]) AS w (partition, number)"
    " WHERE event.partition = w.partition AND event.number <= w.number"};

}  // namespace

LockedPartitions& LockedPartitions::of(store::Tx& tx) {
  auto* locked = dynamic_cast<LockedPartitions*>(tx.locked());
  CHECK(locked != nullptr);
  return *locked;
}

const Partition* LockedPartitions::find(PartitionId id) const {
  const auto found = rows_.find(id);
  return found == rows_.end() ? nullptr : &found->second.partition;
}

Partition* LockedPartitions::edit(PartitionId id) {
  const auto found = rows_.find(id);
  if (found == rows_.end()) return nullptr;
  before_.try_emplace(id, found->second);
  found->second.dirty = true;
  return &found->second.partition;
}

void LockedPartitions::note(PartitionId id, std::string_view kind, std::optional<ItemId> item,
                            std::int64_t gate) {
  Partition* partition = edit(id);
  CHECK(partition != nullptr);
  events_.push_back(
      {id, ++partition->event_number, std::string(kind), item, gate, partition->token});
}

void LockedPartitions::forget(PartitionId id) {
  const auto found = rows_.find(id);
  if (found == rows_.end()) return;
  before_.try_emplace(id, found->second);
  rows_.erase(found);
}

bool LockedPartitions::holds(const store::Fence& fence) const {
  const Partition* partition = find(PartitionId{fence.row});
  return partition != nullptr && partition->token == fence.token;
}

void LockedPartitions::mark() {
  before_.clear();
  events_before_ = events_.size();
}

void LockedPartitions::undo() {
  for (auto& [id, entry] : before_) rows_.insert_or_assign(id, *std::move(entry));
  events_.resize(events_before_, NewEvent{});
  before_.clear();
}

Result<> LockedPartitions::flush(store::Tx& tx) {
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  Bulk rows;
  for (auto& [id, entry] : rows_) {
    if (!entry.dirty) continue;
    Partition& p = entry.partition;
    p.updated_us = now_us;
    rows.add(id, p.version, p.sealed, p.gate, static_cast<std::int64_t>(p.status), p.owner,
             p.ready_us, p.delayed_us, p.item_bytes_max, p.items, p.complete_items, p.failed_items,
             p.event_number, now_us, p.token);
  }
  Bulk events;
  Bulk trimmed;
  for (const NewEvent& event : events_) {
    if (find(event.partition) == nullptr) continue;  // deleted since
    events.add(event.partition, event.number, event.kind, event.item, event.gate, event.token,
               now_us);
    if (event.number > kEventsKeptMax && event.number % kEventsTrimmedAtOnce == 0) {
      trimmed.add(event.partition, event.number - kEventsKeptMax);
    }
  }
  TRY(tx.bulk(kFlush, rows));
  TRY(tx.bulk(kAddEvents, events));
  TRY(tx.bulk(kTrimEvents, trimmed));
  return {};
}

Result<std::unique_ptr<store::LockedRows>> PartitionGuard::lock(
    store::Tx& tx, std::span<const std::int64_t> rows) const {
  auto locked = std::make_unique<LockedPartitions>();
  Bulk wanted;
  for (const std::int64_t row : rows) wanted.add(row);
  TRY_ASSIGN(const Rows found, tx.bulk(kLock, wanted));
  for (const Row row : found) {
    const auto id = row.get<PartitionId>(0);
    locked->rows_.emplace(id, LockedPartitions::Entry{partition_of(row)});
  }
  return std::unique_ptr<store::LockedRows>(std::move(locked));
}

}  // namespace quern::queue
