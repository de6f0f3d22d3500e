#include "queue/item.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/crash.h"
#include "base/utf8.h"
#include "queue/locked_partitions.h"
#include "queue/partition_row.h"

namespace quern::queue {
namespace {

using store::Bulk;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr std::size_t kDigestBytes = 16;

constexpr Sql kAdd{
    "INSERT INTO item (partition, name, version, gate, status, priority, due_us, retry_count,"
    " calls, interruptions, steps, errors, data, put_digest, unique_key, limit_key, created_us,"
    " updated_us) VALUES ($1, $2, 1, $3, $4, $5, $6, 0, 0, 0, 0, '', $7, $8, $9, $10, $11, $11)"
    " ON CONFLICT DO NOTHING RETURNING id, partition, name",
    "INSERT INTO item (partition, name, version, gate, status, priority, due_us, retry_count,"
    " calls, interruptions, steps, errors, data, put_digest, unique_key, limit_key, created_us,"
    " updated_us) SELECT w.partition, w.name, 1, w.gate, w.status, w.priority, w.due_us, 0, 0, 0,"
    " 0, '', w.data, w.put_digest, w.unique_key, w.limit_key, w.now_us, w.now_us"
    " FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[],"
    " $6::bigint[], $7::bytea[], $8::bytea[], $9::text[], $10::text[], $11::bigint[])"
    " AS w (partition, name, gate, status, priority, due_us, data, put_digest, unique_key,"
    " limit_key, now_us) ON CONFLICT DO NOTHING RETURNING id, partition, name"};
constexpr Sql kExisting{
    "SELECT id, partition, name, put_digest FROM item WHERE partition = $1 AND name = $2",
    "SELECT i.id, i.partition, i.name, i.put_digest FROM unnest($1::bigint[], $2::text[])"
    " AS w (partition, name) JOIN item AS i ON i.partition = w.partition AND i.name = w.name"};
constexpr Sql kTakeBack{"DELETE FROM item WHERE id = $1", "DELETE FROM item WHERE id = ANY ($1)"};
constexpr Sql kReplace{
    "UPDATE item SET version = version + 1, gate = $3, status = $4, priority = $5, due_us = $6,"
    " retry_count = 0, interruptions = 0, steps = steps + 1, data = $7, put_digest = $8, "
    "updated_us = $9"
    " WHERE partition = $1 AND name = $2"};
constexpr Sql kDelete{"DELETE FROM item WHERE id = $1"};

#define QUERN_ITEM_COLUMNS                                                             \
  " id, partition, name, version, gate, status, priority, due_us, retry_count, calls," \
  " interruptions, steps, errors, length(data), unique_key, limit_key, created_us, updated_us"
constexpr Sql kLoad{"SELECT" QUERN_ITEM_COLUMNS
                    ", data FROM item WHERE partition = $1 AND name = $2"};
// A filter that is not wanted covers everything.
constexpr Sql kList{"SELECT" QUERN_ITEM_COLUMNS
                    " FROM item WHERE partition = $1 AND name > $2 AND status IN ($3, $4)"
                    " AND gate BETWEEN $5 AND $6 AND updated_us < $7 ORDER BY name LIMIT $8"};
constexpr Sql kListAll{"SELECT" QUERN_ITEM_COLUMNS
                       " FROM item WHERE partition = $1 AND name > $2"
                       " AND gate BETWEEN $3 AND $4 AND updated_us < $5 ORDER BY name LIMIT $6"};

using ItemKey = std::pair<PartitionId, std::string>;

store::Bytes bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::optional<std::string> none_if_empty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

std::string digest_of(const NewItem& item) {
  std::string all = fmt::format("{}\n{}\n{}\n", item.gate, item.unique_key, item.limit_key);
  all += item.data;
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(all.data()), all.size(), digest);
  return {reinterpret_cast<const char*>(digest), kDigestBytes};
}

Item item_of(const Row& row) {
  Item item;
  item.id = row.get<ItemId>(0);
  item.partition = row.get<PartitionId>(1);
  item.name = row.get<std::string>(2);
  item.version = row.get<std::int64_t>(3);
  item.gate = row.get<std::int64_t>(4);
  item.status = static_cast<Status>(row.get<int>(5));
  item.priority = row.get<std::int64_t>(6);
  item.due_us = row.get<std::int64_t>(7);
  item.retry_count = row.get<std::int64_t>(8);
  item.calls = row.get<std::int64_t>(9);
  item.interruptions = row.get<std::int64_t>(10);
  item.steps = row.get<std::int64_t>(11);
  item.errors = row.get<std::string>(12);
  item.data_bytes = row.get<std::int64_t>(13);
  item.unique_key = row.get<std::optional<std::string>>(14).value_or("");
  item.limit_key = row.get<std::optional<std::string>>(15).value_or("");
  item.created_us = row.get<std::int64_t>(16);
  item.updated_us = row.get<std::int64_t>(17);
  return item;
}

// Whether items may be put into the partition, at this gate.
Result<> accepts(const Partition* partition, const NewItem& item) {
  if (partition == nullptr) return Error{Errc::Missing, "the partition is gone"};
  if (partition->deleting) {
    return Error{Errc::Conflict,
                 fmt::format("partition '{}' is being deleted; try again soon", partition->name)};
  }
  if (item.gate < partition->gate) {
    return Error{
        Errc::Conflict,
        fmt::format("item '{}' is for gate {}, but partition '{}' has passed on to gate {}",
                    item.name, item.gate, partition->name, partition->gate)};
  }
  if (partition->sealed) {
    return Error{Errc::Conflict,
                 fmt::format("partition '{}' is sealed: it takes no more items", partition->name)};
  }
  if (partition->status == Status::Complete && partition->config.refuse_when_closed) {
    return Error{Errc::Conflict, fmt::format("partition '{}' is closed", partition->name)};
  }
  return {};
}

std::int64_t due_of(const NewItem& item, std::int64_t now_us) {
  return now_us + item.delay_us;
}

Status status_of(const NewItem& item) {
  return item.delay_us > 0 ? Status::Delayed : Status::Available;
}

// The partition knows of it: somebody has to look.
void count_in(Partition& partition, const NewItem& item, std::int64_t now_us) {
  const std::int64_t due_us = due_of(item, now_us);
  if (item.delay_us > 0) partition.delayed_us = std::min(partition.delayed_us, due_us);
  partition.item_bytes_max =
      std::max(partition.item_bytes_max, static_cast<std::int64_t>(item.data.size()));
  make_ready(partition, due_us);
}

void open_again(LockedPartitions& locked, Partition& partition) {
  if (partition.status != Status::Complete) return;
  partition.status = Status::Available;
  partition.version += 1;
  locked.note(partition.id, "partition.opened", {}, partition.gate);
}

struct Added {
  PartitionId partition;
  const NewItem* item;
  const std::string* digest;
  std::optional<std::string> unique_key;
  std::optional<std::string> limit_key;
};

// The puts of one batch on their way.
class Putting {
 public:
  Putting(Tx& tx, std::span<const PutItems> batch) : tx_(tx), batch_(batch) {}

  // All that can be added, in one statement; then what became of the others.
  Result<> run() {
    TRY_ASSIGN(now_us_, tx_.now_us());
    locked_ = &LockedPartitions::of(tx_);
    TRY(insert());
    return look_up_others();
  }
  bool has_different() const { return different_ != nullptr; }
  // An item that is there already, but another one: this batch leaves no trace.
  Result<> take_back() {
    Bulk ids;
    for (const auto& [key, id] : added_) ids.add(id);
    TRY(tx_.bulk(kTakeBack, ids));
    return {};
  }
  Error different_error() const {
    return Error{Errc::Conflict,
                 fmt::format("item '{}' exists and is different; give its version to change it",
                             *different_)};
  }
  std::vector<Result<PutItems::Reply>> answers();

 private:
  Result<> insert();
  Result<> look_up_others();
  PutResult answer(PartitionId partition, const NewItem& item);

  Tx& tx_;
  std::span<const PutItems> batch_;
  LockedPartitions* locked_ = nullptr;
  std::int64_t now_us_ = 0;
  std::vector<Result<>> accepted_;
  std::vector<std::string> digests_;  // of the items in order; they outlive the statement
  std::map<ItemKey, ItemId> added_;   // those that nobody has answered with yet stay here
  std::map<ItemKey, ItemId> same_;
  const std::string* different_ = nullptr;
};

Result<> Putting::insert() {
  std::size_t total = 0;
  for (const PutItems& put : batch_) total += put.items.size();
  digests_.reserve(total);
  std::vector<Added> adding;
  for (const PutItems& put : batch_) {
    accepted_.emplace_back();
    for (const NewItem& item : put.items) {
      if (accepted_.back().ok()) accepted_.back() = accepts(locked_->find(put.partition), item);
    }
    for (const NewItem& item : put.items) {
      digests_.push_back(digest_of(item));
      if (!accepted_.back().ok()) continue;
      adding.push_back({put.partition, &item, &digests_.back(), none_if_empty(item.unique_key),
                        none_if_empty(item.limit_key)});
    }
  }
  // Unique keys are shared by all partitions: in one order, batches do not deadlock over them.
  std::stable_sort(adding.begin(), adding.end(), [](const Added& a, const Added& b) {
    return a.item->unique_key < b.item->unique_key;
  });
  Bulk rows;
  for (const Added& a : adding) {
    rows.add(a.partition, a.item->name, a.item->gate, static_cast<std::int64_t>(status_of(*a.item)),
             a.item->priority, due_of(*a.item, now_us_), bytes_of(a.item->data),
             bytes_of(*a.digest), a.unique_key, a.limit_key, now_us_);
  }
  TRY_ASSIGN(const Rows added, tx_.bulk(kAdd, rows));
  for (const Row row : added) {
    added_.emplace(ItemKey{row.get<PartitionId>(1), row.get<std::string>(2)}, row.get<ItemId>(0));
  }
  return {};
}

// Also of refused ones: a put that is repeated after the gate has passed is still the same put.
Result<> Putting::look_up_others() {
  struct Other {
    const std::string* name;
    std::string_view digest;
  };
  std::multimap<ItemKey, Other> others;
  std::set<ItemKey> first;
  std::size_t at = 0;
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    for (const NewItem& item : batch_[i].items) {
      const std::string& digest = digests_[at++];
      ItemKey key{batch_[i].partition, item.name};
      // The first of two in one batch was added; the second is looked up.
      if (accepted_[i].ok() && added_.contains(key) && first.insert(key).second) continue;
      others.emplace(std::move(key), Other{&item.name, digest});
    }
  }
  Bulk wanted;
  for (auto other = others.begin(); other != others.end();
       other = others.upper_bound(other->first)) {
    wanted.add(other->first.first, other->first.second);
  }
  TRY_ASSIGN(const Rows found, tx_.bulk(kExisting, wanted));
  for (const Row row : found) {
    const ItemKey key{row.get<PartitionId>(1), row.get<std::string>(2)};
    const auto digest = row.get<std::string>(3);
    const auto [begin, end] = others.equal_range(key);
    for (auto other = begin; other != end; ++other) {
      if (other->second.digest != digest) different_ = other->second.name;
    }
    same_.emplace(key, row.get<ItemId>(0));
  }
  return {};
}

PutResult Putting::answer(PartitionId partition, const NewItem& item) {
  const ItemKey key{partition, item.name};
  const auto added = added_.find(key);
  if (added != added_.end()) {
    const ItemId id = added->second;
    added_.erase(added);
    same_.emplace(key, id);
    Partition* row = locked_->edit(partition);
    row->items += 1;
    count_in(*row, item, now_us_);
    open_again(*locked_, *row);
    return {Put::Added, id};
  }
  const auto same = same_.find(key);
  if (same != same_.end()) return {Put::Same, same->second};
  return {Put::Taken, {}};
}

std::vector<Result<PutItems::Reply>> Putting::answers() {
  std::vector<Result<PutItems::Reply>> results;
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    const PutItems& put = batch_[i];
    const bool all_same = std::all_of(put.items.begin(), put.items.end(), [&](const NewItem& item) {
      return same_.contains({put.partition, item.name});
    });
    if (!accepted_[i].ok() && !all_same) {
      results.emplace_back(accepted_[i].error());
      continue;
    }
    PutItems::Reply reply;
    for (const NewItem& item : put.items) reply.push_back(answer(put.partition, item));
    results.emplace_back(std::move(reply));
  }
  return results;
}

}  // namespace

Result<> validate(const NewItem& item) {
  TRY(validate_item_name(item.name));
  if (item.gate < 0 || item.gate > kGateMax) {
    return Error{Errc::Invalid, fmt::format("a gate is a number from 0 to {}", kGateMax)};
  }
  if (item.data.size() > kItemBytesMax) {
    return over_limit("the item's bytes", static_cast<std::int64_t>(item.data.size()),
                      static_cast<std::int64_t>(kItemBytesMax), "queue.item_bytes_max");
  }
  if (item.priority < -kPriorityMax || item.priority > kPriorityMax) {
    return Error{Errc::Invalid,
                 fmt::format("a priority is a number from {} to {}", -kPriorityMax, kPriorityMax)};
  }
  if (item.delay_us < 0 || item.delay_us > 366LL * 86'400'000'000 * 10) {
    return Error{Errc::Invalid, "a delay is from 0 to ten years"};
  }
  for (const std::string* key : {&item.unique_key, &item.limit_key}) {
    if (key->size() <= kKeyBytesMax && is_valid_utf8(*key) && key->find('\0') == key->npos)
      continue;
    return Error{Errc::Invalid, fmt::format("a key is a text of at most {} bytes", kKeyBytesMax)};
  }
  return {};
}

std::vector<Result<PutItems::Reply>> apply(Tx& tx, std::span<const PutItems> batch) {
  using Reply = PutItems::Reply;
  Putting putting(tx, batch);
  Result<> ran = putting.run();
  if (!ran.ok()) return store::fail_all<Reply>(batch.size(), ran.error());
  crash_point("queue.put.inserted");
  if (!putting.has_different()) return putting.answers();
  ran = putting.take_back();
  if (!ran.ok()) return store::fail_all<Reply>(batch.size(), ran.error());
  if (batch.size() == 1) return store::fail_all<Reply>(1, putting.different_error());
  // Each for itself: one that conflicts must not undo its neighbours.
  std::vector<Result<Reply>> results;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    results.push_back(std::move(apply(tx, batch.subspan(i, 1))[0]));
  }
  return results;
}

Result<Item> replace_item(Tx& tx, PartitionId partition, const ReplaceItem& replace) {
  LockedPartitions& locked = LockedPartitions::of(tx);
  const NewItem& item = replace.item;
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  const Result<Item> stored = load_item(tx, partition, item.name);
  if (!stored.ok()) {
    if (stored.error().kind() != Errc::Missing) return stored.error();
    return Error{Errc::Conflict, fmt::format("item '{}' does not exist", item.name)};
  }
  if (stored->version != replace.if_version) {
    return Error{Errc::Conflict, fmt::format("item '{}' is at version {}, not {}", item.name,
                                             stored->version, replace.if_version)};
  }
  if (stored->status == Status::Running) {
    return Error{Errc::Conflict, fmt::format("item '{}' is running just now", item.name)};
  }
  TRY(accepts(locked.find(partition), item));
  const std::string digest = digest_of(item);
  TRY(tx.exec(kReplace, partition, item.name, item.gate, static_cast<std::int64_t>(status_of(item)),
              item.priority, due_of(item, now_us), bytes_of(item.data), bytes_of(digest), now_us));
  Partition* row = locked.edit(partition);
  if (stored->status == Status::Complete) row->complete_items -= 1;
  if (stored->status == Status::Failed) row->failed_items -= 1;
  if (row->status == Status::Failed && row->failed_items == 0) row->status = Status::Available;
  open_again(locked, *row);
  count_in(*row, item, now_us);
  return load_item(tx, partition, item.name);
}

Result<> delete_item(Tx& tx, PartitionId partition, const std::string& name,
                     std::optional<std::int64_t> if_version) {
  LockedPartitions& locked = LockedPartitions::of(tx);
  TRY_ASSIGN(const Item stored, load_item(tx, partition, name));
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  if (if_version && stored.version != *if_version) {
    return Error{Errc::Conflict, fmt::format("item '{}' is at version {}, not {}", name,
                                             stored.version, *if_version)};
  }
  if (stored.status == Status::Running) {
    return Error{Errc::Conflict, fmt::format("item '{}' is running just now", name)};
  }
  TRY(tx.exec(kDelete, stored.id));
  Partition* row = locked.edit(partition);
  if (row == nullptr) return Error{Errc::Missing, "the partition is gone"};
  row->items -= 1;
  if (stored.status == Status::Complete) row->complete_items -= 1;
  if (stored.status == Status::Failed) row->failed_items -= 1;
  if (row->status == Status::Failed && row->failed_items == 0) row->status = Status::Available;
  // It may have been the last one that held the gate.
  if (row->status != Status::Complete) make_ready(*row, now_us);
  return {};
}

Result<Item> load_item(Tx& tx, PartitionId partition, const std::string& name) {
  TRY_ASSIGN(const Rows rows, tx.query(kLoad, partition, name));
  if (rows.empty()) return Error{Errc::Missing, fmt::format("there is no item '{}'", name)};
  Item item = item_of(rows[0]);
  item.data = rows[0].get<std::string>(18);
  return item;
}

Result<std::vector<Item>> list_items(Tx& tx, PartitionId partition, const ItemFilter& filter) {
  const std::size_t limit = std::min(filter.limit, kListMax);
  const std::int64_t low = filter.gate.value_or(0);
  const std::int64_t high = filter.gate.value_or(kGateMax);
  const std::int64_t before_us = filter.updated_before_us.value_or(kNeverUs);
  Result<Rows> rows = Rows();
  if (filter.status) {
    const auto status = static_cast<std::int64_t>(*filter.status);
    const auto or_status =
        filter.status == Status::Available ? static_cast<std::int64_t>(Status::Delayed) : status;
    rows = tx.query(kList, partition, filter.after, status, or_status, low, high, before_us, limit);
  } else {
    rows = tx.query(kListAll, partition, filter.after, low, high, before_us, limit);
  }
  if (!rows.ok()) return rows.error();
  std::vector<Item> items;
  for (const Row row : *rows) items.push_back(item_of(row));
  return items;
}

}  // namespace quern::queue
