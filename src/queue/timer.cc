#include "queue/timer.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <algorithm>
#include <boost/json.hpp>
#include <map>

#include "base/crash.h"
#include "base/utf8.h"
#include "queue/item.h"
#include "queue/message.h"

namespace quern::queue {
namespace {

namespace json = boost::json;
using store::Bulk;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

// Due timers that are looked at for their queues; those behind them are seen when these have fired.
constexpr std::size_t kDueLookedAtMax = 1000;

// Makes the row of each key, or locks the one that is there and returns it. A row that was only
// looked for first could be deleted by a firing, or made by another process, before it is written.
// A new one has no starts yet.
constexpr Sql kLock{
    "INSERT INTO timer AS t (key, due_us, timeout_us, callback_queue, callback_msg, starts)"
    " VALUES ($1, 9223372036854775807, 0, '', '', 0)"
    " ON CONFLICT (key) DO UPDATE SET starts = t.starts"
    " RETURNING key, due_us, timeout_us, callback_queue, callback_msg, starts",
    "INSERT INTO timer AS t (key, due_us, timeout_us, callback_queue, callback_msg, starts)"
    " SELECT key, 9223372036854775807, 0, '', '', 0 FROM unnest($1::text[]) AS w (key)"
    " ORDER BY key ON CONFLICT (key) DO UPDATE SET starts = t.starts"
    " RETURNING t.key, t.due_us, t.timeout_us, t.callback_queue, t.callback_msg, t.starts"};
constexpr Sql kStore{
    "UPDATE timer SET due_us = $2, timeout_us = $3, callback_queue = $4, callback_msg = $5,"
    " starts = starts + $6 WHERE key = $1",
    "UPDATE timer AS t SET due_us = w.due_us, timeout_us = w.timeout_us,"
    " callback_queue = w.callback_queue, callback_msg = w.callback_msg,"
    " starts = t.starts + w.starts"
    " FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::bigint[])"
    " AS w (key, due_us, timeout_us, callback_queue, callback_msg, starts) WHERE t.key = w.key"};
constexpr Sql kLoad{
    "SELECT key, due_us, timeout_us, callback_queue, callback_msg FROM timer WHERE key = $1"};
constexpr Sql kList{
    "SELECT key, due_us, timeout_us, callback_queue, callback_msg FROM timer"
    " WHERE key > $1 ORDER BY key LIMIT $2"};
constexpr Sql kDueQueues{
    "SELECT DISTINCT callback_queue FROM"
    " (SELECT callback_queue FROM timer WHERE due_us <= $1 ORDER BY due_us LIMIT $2) AS due"
    " ORDER BY callback_queue"};
constexpr Sql kNextDue{"SELECT min(due_us) FROM timer WHERE due_us > $1"};
// A timer that is being set just now is skipped: it is either no longer due, or fires next time.
constexpr Sql kFire{
    "DELETE FROM timer WHERE key IN (SELECT key FROM timer WHERE callback_queue = $1"
    " AND due_us <= $2 ORDER BY due_us LIMIT $3) RETURNING key, due_us, callback_msg",
    "WITH due AS MATERIALIZED (SELECT key FROM timer WHERE callback_queue = $1 AND due_us <= $2"
    " ORDER BY due_us LIMIT $3 FOR UPDATE SKIP LOCKED)"
    " DELETE FROM timer AS t USING due WHERE t.key = due.key"
    " RETURNING t.key, t.due_us, t.callback_msg"};

struct Current {
  Timer timer;
  bool exists = false;
  std::int64_t sets = 0;  // by this batch
};
using CurrentTimers = std::map<std::string, Current>;

Timer timer_of(const Row& row) {
  return {row.get<std::string>(0), row.get<std::int64_t>(1), row.get<std::int64_t>(2),
          row.get<std::string>(3), row.get<std::string>(4)};
}

std::string type_of(const std::string& message) {
  boost::system::error_code failed;
  const json::value value = json::parse(message, failed);
  const json::object* object = failed ? nullptr : value.if_object();
  const json::value* type = object == nullptr ? nullptr : object->if_contains("type");
  return type == nullptr || !type->is_string() ? "" : std::string(type->get_string());
}

// The callback that a set names, or the one that it means.
Result<Message> callback_of(const SetTimer& set) {
  if (!set.callback_msg.empty()) return parse_message(set.callback_queue, set.callback_msg);
  const json::object message{{"type", "pack_incremental"}, {"site", set.key}};
  return parse_message(set.callback_queue, json::serialize(message));
}

Result<Message> validated_callback(const SetTimer& set) {
  const bool is_key = !set.key.empty() && set.key.size() <= kSiteBytesMax &&
                      is_valid_utf8(set.key) && set.key.find('\0') == set.key.npos;
  if (!is_key) {
    return Error{Errc::Invalid,
                 fmt::format("the key of a timer is a text of 1 to {} bytes", kSiteBytesMax)};
  }
  if (set.timeout_us <= 0 || set.timeout_us > kTimeoutSecondsMax * 1'000'000) {
    return Error{Errc::Invalid,
                 fmt::format("a timeout is above 0 and at most {} seconds", kTimeoutSecondsMax)};
  }
  return callback_of(set);
}

bool would_lower(const Timer& timer, const Message& callback) {
  return callback.type == "pack_incremental" && type_of(timer.callback_msg) == "pack_full";
}

std::int64_t set_one(const SetTimer& set, const Message& callback, Current& current,
                     std::int64_t now_us) {
  Timer& timer = current.timer;
  const bool starts = set.how == SetTimer::How::Start;
  if (starts || !current.exists) timer.timeout_us = set.timeout_us;
  if (!current.exists || (starts && !would_lower(timer, callback))) {
    timer.callback_queue = set.callback_queue;
    timer.callback_msg = callback.body;
  }
  current.exists = true;
  ++current.sets;
  timer.due_us = now_us + timer.timeout_us;
  return timer.due_us;
}

Result<CurrentTimers> lock_timers(Tx& tx, std::span<const SetTimer> batch,
                                  const std::vector<Result<Message>>& callbacks) {
  CurrentTimers timers;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (callbacks[i].ok()) timers.try_emplace(batch[i].key);
  }
  Bulk keys;
  for (const auto& [key, current] : timers) keys.add(key);
  TRY_ASSIGN(const Rows rows, tx.bulk(kLock, keys));
  CHECK(rows.size() == timers.size());
  for (const Row row : rows) {
    timers.at(row.get<std::string>(0)) = {timer_of(row), row.get<std::int64_t>(5) > 0};
  }
  return timers;
}

Result<std::vector<Result<std::int64_t>>> set_all(Tx& tx, std::span<const SetTimer> batch) {
  std::vector<Result<Message>> callbacks;
  for (const SetTimer& set : batch) callbacks.push_back(validated_callback(set));
  TRY_ASSIGN(CurrentTimers timers, lock_timers(tx, batch, callbacks));
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  std::vector<Result<std::int64_t>> results;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (callbacks[i].ok()) {
      results.emplace_back(set_one(batch[i], *callbacks[i], timers.at(batch[i].key), now_us));
    } else {
      results.emplace_back(callbacks[i].error());
    }
  }
  Bulk rows;
  for (const auto& [key, current] : timers) {
    const Timer& timer = current.timer;
    rows.add(key, timer.due_us, timer.timeout_us, timer.callback_queue, timer.callback_msg,
             current.sets);
  }
  TRY(tx.bulk(kStore, rows));
  return results;
}

std::string hex_sha256(std::string_view text) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  std::string hex;
  for (const unsigned char byte : digest) hex += fmt::format("{:02x}", byte);
  return hex;
}

// Of a key no two timers have the same due time, since the database's time never goes back.
std::string name_of_firing(const Timer& timer) {
  std::string name = fmt::format("{}{}:{}", kTimerNamePrefix, timer.key, timer.due_us);
  if (name.size() <= kNameBytesMax) return name;
  return fmt::format("{}{}:{}", kTimerNamePrefix, hex_sha256(timer.key), timer.due_us);
}

}  // namespace

std::vector<Result<std::int64_t>> apply(Tx& tx, std::span<const SetTimer> batch) {
  Result<std::vector<Result<std::int64_t>>> results = set_all(tx, batch);
  if (results.ok()) return *std::move(results);
  return store::fail_all<std::int64_t>(batch.size(), results.error());
}

Result<Timer> load_timer(Tx& tx, const std::string& key) {
  TRY_ASSIGN(const Rows rows, tx.query(kLoad, key));
  if (rows.empty()) return Error{Errc::Missing, fmt::format("there is no timer '{}'", key)};
  return timer_of(rows[0]);
}

Result<std::vector<Timer>> list_timers(Tx& tx, const std::string& after, std::size_t limit) {
  TRY_ASSIGN(const Rows rows, tx.query(kList, after, std::min(limit, kListMax)));
  std::vector<Timer> timers;
  for (const Row row : rows) timers.push_back(timer_of(row));
  return timers;
}

Result<DueQueues> find_due(Tx& tx) {
  DueQueues due;
  TRY_ASSIGN(due.now_us, tx.now_us());
  TRY_ASSIGN(const Rows rows, tx.query(kDueQueues, due.now_us, kDueLookedAtMax));
  for (const Row row : rows) due.queues.push_back(row.get<std::string>(0));
  TRY_ASSIGN(const auto next_us, tx.value<std::optional<std::int64_t>>(kNextDue, due.now_us));
  due.next_us = next_us.value_or(kNeverUs);
  return due;
}

Result<std::int64_t> fire_timers(Tx& tx, const std::string& queue, PartitionId partition) {
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY_ASSIGN(const Rows rows, tx.query(kFire, queue, now_us, kFiredAtOnceMax));
  if (rows.empty()) return 0;
  std::vector<Timer> fired;
  for (const Row row : rows) {
    fired.push_back(
        {row.get<std::string>(0), row.get<std::int64_t>(1), 0, queue, row.get<std::string>(2)});
  }
  std::sort(fired.begin(), fired.end(), [](const Timer& a, const Timer& b) {
    return std::tie(a.due_us, a.key) < std::tie(b.due_us, b.key);
  });
  crash_point("queue.timer.fired");
  PutItems put{partition, {}};
  for (const Timer& timer : fired) {
    put.items.push_back(message_item({"", timer.callback_msg}, name_of_firing(timer)));
  }
  TRY_ASSIGN(const PutItems::Reply posted,
             std::move(apply(tx, std::span<const PutItems>(&put, 1))[0]));
  return static_cast<std::int64_t>(posted.size());
}

}  // namespace quern::queue
