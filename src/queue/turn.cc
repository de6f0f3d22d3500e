#include "queue/turn.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/crash.h"
#include "queue/locked_partitions.h"
#include "queue/partition_row.h"

namespace quern::queue {
namespace {

using store::Bulk;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr std::int64_t kPromotedAtOnce = 1000;
constexpr std::int64_t kExpiredAtOnce = 1000;
// A partition that is never idle looks once in so many completions what it need not keep.
constexpr std::int64_t kExpireEvery = 256;

// SQLite uses a partial index only where the statement repeats its condition: hence +status < 4
// (the plus keeps its planner from answering by that range). For RETURNING it makes a table in each
// run of a statement (4 us an item), so there it reads first.
constexpr Sql kRunning{"SELECT id FROM item WHERE id = $1 AND status = 2 AND version = $10"};
constexpr Sql kFinish{
    "UPDATE item SET version = version + 1, status = $2, gate = $3, due_us = $4, retry_count = $5,"
    " steps = $6, calls = calls - $7,"
    " interruptions = CASE WHEN $2 = 1 THEN 0 ELSE interruptions END, errors = coalesce($8, "
    "errors), updated_us = $9"
    " WHERE id = $1 AND status = 2 AND version = $10",
    "UPDATE item AS i SET version = i.version + 1, status = w.status, gate = w.gate,"
    " due_us = w.due_us, retry_count = w.retry_count, steps = w.steps,"
    " calls = i.calls - w.uncounted,"
    " interruptions = CASE WHEN w.status = 1 THEN 0 ELSE i.interruptions END, errors = "
    "coalesce(w.errors, i.errors),"
    " updated_us = w.now_us FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[],"
    " $5::bigint[], $6::bigint[], $7::bigint[], $8::text[], $9::bigint[], $10::bigint[])"
    " AS w (id, status, gate, due_us, retry_count, steps, uncounted, errors, now_us, version)"
    " WHERE i.id = w.id AND i.status = 2 AND i.version = w.version RETURNING i.id"};
constexpr Sql kSetData{
    "UPDATE item SET data = $2 WHERE id = $1",
    "UPDATE item AS i SET data = w.data FROM unnest($1::bigint[], $2::bytea[]) AS w (id, data)"
    " WHERE i.id = w.id"};
constexpr Sql kPromote{
    "UPDATE item SET status = 1 WHERE id IN (SELECT id FROM item WHERE partition = $1"
    " AND status = 5 AND due_us <= $2 ORDER BY due_us LIMIT $3)",
    "UPDATE item SET status = 1 FROM (SELECT found.id"
    " FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS w (partition, now_us, room)"
    " CROSS JOIN LATERAL (SELECT i.id FROM item AS i WHERE i.partition = w.partition"
    " AND i.status = 5 AND i.due_us <= w.now_us ORDER BY i.due_us LIMIT w.room) AS found) AS p"
    " WHERE item.id = p.id"};
constexpr Sql kNextDelayed{
    "SELECT $1, (SELECT min(due_us) FROM item WHERE partition = $1 AND status = 5)",
    "SELECT w.partition, (SELECT min(i.due_us) FROM item AS i WHERE i.partition = w.partition"
    " AND i.status = 5) FROM unnest($1::bigint[]) AS w (partition)"};
constexpr Sql kTake{
    "SELECT id, partition, name, gate, retry_count, calls + 1, steps, errors, data, limit_key,"
    " priority, due_us, version + 1 FROM item WHERE partition = $1 AND status = 1 AND +status < 4"
    " AND gate = $2 ORDER BY priority DESC, due_us, id LIMIT $3",
    "UPDATE item SET status = 2, version = item.version + 1, calls = item.calls + 1,"
    " updated_us = p.now_us FROM (SELECT found.id, w.now_us"
    " FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])"
    " AS w (partition, gate, room, now_us) CROSS JOIN LATERAL (SELECT i.id FROM item AS i"
    " WHERE i.partition = w.partition AND i.status = 1 AND i.gate = w.gate"
    " ORDER BY i.priority DESC, i.due_us, i.id LIMIT w.room) AS found) AS p"
    " WHERE item.id = p.id RETURNING item.id, item.partition, item.name, item.gate,"
    " item.retry_count, item.calls, item.steps, item.errors, item.data, item.limit_key,"
    " item.priority, item.due_us, item.version"};
constexpr Sql kMarkTaken{
    "UPDATE item SET status = 2, version = version + 1, calls = calls + 1, updated_us = $2"
    " WHERE id = $1"};
constexpr Sql kOpenGates{
    "SELECT $1, (SELECT min(gate) FROM item WHERE partition = $1 AND status = 1 AND +status < 4),"
    " (SELECT min(gate) FROM item WHERE partition = $1 AND status = 5),"
    " (SELECT min(gate) FROM item WHERE partition = $1 AND status = 2 AND +status < 4)",
    "SELECT w.partition, (SELECT min(i.gate) FROM item AS i WHERE i.partition = w.partition"
    " AND i.status = 1), (SELECT min(i.gate) FROM item AS i WHERE i.partition = w.partition"
    " AND i.status = 5), (SELECT min(i.gate) FROM item AS i WHERE i.partition = w.partition"
    " AND i.status = 2) FROM unnest($1::bigint[]) AS w (partition)"};
constexpr Sql kExpire{
    "DELETE FROM item WHERE id IN (SELECT id FROM item WHERE partition = $1 AND status = 4"
    " AND due_us < 9223372036854775807 AND due_us <= $2 ORDER BY due_us LIMIT $3)"};
constexpr Sql kNextExpiry{
    "SELECT min(due_us) FROM item WHERE partition = $1 AND status = 4"
    " AND due_us < 9223372036854775807"};

// The turns of one batch.
class Turning {
 public:
  Turning(Tx& tx, std::span<const Turn> batch)
      : tx_(tx), batch_(batch), locked_(LockedPartitions::of(tx)) {}

  Result<std::vector<Result<Turned>>> run();

 private:
  Result<> finish();
  Result<> note_stored(const Sql& sql, const Bulk& results);
  Result<> run_effects();
  void count(const Turn& turn, const Finished& finished);
  Result<> promote();
  Result<> take();
  Result<> mark_taken(const Rows& rows);
  Result<> decide();
  Result<> decide_one(Partition& partition, std::optional<std::int64_t> available_gate,
                      std::optional<std::int64_t> delayed_gate);
  void close(Partition& partition);
  Result<std::int64_t> expire(Partition& partition);

  Tx& tx_;
  std::span<const Turn> batch_;
  LockedPartitions& locked_;
  std::int64_t now_us_ = 0;
  std::set<ItemId> stored_;
  std::map<PartitionId, std::vector<Taken>> taken_;
  std::set<PartitionId> more_;
  std::set<PartitionId> orphans_;
  std::set<PartitionId> expiring_;
};

Result<> Turning::finish() {
  Bulk results;
  Bulk data;
  for (const Turn& turn : batch_) {
    const PartitionConfig& config = locked_.find(turn.partition)->config;
    const std::int64_t expiry_us =
        config.retain_ms < 0 ? kNeverUs : now_us_ + config.retain_ms * 1000;
    for (const Finished& f : turn.finished) {
      const std::int64_t due_us = f.status == Status::Complete ? expiry_us : now_us_ + f.delay_us;
      results.add(f.id, static_cast<std::int64_t>(f.status), f.gate, due_us, f.retry_count, f.steps,
                  f.counted ? 0 : 1, f.errors, now_us_, f.version);
    }
  }
  if (tx_.store() == store::StoreKind::Sqlite) TRY(note_stored(kRunning, results));
  TRY(note_stored(kFinish, results));
  for (const Turn& turn : batch_) {
    for (const Finished& f : turn.finished) {
      if (!stored_.contains(f.id)) continue;
      count(turn, f);
      if (f.data) data.add(f.id, store::Bytes(std::as_bytes(std::span(*f.data))));
    }
  }
  TRY(tx_.bulk(kSetData, data));
  return run_effects();
}

Result<> Turning::note_stored(const Sql& sql, const Bulk& results) {
  TRY_ASSIGN(const Rows rows, tx_.bulk(sql, results));
  for (const Row row : rows) stored_.insert(row.get<ItemId>(0));
  return {};
}

void Turning::count(const Turn& turn, const Finished& f) {
  Partition& partition = *locked_.edit(turn.partition);
  if (f.data) {
    partition.item_bytes_max =
        std::max(partition.item_bytes_max, static_cast<std::int64_t>(f.data->size()));
  }
  if (f.status == Status::Complete) {
    partition.complete_items += 1;
    if (partition.complete_items % kExpireEvery == 0) expiring_.insert(turn.partition);
    locked_.note(turn.partition, "item.complete", f.id, f.gate);
  } else if (f.status == Status::Failed) {
    partition.failed_items += 1;
    locked_.note(turn.partition, "item.failed", f.id, f.gate);
    if (partition.status == Status::Failed) return;
    partition.status = Status::Failed;
    partition.version += 1;
    locked_.note(turn.partition, "partition.failed", {}, partition.gate);
  } else if (f.status == Status::Delayed) {
    partition.delayed_us = std::min(partition.delayed_us, now_us_ + f.delay_us);
  }
}

Result<> Turning::run_effects() {
  for (const Turn& turn : batch_) {
    for (const Finished& f : turn.finished) {
      if (!f.effect || !stored_.contains(f.id)) continue;
      const Result<> done = f.effect(tx_);
      if (done.ok()) continue;
      tx_.spoil();
      return done.error();
    }
  }
  return {};
}

// Delayed items whose time has come are available.
Result<> Turning::promote() {
  Bulk due;
  Bulk partitions;
  for (const Turn& turn : batch_) {
    if (locked_.find(turn.partition)->delayed_us > now_us_) continue;
    due.add(turn.partition, now_us_, kPromotedAtOnce);
    partitions.add(turn.partition);
  }
  if (due.rows() == 0) return {};
  TRY(tx_.bulk(kPromote, due));
  TRY_ASSIGN(const Rows next, tx_.bulk(kNextDelayed, partitions));
  for (const Row row : next) {
    const auto id = row.get<PartitionId>(0);
    Partition& partition = *locked_.edit(id);
    partition.delayed_us = row.get<std::optional<std::int64_t>>(1).value_or(kNeverUs);
    if (partition.delayed_us <= now_us_) more_.insert(id);
  }
  return {};
}

Result<> Turning::take() {
  Bulk wanted;
  std::set<PartitionId> asked;
  for (const Turn& turn : batch_) {
    const Partition& partition = *locked_.find(turn.partition);
    if (turn.room > 0 && partition.status != Status::Complete &&
        asked.insert(partition.id).second) {
      wanted.add(turn.partition, partition.gate, turn.room, now_us_);
    }
  }
  TRY_ASSIGN(const Rows rows, tx_.bulk(kTake, wanted));
  if (tx_.store() == store::StoreKind::Sqlite) TRY(mark_taken(rows));
  std::vector<std::size_t> order(rows.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto rank = [&rows](std::size_t i) {
    const Row row = rows[i];
    return std::tuple(-row.get<std::int64_t>(10), row.get<std::int64_t>(11),
                      row.get<std::int64_t>(0));
  };
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  for (const std::size_t i : order) {
    const Row row = rows[i];
    taken_[row.get<PartitionId>(1)].push_back(
        {row.get<ItemId>(0), row.get<std::string>(2), row.get<std::int64_t>(12),
         row.get<std::int64_t>(3), row.get<std::int64_t>(4), row.get<std::int64_t>(5),
         row.get<std::int64_t>(6), row.get<std::string>(7), row.get<std::string>(8),
         row.get<std::optional<std::string>>(9).value_or("")});
  }
  return {};
}

Result<> Turning::mark_taken(const Rows& rows) {
  Bulk taken;
  for (const Row row : rows) taken.add(row.get<ItemId>(0), now_us_);
  TRY(tx_.bulk(kMarkTaken, taken));
  return {};
}

// Where nothing was taken and nothing is under way, the gate has nothing left that could run now.
Result<> Turning::decide() {
  Bulk idle;
  for (const Turn& turn : batch_) {
    const bool busy = turn.room <= 0 || turn.in_flight > 0 || taken_.contains(turn.partition);
    if (!busy && locked_.find(turn.partition)->status != Status::Complete) idle.add(turn.partition);
  }
  TRY_ASSIGN(const Rows rows, tx_.bulk(kOpenGates, idle));
  for (const Row row : rows) {
    if (!row.is_null(3)) {
      orphans_.insert(row.get<PartitionId>(0));
      continue;
    }
    Partition& partition = *locked_.edit(row.get<PartitionId>(0));
    TRY(decide_one(partition, row.get<std::optional<std::int64_t>>(1),
                   row.get<std::optional<std::int64_t>>(2)));
  }
  return {};
}

Result<> Turning::decide_one(Partition& partition, std::optional<std::int64_t> available_gate,
                             std::optional<std::int64_t> delayed_gate) {
  const std::int64_t lowest =
      std::min(available_gate.value_or(kNeverUs), delayed_gate.value_or(kNeverUs));
  CHECK(lowest >= partition.gate);
  if (lowest == partition.gate) {
    TRY_ASSIGN(const std::int64_t expiry_us, expire(partition));
    partition.ready_us = std::min(partition.delayed_us, expiry_us);
    return {};
  }
  if (partition.failed_items > 0) {
    // Nothing can run before somebody requeues or deletes what failed.
    if (partition.status != Status::Failed) {
      partition.status = Status::Failed;
      partition.version += 1;
      locked_.note(partition.id, "partition.failed", {}, partition.gate);
    }
    partition.ready_us.reset();
    partition.owner.reset();
    return {};
  }
  if (lowest == kNeverUs) {
    const bool sealed_or_used = partition.sealed || partition.items > 0;
    if (partition.config.auto_close && sealed_or_used) {
      close(partition);
      return {};
    }
    TRY_ASSIGN(partition.ready_us, expire(partition));
    return {};
  }
  if (partition.config.manual_checkpoint) {
    partition.ready_us = partition.delayed_us;
    return {};
  }
  partition.gate = lowest;
  partition.version += 1;
  partition.ready_us = now_us_;
  more_.insert(partition.id);
  locked_.note(partition.id, "gate.opened", {}, lowest);
  crash_point("queue.gate.opened");
  return {};
}

void Turning::close(Partition& partition) {
  partition.status = Status::Complete;
  partition.version += 1;
  partition.ready_us.reset();
  partition.owner.reset();
  locked_.note(partition.id, "partition.closed", {}, partition.gate);
}

// Complete items that are no longer kept go; returns when the next ones do.
Result<std::int64_t> Turning::expire(Partition& partition) {
  if (partition.config.retain_ms < 0) return kNeverUs;
  TRY_ASSIGN(const std::int64_t gone, tx_.exec(kExpire, partition.id, now_us_, kExpiredAtOnce));
  partition.items -= gone;
  partition.complete_items -= gone;
  TRY_ASSIGN(const auto next, tx_.value<std::optional<std::int64_t>>(kNextExpiry, partition.id));
  return next.value_or(kNeverUs);
}

Result<std::vector<Result<Turned>>> Turning::run() {
  TRY_ASSIGN(now_us_, tx_.now_us());
  TRY(finish());
  TRY(promote());
  TRY(take());
  crash_point("queue.turn.taken");
  TRY(decide());
  for (const PartitionId id : expiring_) TRY(expire(*locked_.edit(id)));
  std::vector<Result<Turned>> results;
  for (const Turn& turn : batch_) {
    Turned turned;
    if (turn.room > 0) {
      turned.taken = std::move(taken_[turn.partition]);
      taken_[turn.partition].clear();
    }
    turned.partition = *locked_.find(turn.partition);
    turned.now_us = now_us_;
    turned.orphans = orphans_.contains(turn.partition);
    turned.more = more_.contains(turn.partition);
    results.emplace_back(std::move(turned));
  }
  return results;
}

}  // namespace

std::vector<Result<Turned>> apply(Tx& tx, std::span<const Turn> batch) {
  Result<std::vector<Result<Turned>>> results = Turning(tx, batch).run();
  if (results.ok()) return *std::move(results);
  return store::fail_all<Turned>(batch.size(), results.error());
}

}  // namespace quern::queue
