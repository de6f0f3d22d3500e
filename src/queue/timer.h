// Timers: a message that is posted when a key (a site, a collection) has been quiet for a while.
//
//   start(key, timeout, callback)   due = now + timeout; replaces timeout and callback, except that
//   a
//                                   waiting pack_full is never lowered to pack_incremental
//   reset(key)                      due = now + the stored timeout; the stored callback stays. A
//   key
//                                   that has no timer gets one that posts pack_incremental
//   fire                            posts the callback and deletes the timer, in one transaction
//
// Guarantee: a timer posts exactly one message per firing, whatever dies; one busy key delays no
// other. Time is the database's.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "queue/partition.h"

namespace quern::queue {

inline constexpr std::int64_t kTimeoutSecondsMax = 366 * 86'400;
inline constexpr std::int64_t kDefaultTimeoutUs = 300'000'000;
inline constexpr std::size_t kFiredAtOnceMax = 100;
// The names of posted callbacks begin with this.
inline constexpr std::string_view kTimerNamePrefix = "timer:";

struct Timer {
  std::string key;
  std::int64_t due_us = 0;
  std::int64_t timeout_us = 0;
  std::string callback_queue;
  std::string callback_msg;  // JSON
};

struct SetTimer {
  enum class How { Start, Reset };
  How how = How::Reset;
  std::string key;
  std::int64_t timeout_us = kDefaultTimeoutUs;  // of a reset: only where there is no timer
  std::string callback_queue = "PACK";
  std::string callback_msg;  // empty: pack_incremental of the key

  using Reply = std::int64_t;  // due
};
// Several for one key in a batch have the effect of one after the other. Invalid where key, timeout
// or callback are none.
std::vector<Result<std::int64_t>> apply(store::Tx& tx, std::span<const SetTimer> batch);

Result<Timer> load_timer(store::Tx& tx, const std::string& key);  // Missing
Result<std::vector<Timer>> list_timers(store::Tx& tx, const std::string& after, std::size_t limit);

struct DueQueues {
  std::vector<std::string> queues;  // that due timers call back
  std::int64_t next_us = kNeverUs;  // when the next one is due
  std::int64_t now_us = 0;
};
Result<DueQueues> find_due(store::Tx& tx);
// Posts up to kFiredAtOnceMax due callbacks of one queue. Behind a fence for that queue's
// partition; returns how many.
Result<std::int64_t> fire_timers(store::Tx& tx, const std::string& queue, PartitionId partition);

}  // namespace quern::queue
