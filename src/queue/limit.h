// Limits by key: how many items with a key may run at once, and how long after one another they
// start, whoever runs them and in whatever partition. Politeness towards a host is one of these.
//
// Guarantee: never more than `concurrency` live holders, never two starts closer than gap_us, by
// the database's time, across all processes. How: a start asks for the key in a small transaction
// of its own, which locks the key's row; a holder counts while its item runs under the same token,
// so a holder that died counts no longer than its partition is stranded.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "queue/partition.h"

namespace quern::queue {

inline constexpr std::int64_t kGapUsMax = 86'400'000'000;
// A holder may end at any time, so whoever waits for one asks again within these.
inline constexpr std::int64_t kHolderWaitUs = 250'000;
inline constexpr std::int64_t kHolderWaitUsMax = 30'000'000;

struct Limit {
  std::string key;
  std::int64_t version = 0;
  std::int64_t concurrency = 0;  // 0: any number
  std::int64_t gap_us = 0;
};
// Invalid where the key is none, or a number is out of range.
Result<> validate(const Limit& limit);
// Makes or changes one. Conflict where the version is another; 0: it must not exist.
Result<Limit> put_limit(store::Tx& tx, const Limit& limit, std::optional<std::int64_t> if_version);
Result<Limit> load_limit(store::Tx& tx, const std::string& key);  // Missing
Result<std::vector<Limit>> list_limits(store::Tx& tx, const std::string& after, std::size_t limit);
// Missing; Conflict where the version is another.
Result<> delete_limit(store::Tx& tx, const std::string& key,
                      std::optional<std::int64_t> if_version = {});

// May this item start now? On the control lane.
struct AcquireLimit {
  std::string key;
  ItemId item;
  PartitionId partition;
  std::int64_t token = 0;

  struct Reply {
    bool granted = true;
    std::int64_t wait_us = 0;  // when to ask again
  };
};
std::vector<Result<AcquireLimit::Reply>> apply(store::Tx& tx, std::span<const AcquireLimit> batch);

// The item has ended. Whether there was a hold; one under another token stays, for it is the next
// owner's.
struct ReleaseLimit {
  std::string key;
  ItemId item;
  std::int64_t token = 0;  // 0: whatever it is

  using Reply = bool;
};
std::vector<Result<bool>> apply(store::Tx& tx, std::span<const ReleaseLimit> batch);

}  // namespace quern::queue
