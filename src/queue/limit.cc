#include "queue/limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/utf8.h"
#include "queue/item.h"

namespace quern::queue {
namespace {

using store::Bulk;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr std::int64_t kLatenessUs = 2000;

constexpr Sql kLoad{"SELECT key, version, concurrency, gap_us FROM limit_key WHERE key = $1"};
constexpr Sql kLoadLocked{
    "SELECT key, version, concurrency, gap_us FROM limit_key WHERE key = $1",
    "SELECT key, version, concurrency, gap_us FROM limit_key WHERE key = $1 FOR UPDATE"};
constexpr Sql kList{
    "SELECT key, version, concurrency, gap_us FROM limit_key WHERE key > $1 ORDER BY key LIMIT $2"};
constexpr Sql kMake{
    "INSERT INTO limit_key (key, version, concurrency, gap_us, next_us, reserved_us)"
    " VALUES ($1, 1, $2, $3, 0, 0)"
    " ON CONFLICT (key) DO NOTHING"};
// A shorter gap counts at once: the time that a longer one left behind is cut.
constexpr Sql kChange{
    "UPDATE limit_key SET version = version + 1, concurrency = $2, gap_us = $3,"
    " next_us = CASE WHEN next_us > $4 THEN $4 ELSE next_us END, reserved_us = 0 WHERE key = $1"};
constexpr Sql kDelete{"DELETE FROM limit_key WHERE key = $1"};
constexpr Sql kDeleteHolds{"DELETE FROM limit_hold WHERE key = $1"};

// Locked, in one order everywhere: of all processes, one at a time grants a key.
constexpr Sql kLock{
    "SELECT key, concurrency, gap_us, next_us, reserved_us FROM limit_key WHERE key = $1",
    "SELECT key, concurrency, gap_us, next_us, reserved_us FROM limit_key WHERE key = ANY ($1)"
    " ORDER BY key FOR UPDATE"};
// Holds of items that no longer run under their token, and of those that ask anew.
constexpr Sql kClean{
    "DELETE FROM limit_hold WHERE key = $1 AND (item = $2 OR NOT EXISTS"
    " (SELECT 1 FROM item AS i JOIN partition AS p ON p.id = limit_hold.partition"
    " WHERE i.id = limit_hold.item AND i.status = 2 AND p.token = limit_hold.token))",
    "DELETE FROM limit_hold AS h WHERE h.key = ANY ($1) AND (h.item = ANY ($2) OR NOT EXISTS"
    " (SELECT 1 FROM item AS i JOIN partition AS p ON p.id = h.partition"
    " WHERE i.id = h.item AND i.status = 2 AND p.token = h.token))"};
constexpr Sql kCount{"SELECT $1, count(*) FROM limit_hold WHERE key = $1",
                     "SELECT key, count(*) FROM limit_hold WHERE key = ANY ($1) GROUP BY key"};
constexpr Sql kHold{"INSERT INTO limit_hold (key, item, partition, token) VALUES ($1, $2, $3, $4)",
                    "INSERT INTO limit_hold (key, item, partition, token)"
                    " SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[])"};
constexpr Sql kSetNext{
    "UPDATE limit_key SET next_us = $2, reserved_us = $3 WHERE key = $1",
    "UPDATE limit_key AS k SET next_us = w.next_us, reserved_us = w.reserved_us"
    " FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS w (key, next_us, reserved_us)"
    " WHERE k.key = w.key"};
// What another transaction has locked is being deleted there; waiting for it could deadlock.
constexpr Sql kRelease{
    "DELETE FROM limit_hold WHERE key = $1 AND item = $2 AND (token = $3 OR $3 = 0)"
    " RETURNING key, item",
    "WITH gone AS MATERIALIZED (SELECT h.key, h.item FROM limit_hold AS h"
    " JOIN unnest($1::text[], $2::bigint[], $3::bigint[]) AS w (key, item, token)"
    " ON h.key = w.key AND h.item = w.item AND (h.token = w.token OR w.token = 0)"
    " FOR UPDATE OF h SKIP LOCKED)"
    " DELETE FROM limit_hold AS h USING gone WHERE h.key = gone.key AND h.item = gone.item"
    " RETURNING h.key, h.item"};

struct Current {
  std::int64_t concurrency = 0;
  std::int64_t gap_us = 0;
  std::int64_t next_us = 0;
  std::int64_t reserved_us = 0;
  std::int64_t holders = 0;
  std::int64_t refused = 0;  // by this batch
  bool changed = false;      // by this batch
};
using CurrentLimits = std::map<std::string, Current>;
using HoldKey = std::pair<std::string, ItemId>;

Limit limit_of(const Row& row) {
  return {row.get<std::string>(0), row.get<std::int64_t>(1), row.get<std::int64_t>(2),
          row.get<std::int64_t>(3)};
}

Error no_such(const std::string& key) {
  return Error{Errc::Missing, fmt::format("there is no limit '{}'", valid_utf8(key))};
}

Result<std::optional<Limit>> find_locked(Tx& tx, const std::string& key) {
  TRY_ASSIGN(const Rows rows, tx.query(kLoadLocked, key));
  if (rows.empty()) return std::optional<Limit>();
  return std::optional(limit_of(rows[0]));
}

Result<> expect_version(const std::optional<Limit>& limit, const std::string& key,
                        std::optional<std::int64_t> if_version) {
  const std::int64_t version = limit ? limit->version : 0;
  if (!if_version || *if_version == version) return {};
  if (!limit) return Error{Errc::Conflict, fmt::format("limit '{}' does not exist", key)};
  return Error{Errc::Conflict,
               fmt::format("limit '{}' is at version {}, not {}", key, version, *if_version)};
}

// The keys of the batch that are limited, without dead holders.
Result<CurrentLimits> lock_limits(Tx& tx, std::span<const AcquireLimit> batch) {
  std::set<std::string_view> keys;
  for (const AcquireLimit& acquire : batch) keys.insert(acquire.key);
  Bulk wanted;
  for (const std::string_view key : keys) wanted.add(key);
  TRY_ASSIGN(const Rows rows, tx.bulk(kLock, wanted));
  CurrentLimits limits;
  for (const Row row : rows) {
    limits[row.get<std::string>(0)] = {row.get<std::int64_t>(1), row.get<std::int64_t>(2),
                                       row.get<std::int64_t>(3), row.get<std::int64_t>(4)};
  }
  Bulk asking;
  for (const AcquireLimit& acquire : batch) {
    if (limits.contains(acquire.key)) asking.add(acquire.key, acquire.item);
  }
  TRY(tx.bulk(kClean, asking));
  Bulk limited;
  for (const auto& [key, limit] : limits) limited.add(key);
  TRY_ASSIGN(const Rows counts, tx.bulk(kCount, limited));
  for (const Row row : counts) {
    limits.at(row.get<std::string>(0)).holders = row.get<std::int64_t>(1);
  }
  return limits;
}

// When to ask again; 0: granted. Each one that is refused gets a time of its own, so that a long
// backlog does not come back all at once, again and again. A little more than the gap lies between
// them: one that starts late must not make the next one come too early.
std::int64_t wait_of(Current& limit, std::int64_t now_us) {
  std::int64_t wait_us = 0;
  if (limit.gap_us > 0 && now_us < limit.next_us) {
    const std::int64_t apart_us = limit.gap_us + limit.gap_us / 20 + kLatenessUs;
    limit.reserved_us = std::max(limit.next_us, limit.reserved_us + apart_us);
    limit.changed = true;
    wait_us = limit.reserved_us - now_us;
  }
  if (limit.concurrency > 0 && limit.holders >= limit.concurrency) {
    const std::int64_t turns = 1 + limit.refused / limit.concurrency;
    wait_us = std::max(wait_us, std::min(kHolderWaitUs * turns, kHolderWaitUsMax));
  }
  return wait_us;
}

AcquireLimit::Reply acquire_one(Current& limit, std::int64_t now_us) {
  const std::int64_t wait_us = wait_of(limit, now_us);
  if (wait_us > 0) {
    ++limit.refused;
    return {false, wait_us};
  }
  ++limit.holders;
  limit.changed = true;
  limit.next_us = now_us + limit.gap_us;
  return {true, 0};
}

Result<std::vector<Result<AcquireLimit::Reply>>> acquire_all(Tx& tx,
                                                             std::span<const AcquireLimit> batch) {
  TRY_ASSIGN(CurrentLimits limits, lock_limits(tx, batch));
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  std::vector<Result<AcquireLimit::Reply>> results;
  std::map<HoldKey, const AcquireLimit*> granted;
  for (const AcquireLimit& acquire : batch) {
    const auto limit = limits.find(acquire.key);
    if (limit == limits.end()) {
      results.emplace_back(AcquireLimit::Reply{});
      continue;
    }
    const AcquireLimit::Reply reply = acquire_one(limit->second, now_us);
    if (reply.granted) granted[{acquire.key, acquire.item}] = &acquire;
    results.emplace_back(reply);
  }
  Bulk holds;
  for (const auto& [key, acquire] : granted) {
    holds.add(acquire->key, acquire->item, acquire->partition, acquire->token);
  }
  Bulk next;
  for (const auto& [key, limit] : limits) {
    if (limit.changed && limit.gap_us > 0) next.add(key, limit.next_us, limit.reserved_us);
  }
  TRY(tx.bulk(kHold, holds));
  TRY(tx.bulk(kSetNext, next));
  return results;
}

}  // namespace

Result<> validate(const Limit& limit) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
  const bool is_key = !limit.key.empty() && limit.key.size() <= kKeyBytesMax &&
                      is_valid_utf8(limit.key) &&
                      std::none_of(limit.key.begin(), limit.key.end(), is_control);
  if (!is_key) {
    return Error{Errc::Invalid, fmt::format("the key of a limit is a text of 1 to {} bytes without "
                                            "control characters",
                                            kKeyBytesMax)};
  }
  if (limit.concurrency < 0 || limit.concurrency > kConcurrencyMax) {
    return Error{Errc::Invalid,
                 fmt::format("a concurrency is from 0 (any) to {}", kConcurrencyMax)};
  }
  if (limit.gap_us < 0 || limit.gap_us > kGapUsMax) {
    return Error{Errc::Invalid, fmt::format("a gap is from 0 to {} ms", kGapUsMax / 1000)};
  }
  return {};
}

Result<Limit> put_limit(Tx& tx, const Limit& limit, std::optional<std::int64_t> if_version) {
  TRY(validate(limit));
  TRY_ASSIGN(const std::optional<Limit> stored, find_locked(tx, limit.key));
  TRY(expect_version(stored, limit.key, if_version));
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  if (stored) {
    TRY(tx.exec(kChange, limit.key, limit.concurrency, limit.gap_us, now_us + limit.gap_us));
    return Limit{limit.key, stored->version + 1, limit.concurrency, limit.gap_us};
  }
  TRY_ASSIGN(const std::int64_t made, tx.exec(kMake, limit.key, limit.concurrency, limit.gap_us));
  if (made == 0) {
    return Error{Errc::Busy, fmt::format("limit '{}' is being made just now", limit.key)};
  }
  return Limit{limit.key, 1, limit.concurrency, limit.gap_us};
}

Result<Limit> load_limit(Tx& tx, const std::string& key) {
  TRY_ASSIGN(const Rows rows, tx.query(kLoad, key));
  if (rows.empty()) return no_such(key);
  return limit_of(rows[0]);
}

Result<std::vector<Limit>> list_limits(Tx& tx, const std::string& after, std::size_t limit) {
  TRY_ASSIGN(const Rows rows, tx.query(kList, after, std::min(limit, kListMax)));
  std::vector<Limit> limits;
  for (const Row row : rows) limits.push_back(limit_of(row));
  return limits;
}

Result<> delete_limit(Tx& tx, const std::string& key, std::optional<std::int64_t> if_version) {
  TRY_ASSIGN(const std::optional<Limit> stored, find_locked(tx, key));
  if (!stored) return no_such(key);
  TRY(expect_version(stored, key, if_version));
  TRY(tx.exec(kDeleteHolds, key));
  TRY(tx.exec(kDelete, key));
  return {};
}

std::vector<Result<AcquireLimit::Reply>> apply(Tx& tx, std::span<const AcquireLimit> batch) {
  Result<std::vector<Result<AcquireLimit::Reply>>> results = acquire_all(tx, batch);
  if (results.ok()) return *std::move(results);
  return store::fail_all<AcquireLimit::Reply>(batch.size(), results.error());
}

std::vector<Result<bool>> apply(Tx& tx, std::span<const ReleaseLimit> batch) {
  Bulk wanted;
  for (const ReleaseLimit& release : batch) {
    wanted.add(release.key, release.item, release.token);
  }
  const Result<Rows> rows = tx.bulk(kRelease, wanted);
  if (!rows.ok()) return store::fail_all<bool>(batch.size(), rows.error());
  std::set<HoldKey> released;
  for (const Row row : *rows) released.emplace(row.get<std::string>(0), row.get<ItemId>(1));
  std::vector<Result<bool>> results;
  for (const ReleaseLimit& release : batch) {
    results.emplace_back(released.contains({release.key, release.item}));
  }
  return results;
}

}  // namespace quern::queue
