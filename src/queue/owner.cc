#include "queue/owner.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/crash.h"
#include "base/log.h"
#include "queue/locked_partitions.h"
#include "queue/outcome.h"
#include "queue/partition_row.h"

namespace quern::queue {
namespace {

using store::Bulk;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr std::int64_t kReapedAtOnce = 256;
constexpr std::int64_t kFreedAtOnce = 10'000;
constexpr std::int64_t kContendedAtOnce = 16;

constexpr Sql kRegister{
    "INSERT INTO owner (name, kinds, held, until_us, started_us) VALUES ($1, $2, 0, $3, $4)"
    " RETURNING id"};
constexpr Sql kRenew{"UPDATE owner SET until_us = $2 WHERE id = $1 RETURNING id",
                     "UPDATE owner SET until_us = w.until_us"
                     " FROM unnest($1::bigint[], $2::bigint[]) AS w (id, until_us)"
                     " WHERE owner.id = w.id RETURNING owner.id"};
constexpr Sql kSetHeld{"UPDATE owner SET held = $2 WHERE id = $1"};
constexpr Sql kOwners{
    "SELECT id, kinds, held, until_us FROM owner"
    " ORDER BY CASE WHEN id = $2 THEN 0 ELSE 1 END, until_us LIMIT $1"};
// A partition that is being written for is locked; it is left for the next scan.
constexpr Sql kReap{
    "UPDATE partition SET owner = NULL WHERE id IN (SELECT id FROM partition WHERE owner = $1"
    " LIMIT $2)",
    "UPDATE partition SET owner = NULL WHERE id IN (SELECT id FROM partition WHERE owner = $1"
    " ORDER BY id LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED)"};
constexpr Sql kStillOwned{"SELECT id FROM partition WHERE owner = $1 ORDER BY id LIMIT $2"};
constexpr Sql kUntil{"SELECT until_us FROM owner WHERE id = $1"};
constexpr Sql kForgetOwner{
    "DELETE FROM owner WHERE id = $1 AND until_us <= $2"
    " AND NOT EXISTS (SELECT 1 FROM partition WHERE owner = $1)"};
constexpr Sql kExpireOwner{"UPDATE owner SET until_us = 0 WHERE id = $1"};
constexpr Sql kCountFree{
    "SELECT count(*) FROM (SELECT 1 FROM partition WHERE kind = $1 AND owner IS NULL"
    " AND ready_us IS NOT NULL LIMIT $2) AS free"};
constexpr Sql kReadyFree{
    "SELECT id FROM partition WHERE kind = $1 AND owner IS NULL AND ready_us IS NOT NULL"
    " AND ready_us <= $2 ORDER BY ready_us LIMIT $3"};
// Of the thousand that have waited longest: those that are ready, by priority, then the others.
#define QUERN_CLAIMABLE                                                                         \
  "SELECT c.id FROM partition AS c WHERE c.owner IS NULL AND c.id IN (SELECT id FROM partition" \
  " WHERE kind = $1 AND owner IS NULL AND ready_us IS NOT NULL AND ready_us <= $4"              \
  " ORDER BY ready_us LIMIT 1000)"                                                              \
  " ORDER BY CASE WHEN c.ready_us <= $5 THEN 0 ELSE 1 END, c.priority DESC, c.ready_us, c.id"   \
  " LIMIT $3"
constexpr Sql kClaim{
    "UPDATE partition SET owner = $2, token = token + 1 WHERE id IN (" QUERN_CLAIMABLE
    ") RETURNING" QUERN_PARTITION_COLUMNS,
    "UPDATE partition SET owner = $2, token = token + 1 FROM (" QUERN_CLAIMABLE
    " FOR NO KEY UPDATE SKIP LOCKED) AS picked WHERE partition.id = picked.id "
    "RETURNING" QUERN_PARTITION_COLUMNS};
constexpr Sql kInterrupt{
    "UPDATE item SET status = 1, version = version + 1, interruptions = interruptions + 1,"
    " updated_us = $2 WHERE id IN (SELECT id FROM item WHERE partition = $1 AND status = 2"
    " AND +status < 4) RETURNING id, partition, interruptions, errors, gate",
    "UPDATE item SET status = 1, version = item.version + 1,"
    " interruptions = item.interruptions + 1, updated_us = w.now_us"
    " FROM unnest($1::bigint[], $2::bigint[]) AS w (partition, now_us)"
    " WHERE item.partition = w.partition AND item.status = 2"
    " RETURNING item.id, item.partition, item.interruptions, item.errors, item.gate"};
constexpr Sql kGiveUpItem{"UPDATE item SET status = 3, errors = $2 WHERE id = $1"};
constexpr Sql kStoreFailed{
    "UPDATE partition SET failed_items = $2, status = 3, version = $3, event_number = $4"
    " WHERE id = $1"};
constexpr Sql kAddEvent{
    "INSERT INTO event (partition, number, kind, item, gate, token, at_us)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7)"};
constexpr Sql kReadyHeld{
    "SELECT id, token FROM partition WHERE owner = $1 AND ready_us <= $2 ORDER BY ready_us"
    " LIMIT $3"};
constexpr Sql kDeleting{"SELECT id FROM partition WHERE deleting ORDER BY id LIMIT $1"};
constexpr Sql kFreeAll{
    "UPDATE partition SET owner = NULL WHERE id IN"
    " (SELECT id FROM partition WHERE owner IS NOT NULL LIMIT $1)"};
constexpr Sql kForgetAll{"DELETE FROM owner"};

struct Peer {
  OwnerId id;
  std::string kinds;
  std::int64_t held = 0;
  std::int64_t until_us = 0;
};

// This one first, then those that have been silent longest.
Result<std::vector<Peer>> load_owners(Tx& tx, OwnerId me) {
  TRY_ASSIGN(const Rows rows, tx.query(kOwners, kOwnersMax, me));
  std::vector<Peer> owners;
  for (const Row row : rows) {
    owners.push_back({row.get<OwnerId>(0), row.get<std::string>(1), row.get<std::int64_t>(2),
                      row.get<std::int64_t>(3)});
  }
  return owners;
}

// Appends the partitions that could not be freed because somebody writes for them.
Result<> reap(Tx& tx, const Peer& dead, std::int64_t now_us, std::vector<PartitionId>& contended) {
  TRY_ASSIGN(const std::int64_t freed, tx.exec(kReap, dead.id, kReapedAtOnce));
  if (freed > 0) log_info("queue.owner_dead", {{"owner", dead.id.value}, {"partitions", freed}});
  TRY_ASSIGN(const Rows left, tx.query(kStillOwned, dead.id, kContendedAtOnce));
  for (const Row row : left) contended.push_back(row.get<PartitionId>(0));
  if (left.empty()) TRY(tx.exec(kForgetOwner, dead.id, now_us));
  crash_point("queue.owner.reaped");
  return {};
}

Result<> give_up(Tx& tx, ItemId item, Partition& partition, const std::string& errors) {
  const std::string message =
      fmt::format("its owner died {} times while it was running", kInterruptionsMax);
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY(tx.exec(kGiveUpItem, item, add_error(errors, message, now_us)));
  TRY(tx.exec(kAddEvent, partition.id, ++partition.event_number, "item.failed",
              std::optional(item.value), partition.gate, partition.token, now_us));
  partition.failed_items += 1;
  if (partition.status == Status::Failed) return {};
  partition.status = Status::Failed;
  partition.version += 1;
  TRY(tx.exec(kAddEvent, partition.id, ++partition.event_number, "partition.failed",
              std::optional<std::int64_t>(), partition.gate, partition.token, now_us));
  return {};
}

// What the last owners had under way is to be done again. Those that gave items up are named.
Result<std::set<PartitionId>> interrupt_running(Tx& tx, std::span<Partition* const> claimed) {
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  Bulk partitions;
  for (const Partition* partition : claimed) partitions.add(partition->id, now_us);
  TRY_ASSIGN(const Rows rows, tx.bulk(kInterrupt, partitions));
  std::set<PartitionId> failed;
  for (const Row row : rows) {
    if (row.get<std::int64_t>(2) < kInterruptionsMax) continue;
    const auto id = row.get<PartitionId>(1);
    const auto partition = std::find_if(claimed.begin(), claimed.end(),
                                        [id](const Partition* p) { return p->id == id; });
    if ((*partition)->config.max_retries < 0) continue;  // endless means deaths too
    TRY(give_up(tx, row.get<ItemId>(0), **partition, row.get<std::string>(3)));
    failed.insert(id);
  }
  return failed;
}

// What a fair division gives to each owner that can do the same as this one.
struct Shares {
  std::int64_t share = 0;
  bool somebody_has_less = false;
};

class Scanning {
 public:
  Scanning(Tx& tx, const Scan& scan) : tx_(tx), scan_(scan) {}

  Result<Scanned> run() {
    TRY_ASSIGN(now_us_, tx_.now_us());
    TRY_ASSIGN(owners_, load_owners(tx_, scan_.owner));
    for (const Peer& owner : owners_) {
      if (owner.until_us <= now_us_ && owner.id != scan_.owner) {
        TRY(reap(tx_, owner, now_us_, scanned_.contended));
      }
    }
    TRY_ASSIGN(const Shares shares, divide());
    TRY(claim(shares));
    TRY(interrupt_claimed());
    const auto held = scan_.held + static_cast<std::int64_t>(scanned_.claimed.size());
    if (held != stored_held_) TRY(tx_.exec(kSetHeld, scan_.owner, held));
    TRY_ASSIGN(const Rows ready, tx_.query(kReadyHeld, scan_.owner, now_us_, kListMax));
    for (const Row row : ready) {
      scanned_.ready.push_back({row.get<PartitionId>(0), row.get<std::int64_t>(1)});
    }
    TRY_ASSIGN(const Rows deleting, tx_.query(kDeleting, kContendedAtOnce));
    for (const Row row : deleting) scanned_.deleting.push_back(row.get<PartitionId>(0));
    if (shares.somebody_has_less) {
      scanned_.surplus = std::max<std::int64_t>(0, scan_.held - shares.share);
    }
    return std::move(scanned_);
  }

 private:
  Result<Shares> divide();
  Result<> claim(const Shares& shares);
  Result<> claim_kind(const std::string& kind, std::int64_t limit, std::int64_t ready_before_us);
  Result<> interrupt_claimed();

  Tx& tx_;
  const Scan& scan_;
  std::int64_t now_us_ = 0;
  std::vector<Peer> owners_;
  std::int64_t stored_held_ = 0;
  Scanned scanned_;
};

Result<Shares> Scanning::divide() {
  const auto me = std::find_if(owners_.begin(), owners_.end(),
                               [this](const Peer& owner) { return owner.id == scan_.owner; });
  if (me == owners_.end()) {
    return Error{Errc::Missing, "this owner's row is gone: it was silent for too long"};
  }
  stored_held_ = me->held;
  std::vector<const Peer*> peers;
  std::int64_t total = 0;
  for (const Peer& owner : owners_) {
    const bool alive = owner.until_us > now_us_ || owner.id == scan_.owner;
    if (!alive || owner.kinds != me->kinds) continue;
    peers.push_back(&owner);
    total += owner.id == scan_.owner ? scan_.held : owner.held;
  }
  if (peers.size() == 1) return Shares{scan_.held_max, false};
  const auto count = static_cast<std::int64_t>(peers.size());
  for (const std::string& kind : scan_.kinds) {
    TRY_ASSIGN(const std::int64_t free,
               tx_.value<std::int64_t>(kCountFree, kind, scan_.held_max * count));
    total += free;
  }
  const bool somebody_has_less = std::any_of(peers.begin(), peers.end(), [&](const Peer* peer) {
    return peer->id != scan_.owner && peer->held < std::min(total / count, scan_.held_max);
  });
  return Shares{std::min((total + count - 1) / count, scan_.held_max), somebody_has_less};
}

Result<> Scanning::claim(const Shares& shares) {
  for (const std::string& kind : scan_.kinds) {
    const auto have = scan_.held + static_cast<std::int64_t>(scanned_.claimed.size());
    const std::int64_t room = std::min(shares.share - have, kClaimedAtOnceMax);
    if (room > 0) {
      TRY(claim_kind(kind, room, kNeverUs));
    } else if (have < scan_.held_max) {
      // Others should have taken these by now.
      TRY(claim_kind(kind, std::min(scan_.held_max - have, kClaimedAtOnceMax),
                     now_us_ - scan_.patience_us));
    } else {
      TRY_ASSIGN(const Rows any, tx_.query(kReadyFree, kind, now_us_, 1));
      scanned_.room_wanted = scanned_.room_wanted || !any.empty();
      continue;
    }
    // Ready for long and still free: whoever puts items into it has it locked at every scan.
    TRY_ASSIGN(const Rows left,
               tx_.query(kReadyFree, kind, now_us_ - scan_.patience_us, kContendedAtOnce));
    for (const Row row : left) scanned_.contended.push_back(row.get<PartitionId>(0));
  }
  if (!scanned_.claimed.empty()) crash_point("queue.partition.claimed");
  return {};
}

Result<> Scanning::claim_kind(const std::string& kind, std::int64_t limit,
                              std::int64_t ready_before_us) {
  TRY_ASSIGN(const Rows rows,
             tx_.query(kClaim, kind, scan_.owner, limit, ready_before_us, now_us_));
  for (const Row row : rows) scanned_.claimed.push_back(partition_of(row));
  return {};
}

Result<> Scanning::interrupt_claimed() {
  std::vector<Partition*> claimed;
  for (Partition& partition : scanned_.claimed) claimed.push_back(&partition);
  TRY_ASSIGN(const std::set<PartitionId> failed, interrupt_running(tx_, claimed));
  for (const Partition* partition : claimed) {
    if (!failed.contains(partition->id)) continue;
    TRY(tx_.exec(kStoreFailed, partition->id, partition->failed_items, partition->version,
                 partition->event_number));
  }
  return {};
}

// Free to take: nobody's, or that of an owner whose lease has ended.
Result<bool> is_free(Tx& tx, const Partition& partition) {
  if (!partition.owner) return true;
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY_ASSIGN(const auto until_us, tx.find_value<std::int64_t>(kUntil, *partition.owner));
  return until_us.value_or(0) <= now_us;
}

Result<ClaimPartition::Reply> claim_one(Tx& tx, const ClaimPartition& claim) {
  LockedPartitions& locked = LockedPartitions::of(tx);
  const Partition* stored = locked.find(claim.partition);
  if (stored == nullptr || !stored->ready_us) return ClaimPartition::Reply();
  const auto& kinds = claim.kinds;
  if (std::find(kinds.begin(), kinds.end(), stored->config.kind) == kinds.end()) {
    return ClaimPartition::Reply();
  }
  TRY_ASSIGN(const bool free, is_free(tx, *stored));
  if (!free) return ClaimPartition::Reply();
  Partition* partition = locked.edit(claim.partition);
  partition->owner = claim.owner;
  partition->token += 1;
  Partition* const claimed[] = {partition};
  TRY(interrupt_running(tx, claimed));
  return ClaimPartition::Reply(*partition);
}

}  // namespace

Result<Owner> register_owner(Tx& tx, const std::string& name, const std::string& kinds,
                             std::int64_t lease_us) {
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY_ASSIGN(const auto id, tx.value<OwnerId>(kRegister, name, kinds, now_us + lease_us, now_us));
  return Owner{id, name};
}

std::vector<Result<std::int64_t>> apply(Tx& tx, std::span<const RenewOwner> batch) {
  const auto fail = [&](const Error& error) {
    return store::fail_all<std::int64_t>(batch.size(), error);
  };
  const Result<std::int64_t> now_us = tx.now_us();
  if (!now_us.ok()) return fail(now_us.error());
  Bulk rows;
  for (const RenewOwner& renew : batch) rows.add(renew.id, *now_us + renew.lease_us);
  const Result<Rows> renewed = tx.bulk(kRenew, rows);
  if (!renewed.ok()) return fail(renewed.error());
  std::map<OwnerId, bool> found;
  for (const Row row : *renewed) found[row.get<OwnerId>(0)] = true;
  std::vector<Result<std::int64_t>> results;
  for (const RenewOwner& renew : batch) {
    if (found.contains(renew.id)) {
      results.emplace_back(*now_us + renew.lease_us);
    } else {
      results.emplace_back(Error{Errc::Missing, "this owner's row is gone"});
    }
  }
  return results;
}

Result<Scanned> scan_partitions(Tx& tx, const Scan& scan) {
  return Scanning(tx, scan).run();
}

std::vector<Result<bool>> apply(Tx& tx, std::span<const ReleasePartition> batch) {
  LockedPartitions& locked = LockedPartitions::of(tx);
  for (const ReleasePartition& release : batch) locked.edit(release.partition)->owner.reset();
  return std::vector<Result<bool>>(batch.size(), Result<bool>(true));
}

std::vector<Result<ClaimPartition::Reply>> apply(Tx& tx, std::span<const ClaimPartition> batch) {
  std::vector<Result<ClaimPartition::Reply>> results;
  for (const ClaimPartition& claim : batch) results.push_back(claim_one(tx, claim));
  return results;
}

Result<bool> release_unknown(Tx& tx, const Held& held, OwnerId owner) {
  LockedPartitions& locked = LockedPartitions::of(tx);
  const Partition* stored = locked.find(held.id);
  if (stored == nullptr || stored->owner != owner || stored->token != held.token) return false;
  locked.edit(held.id)->owner.reset();
  return true;
}

Result<> unregister_owner(Tx& tx, OwnerId id) {
  TRY(tx.exec(kExpireOwner, id));
  TRY(tx.exec(kReap, id, kFreedAtOnce));
  TRY(tx.exec(kForgetOwner, id, 0));
  return {};
}

Result<bool> end_all_owners(Tx& tx) {
  TRY_ASSIGN(const std::int64_t freed, tx.exec(kFreeAll, kFreedAtOnce));
  if (freed > 0) return false;
  TRY(tx.exec(kForgetAll));
  return true;
}

}  // namespace quern::queue
