#include "counter/counter.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/utf8.h"
#include "model/name.h"

namespace quern::counter {
namespace {

using store::Bulk;
using store::Row;
using store::Rows;
using store::Sql;

constexpr Sql kCreate{
    "INSERT INTO counter (name, value, entries) VALUES ($1, 0, 0) ON CONFLICT (name) DO NOTHING",
    "INSERT INTO counter (name, value, entries) SELECT name, 0, 0 FROM unnest($1::text[]) AS w "
    "(name)"
    " ON CONFLICT (name) DO NOTHING"};
// Locked: of two lanes or servers, one at a time adds to a counter.
constexpr Sql kCurrent{"SELECT id, name, value FROM counter WHERE name = $1",
                       "SELECT id, name, value FROM counter WHERE name = ANY ($1)"
                       " ORDER BY name FOR UPDATE"};
constexpr Sql kKnownKeys{
    "SELECT counter, key, amount, value_after FROM counter_entry WHERE counter = $1 AND key = $2",
    "SELECT e.counter, e.key, e.amount, e.value_after"
    " FROM unnest($1::bigint[], $2::text[]) AS w (counter, key)"
    " JOIN counter_entry AS e ON e.counter = w.counter AND e.key = w.key"};
constexpr Sql kAddEntries{
    "INSERT INTO counter_entry (counter, key, amount, value_after, created_us)"
    " VALUES ($1, $2, $3, $4, $5)",
    "INSERT INTO counter_entry (counter, key, amount, value_after, created_us)"
    " SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])"};
constexpr Sql kSetValues{
    "UPDATE counter SET value = $2, entries = entries + $3 WHERE id = $1",
    "UPDATE counter AS c SET value = w.value, entries = c.entries + w.added"
    " FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS w (id, value, added)"
    " WHERE c.id = w.id"};
constexpr Sql kLoad{
    "SELECT id, name, value, entries, snapshot_value, snapshot_file FROM counter WHERE name = $1"};
constexpr Sql kList{
    "SELECT id, name, value, entries, snapshot_value, snapshot_file FROM counter"
    " WHERE name > $1 ORDER BY name LIMIT $2"};

struct Current {
  CounterId id;
  std::int64_t value = 0;
  std::int64_t added = 0;  // entries by this batch
};
struct Entry {
  std::int64_t amount = 0;
  std::int64_t value_after = 0;
};
using EntryKey = std::pair<CounterId, std::string>;

Counter counter_of(const Row& row) {
  return {row.get<CounterId>(0),
          row.get<std::string>(1),
          row.get<std::int64_t>(2),
          row.get<std::int64_t>(3),
          row.get<std::optional<std::int64_t>>(4),
          row.get<std::optional<std::string>>(5)};
}

Result<std::map<std::string, Current>> load_current(store::Tx& tx,
                                                    std::span<const AddToCounter> batch) {
  std::set<std::string_view> names;
  for (const AddToCounter& add : batch) names.insert(add.name);
  Bulk wanted;
  for (const std::string_view name : names) wanted.add(name);
  TRY(tx.bulk(kCreate, wanted));
  TRY_ASSIGN(const Rows rows, tx.bulk(kCurrent, wanted));
  std::map<std::string, Current> current;
  for (const Row row : rows) {
    current[row.get<std::string>(1)] = {row.get<CounterId>(0), row.get<std::int64_t>(2)};
  }
  CHECK(current.size() == names.size());
  return current;
}

Result<std::map<EntryKey, Entry>> load_known(store::Tx& tx, std::span<const AddToCounter> batch,
                                             const std::map<std::string, Current>& current) {
  std::set<EntryKey> keys;
  for (const AddToCounter& add : batch) keys.insert({current.at(add.name).id, add.key});
  Bulk wanted;
  for (const auto& [id, key] : keys) wanted.add(id, key);
  TRY_ASSIGN(const Rows rows, tx.bulk(kKnownKeys, wanted));
  std::map<EntryKey, Entry> known;
  for (const Row row : rows) {
    known[{row.get<CounterId>(0), row.get<std::string>(1)}] = {row.get<std::int64_t>(2),
                                                               row.get<std::int64_t>(3)};
  }
  return known;
}

Result<Added> add_one(const AddToCounter& add, Current& current, std::map<EntryKey, Entry>& known) {
  const auto [found, is_new] = known.try_emplace({current.id, add.key});
  Entry& entry = found->second;
  if (!is_new) {
    if (entry.amount == add.amount) return Added{entry.value_after, true};
    return Error{Errc::Conflict,
                 fmt::format("key '{}' was used to add {} before", add.key, entry.amount)};
  }
  std::int64_t sum = 0;
  if (__builtin_add_overflow(current.value, add.amount, &sum)) {
    known.erase(found);
    return Error{Errc::TooLarge, fmt::format("counter '{}' stands at {} and cannot take {} more",
                                             add.name, current.value, add.amount)};
  }
  current.value = sum;
  ++current.added;
  entry = {add.amount, current.value};
  return Added{current.value, false};
}

Result<std::vector<Result<Added>>> add_all(store::Tx& tx, std::span<const AddToCounter> batch) {
  TRY_ASSIGN(auto current, load_current(tx, batch));
  TRY_ASSIGN(auto known, load_known(tx, batch, current));
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  std::vector<Result<Added>> results;
  Bulk entries;
  for (const AddToCounter& add : batch) {
    Current& counter = current.at(add.name);
    results.push_back(add_one(add, counter, known));
    if (results.back().ok() && !results.back()->repeated) {
      entries.add(counter.id, add.key, add.amount, counter.value, now_us);
    }
  }
  Bulk values;
  for (const auto& [name, counter] : current) {
    if (counter.added > 0) values.add(counter.id, counter.value, counter.added);
  }
  TRY(tx.bulk(kAddEntries, entries));
  TRY(tx.bulk(kSetValues, values));
  return results;
}

}  // namespace

Result<> validate(const AddToCounter& add) {
  TRY(model::validate_name("a counter", add.name));
  if (add.key.empty() || add.key.size() > kKeyBytesMax || !is_valid_utf8(add.key) ||
      add.key.find('\0') != std::string::npos) {
    return Error{Errc::Invalid, fmt::format("a key is a text of 1 to {} bytes", kKeyBytesMax)};
  }
  if (add.amount < -kAmountMax || add.amount > kAmountMax) {
    return over_limit("amount", add.amount, kAmountMax, "counter.amount_max");
  }
  return {};
}

store::LaneKey lane_of(std::string_view name) {
  return {std::hash<std::string_view>{}(name)};
}

std::vector<Result<Added>> apply(store::Tx& tx, std::span<const AddToCounter> batch) {
  Result<std::vector<Result<Added>>> results = add_all(tx, batch);
  if (results.ok()) return *std::move(results);
  return store::fail_all<Added>(batch.size(), results.error());
}

Result<Counter> load_counter(store::Tx& tx, const std::string& name) {
  TRY_ASSIGN(const Rows rows, tx.query(kLoad, name));
  if (rows.empty()) return Error{Errc::Missing, fmt::format("there is no counter '{}'", name)};
  return counter_of(rows[0]);
}

Result<std::vector<Counter>> list_counters(store::Tx& tx, const std::string& after,
                                           std::size_t limit) {
  TRY_ASSIGN(const Rows rows, tx.query(kList, after, std::min(limit, kListMax)));
  std::vector<Counter> counters;
  for (const Row row : rows) counters.push_back(counter_of(row));
  return counters;
}

}  // namespace quern::counter
