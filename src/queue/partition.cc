#include "queue/partition.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "queue/locked_partitions.h"
#include "queue/partition_row.h"

namespace quern::queue {
namespace {

using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr Sql kFind{"SELECT id FROM partition WHERE name = $1"};
constexpr Sql kMake{
    "INSERT INTO partition (name, version, kind, handler, declared, auto_close, manual_checkpoint,"
    " sealed, refuse_when_closed, max_retries, priority, concurrency, backoff_ms, backoff_ms_max,"
    " retain_ms, gate, status, token, delayed_us, item_bytes_max, items, complete_items,"
    " failed_items, event_number, created_us, updated_us)"
    " VALUES ($1, 0, '', '', $2, $2, $2, $2, $2, 0, 0, 1, 0, 0, -1, 0, 1, 0, $3, 0, 0, 0, 0, 0,"
    " $4, $4) ON CONFLICT (name) DO NOTHING"};
constexpr Sql kConfigure{
    "UPDATE partition SET kind = $2, handler = $3, declared = $4, auto_close = $5,"
    " manual_checkpoint = $6, refuse_when_closed = $7, max_retries = $8, priority = $9,"
    " concurrency = $10, backoff_ms = $11, backoff_ms_max = $12, retain_ms = $13 WHERE id = $1"};
constexpr Sql kLowestOpenGate{
    "SELECT min(gate) FROM (SELECT min(gate) AS gate FROM item WHERE partition = $1 AND status = 1"
    " AND +status < 4 UNION ALL SELECT min(gate) FROM item WHERE partition = $1 AND status = 5) AS "
    "lowest"};
constexpr Sql kBusyAtGate{
    "SELECT count(*) FROM (SELECT 1 FROM item WHERE partition = $1 AND gate = $2 AND"
    " status IN (1, 2) AND +status < 4 UNION ALL SELECT 1 FROM item WHERE partition = $1 AND gate "
    "= "
    "$2 AND"
    " status = 5 LIMIT 1000) AS busy"};
constexpr Sql kRequeueOne{
    "UPDATE item SET status = 1, retry_count = 0, interruptions = 0, version = version + 1,"
    " due_us = $3, updated_us = $3 WHERE partition = $1 AND name = $2 AND status = 3"
    " RETURNING id, gate"};
constexpr Sql kRequeueSome{
    "UPDATE item SET status = 1, retry_count = 0, interruptions = 0, version = version + 1,"
    " due_us = $2, updated_us = $2 WHERE id IN (SELECT id FROM item WHERE partition = $1 AND"
    " status = 3 AND +status < 4 ORDER BY gate, priority DESC, due_us, id LIMIT $3) RETURNING id, "
    "gate"};
constexpr Sql kItemExists{"SELECT status FROM item WHERE partition = $1 AND name = $2"};
constexpr Sql kDeleteItems{
    "DELETE FROM item WHERE id IN (SELECT id FROM item WHERE partition = $1 ORDER BY name"
    " LIMIT $2)"
    " RETURNING status"};
constexpr Sql kDeleteEvents{
    "DELETE FROM event WHERE partition = $1 AND number IN"
    " (SELECT number FROM event WHERE partition = $1 LIMIT $2)"};
constexpr Sql kMarkDeleting{"UPDATE partition SET deleting = $2 WHERE id = $1"};
constexpr Sql kDelete{"DELETE FROM partition WHERE id = $1"};
constexpr Sql kLoad{
    "SELECT" QUERN_PARTITION_COLUMNS
    ", o.name, o.until_us FROM partition LEFT JOIN owner AS o ON o.id = partition.owner"
    " WHERE partition.name = $1"};
#define QUERN_LIST_PARTITIONS(condition)                                               \
  "SELECT" QUERN_PARTITION_COLUMNS                                                     \
  ", o.name, o.until_us FROM partition LEFT JOIN owner AS o ON o.id = partition.owner" \
  " WHERE partition.name > $1 AND substr(partition.name, 1, 6) <> 'quern:' AND NOT "   \
  "partition.deleting AND (partition.declared OR "                                     \
  "partition.items > 0)" condition " ORDER BY partition.name LIMIT $2"
constexpr Sql kList{QUERN_LIST_PARTITIONS("")};
constexpr Sql kListStatus{QUERN_LIST_PARTITIONS(" AND partition.status = $3")};

Result<> validate_text(std::string_view what, std::string_view text) {
  const bool has_control = std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (!text.empty() && text.size() <= kNameBytesMax && is_valid_utf8(text) && !has_control) {
    return {};
  }
  return Error{Errc::Invalid, fmt::format("the name of {} is a text of 1 to {} bytes without "
                                          "control characters",
                                          what, kNameBytesMax)};
}

Result<> in_range(std::string_view what, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return {};
  return Error{Errc::Invalid,
               fmt::format("{} is {}, but must be from {} to {}", what, value, low, high)};
}

Partition with_owner(const Row& row) {
  Partition partition = partition_of(row);
  if (!row.is_null(kPartitionColumns)) {
    partition.owner_name = row.get<std::string>(kPartitionColumns);
    partition.owner_until_us = row.get<std::int64_t>(kPartitionColumns + 1);
  }
  return partition;
}

Error no_such(std::string_view name) {
  return Error{Errc::Missing, fmt::format("there is no partition '{}'", name)};
}

Result<Partition*> edit(Tx& tx, PartitionId id) {
  Partition* partition = LockedPartitions::of(tx).edit(id);
  if (partition == nullptr || partition->deleting) {
    return Error{Errc::Missing, "the partition is gone, or about to go"};
  }
  return partition;
}

Result<> expect_version(const Partition& partition, std::optional<std::int64_t> version) {
  if (!version) return {};
  const std::int64_t stored = partition.declared ? partition.version : 0;
  if (*version == stored) return {};
  return Error{Errc::Conflict, stored == 0
                                   ? fmt::format("partition '{}' does not exist", partition.name)
                                   : fmt::format("partition '{}' is at version {}, not {}",
                                                 partition.name, stored, *version)};
}

void reopen(LockedPartitions& locked, Partition& partition) {
  partition.status = Status::Available;
  partition.sealed = false;
  locked.note(partition.id, "partition.opened", {}, partition.gate);
}

}  // namespace

std::string_view to_string(Status status) {
  switch (status) {
    case Status::Available:
    case Status::Delayed:
      return "available";
    case Status::Running:
      return "running";
    case Status::Failed:
      return "failed";
    case Status::Complete:
      return "complete";
  }
  return "available";
}

std::optional<Status> parse_status(std::string_view text) {
  for (const Status status :
       {Status::Available, Status::Running, Status::Failed, Status::Complete}) {
    if (to_string(status) == text) return status;
  }
  return std::nullopt;
}

Partition partition_of(const Row& row) {
  Partition p;
  p.id = row.get<PartitionId>(0);
  p.name = row.get<std::string>(1);
  p.version = row.get<std::int64_t>(2);
  p.config.kind = row.get<std::string>(3);
  p.config.handler = row.get<std::string>(4);
  p.declared = row.get<bool>(5);
  p.config.auto_close = row.get<bool>(6);
  p.config.manual_checkpoint = row.get<bool>(7);
  p.sealed = row.get<bool>(8);
  p.config.refuse_when_closed = row.get<bool>(9);
  p.config.max_retries = row.get<std::int64_t>(10);
  p.config.priority = row.get<std::int64_t>(11);
  p.config.concurrency = row.get<std::int64_t>(12);
  p.config.backoff_ms = row.get<std::int64_t>(13);
  p.config.backoff_ms_max = row.get<std::int64_t>(14);
  p.config.retain_ms = row.get<std::int64_t>(15);
  p.gate = row.get<std::int64_t>(16);
  p.status = static_cast<Status>(row.get<int>(17));
  p.owner = row.get<std::optional<OwnerId>>(18);
  p.token = row.get<std::int64_t>(19);
  p.ready_us = row.get<std::optional<std::int64_t>>(20);
  p.delayed_us = row.get<std::int64_t>(21);
  p.item_bytes_max = row.get<std::int64_t>(22);
  p.items = row.get<std::int64_t>(23);
  p.complete_items = row.get<std::int64_t>(24);
  p.failed_items = row.get<std::int64_t>(25);
  p.event_number = row.get<std::int64_t>(26);
  p.created_us = row.get<std::int64_t>(27);
  p.updated_us = row.get<std::int64_t>(28);
  p.deleting = row.get<bool>(29);
  return p;
}

void make_ready(Partition& partition, std::int64_t at_us) {
  if (!partition.declared) return;
  partition.ready_us = std::min(partition.ready_us.value_or(kNeverUs), at_us);
}

Result<> validate_partition_name(std::string_view name) {
  TRY(validate_text("a partition", name));
  if (!name.starts_with(kReservedPrefix)) return {};
  return Error{Errc::Invalid,
               fmt::format("names that begin with '{}' are Quern's own", kReservedPrefix)};
}

Result<> validate_item_name(std::string_view name) {
  return validate_text("an item", name);
}

Result<> validate(const PartitionConfig& config) {
  constexpr std::int64_t kYearMs = 366LL * 86'400'000;
  TRY(in_range("max_retries", config.max_retries, -1, 1'000'000));
  TRY(in_range("priority", config.priority, -kPriorityMax, kPriorityMax));
  TRY(in_range("concurrency", config.concurrency, 1, kConcurrencyMax));
  TRY(in_range("backoff_ms", config.backoff_ms, 0, kYearMs));
  TRY(in_range("backoff_max_ms", config.backoff_ms_max, 0, kYearMs));
  return in_range("retain", config.retain_ms, -1, 100 * kYearMs);
}

Result<PartitionId> ensure_partition(store::Writer& writer, store::Readers& readers,
                                     const std::string& name) {
  TRY_ASSIGN(const std::optional<PartitionId> known,
             readers.run([&name](Tx& tx) { return find_partition(tx, name); }));
  if (known) return *known;
  const store::LaneKey lane{std::hash<std::string>{}(name)};
  return writer.run(lane, [&name](Tx& tx) -> Result<PartitionId> {
    TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
    TRY(tx.exec(kMake, name, false, kNeverUs, now_us));
    return tx.value<PartitionId>(kFind, name);
  });
}

Result<Partition> put_partition(Tx& tx, PartitionId id, const PutPartition& put) {
  LockedPartitions& locked = LockedPartitions::of(tx);
  const Partition* stored = locked.find(id);
  if (stored != nullptr && stored->deleting) {
    return Error{Errc::Conflict,
                 fmt::format("partition '{}' is being deleted; try again soon", stored->name)};
  }
  if (stored != nullptr) TRY(expect_version(*stored, put.if_version));
  TRY_ASSIGN(Partition * partition, edit(tx, id));
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  const PartitionConfig& c = put.config;
  TRY(tx.exec(kConfigure, id, c.kind, c.handler, true, c.auto_close, c.manual_checkpoint,
              c.refuse_when_closed, c.max_retries, c.priority, c.concurrency, c.backoff_ms,
              c.backoff_ms_max, c.retain_ms));
  const bool is_new = !partition->declared;
  partition->config = c;
  partition->declared = true;
  partition->version += 1;
  if (is_new || partition->status != Status::Available) reopen(locked, *partition);
  if (put.sealed.value_or(false) && !partition->sealed) {
    locked.note(id, "partition.sealed", {}, partition->gate);
  }
  if (put.sealed) partition->sealed = *put.sealed;
  make_ready(*partition, now_us);
  return *partition;
}

Result<Partition> seal_partition(Tx& tx, PartitionId id) {
  LockedPartitions& locked = LockedPartitions::of(tx);
  TRY_ASSIGN(Partition * partition, edit(tx, id));
  if (!partition->declared) {
    return Error{Errc::Conflict, "put the partition before it is sealed"};
  }
  if (partition->sealed) return *partition;
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  partition->sealed = true;
  partition->version += 1;
  locked.note(id, "partition.sealed", {}, partition->gate);
  if (partition->status != Status::Complete) make_ready(*partition, now_us);
  return *partition;
}

Result<Partition> advance_partition(Tx& tx, PartitionId id) {
  LockedPartitions& locked = LockedPartitions::of(tx);
  const Partition* partition = locked.find(id);
  if (partition == nullptr) return Error{Errc::Missing, "the partition is gone"};
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  if (partition->failed_items > 0) {
    return Error{Errc::Conflict, fmt::format("{} items of '{}' have failed; requeue or delete them",
                                             partition->failed_items, partition->name)};
  }
  TRY_ASSIGN(const std::int64_t busy, tx.value<std::int64_t>(kBusyAtGate, id, partition->gate));
  if (busy > 0) {
    return Error{Errc::Conflict,
                 fmt::format("items of '{}' are still to be done at gate {}: {}{}", partition->name,
                             partition->gate, busy, busy == 1000 ? " or more" : "")};
  }
  TRY_ASSIGN(const auto next, tx.value<std::optional<std::int64_t>>(kLowestOpenGate, id));
  if (!next) {
    return Error{Errc::Conflict,
                 fmt::format("'{}' has no items beyond gate {}", partition->name, partition->gate)};
  }
  Partition* advanced = locked.edit(id);
  advanced->gate = *next;
  advanced->version += 1;
  locked.note(id, "gate.opened", {}, advanced->gate);
  make_ready(*advanced, now_us);
  return *advanced;
}

Result<std::int64_t> requeue_items(Tx& tx, PartitionId id, const std::string& item) {
  LockedPartitions& locked = LockedPartitions::of(tx);
  TRY_ASSIGN(Partition * partition, edit(tx, id));
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  Result<Rows> requeued = item.empty() ? tx.query(kRequeueSome, id, now_us, kListMax)
                                       : tx.query(kRequeueOne, id, item, now_us);
  if (!requeued.ok()) return requeued.error();
  if (requeued->empty() && !item.empty()) {
    TRY_ASSIGN(const auto status, tx.find_value<int>(kItemExists, id, item));
    if (!status) return Error{Errc::Missing, fmt::format("there is no item '{}'", item)};
    return Error{Errc::Conflict, fmt::format("item '{}' has not failed: it is {}", item,
                                             to_string(static_cast<Status>(*status)))};
  }
  if (requeued->empty()) return 0;
  for (const Row row : *requeued) {
    locked.note(id, "item.requeued", row.get<ItemId>(0), row.get<std::int64_t>(1));
  }
  partition = locked.edit(id);
  const auto count = static_cast<std::int64_t>(requeued->size());
  partition->failed_items -= count;
  if (partition->failed_items == 0) partition->status = Status::Available;
  partition->version += 1;
  make_ready(*partition, now_us);
  return count;
}

Result<bool> delete_some(Tx& tx, PartitionId id) {
  LockedPartitions& locked = LockedPartitions::of(tx);
  if (locked.find(id) == nullptr) return true;
  TRY_ASSIGN(const Rows items, tx.query(kDeleteItems, id, kItemsPerDelete));
  TRY_ASSIGN(const std::int64_t events, tx.exec(kDeleteEvents, id, kItemsPerDelete));
  if (items.empty() && events == 0) {
    TRY(tx.exec(kDelete, id));
    locked.forget(id);
    return true;
  }
  // Half a partition is nobody's work.
  Partition* partition = locked.edit(id);
  if (!partition->deleting) TRY(tx.exec(kMarkDeleting, id, true));
  partition->deleting = true;
  partition->token += 1;
  for (const Row row : items) {
    const auto status = static_cast<Status>(row.get<int>(0));
    partition->items -= 1;
    if (status == Status::Complete) partition->complete_items -= 1;
    if (status == Status::Failed) partition->failed_items -= 1;
  }
  partition->ready_us.reset();
  partition->owner.reset();
  partition->sealed = true;
  return false;
}

Result<std::optional<PartitionId>> find_partition(Tx& tx, const std::string& name) {
  return tx.find_value<PartitionId>(kFind, name);
}

Result<Partition> load_partition(Tx& tx, const std::string& name) {
  TRY_ASSIGN(const Rows rows, tx.query(kLoad, name));
  if (rows.empty()) return no_such(name);
  Partition partition = with_owner(rows[0]);
  if (!partition.exists()) return no_such(name);
  return partition;
}

Result<std::vector<Partition>> list_partitions(Tx& tx, const PartitionFilter& filter) {
  const std::size_t limit = std::min(filter.limit, kListMax);
  Result<Rows> rows = filter.status ? tx.query(kListStatus, filter.after, limit,
                                               static_cast<std::int64_t>(*filter.status))
                                    : tx.query(kList, filter.after, limit);
  if (!rows.ok()) return rows.error();
  std::vector<Partition> partitions;
  for (const Row row : *rows) partitions.push_back(with_owner(row));
  return partitions;
}

}  // namespace quern::queue
