// Counters: the smallest durable feature, and the pattern for the larger ones. An operation applied
// in bulk, a migration, an idempotency key, a file beside the rows, a check.
//
// Guarantee: an addition that was answered is in the counter once, however often it was sent with
// the same key and whatever died on the way. How: the entry's key is unique within its counter, and
// entry and counter change in one transaction.
//
// apply() runs on the writer, in the lane of the counter's name (lane_of); the others in a read.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "store/operation.h"
#include "store/tx.h"
#include "store/writer.h"

namespace quern::counter {

using CounterId = Id<struct CounterTag>;

inline constexpr std::size_t kKeyBytesMax = 128;
inline constexpr std::int64_t kAmountMax = 1'000'000'000'000;
inline constexpr std::size_t kListMax = 1000;

struct Counter {
  CounterId id;
  std::string name;
  std::int64_t value = 0;
  std::int64_t entries = 0;
  std::optional<std::int64_t> snapshot_value;
  std::optional<std::string> snapshot_file;
};

struct Added {
  std::int64_t value = 0;  // right after this addition
  bool repeated = false;   // it had been made before, with the same key
};

struct AddToCounter {
  std::string name;
  std::string key;
  std::int64_t amount = 1;

  using Reply = Added;
};

// Invalid where the name is none (model/name.h), or key or amount break the limits above.
Result<> validate(const AddToCounter& add);
store::LaneKey lane_of(std::string_view name);

// Creates a counter with its first addition. Conflict where a key was used for another amount.
std::vector<Result<Added>> apply(store::Tx& tx, std::span<const AddToCounter> batch);

Result<Counter> load_counter(store::Tx& tx, const std::string& name);  // Missing
// By name, those after the given one.
Result<std::vector<Counter>> list_counters(store::Tx& tx, const std::string& after,
                                           std::size_t limit);

}  // namespace quern::counter
