// What an outcome makes of an item: retries, backoff, gates. Pure.
#pragma once

#include "queue/processor.h"

namespace quern::queue {

inline constexpr std::size_t kErrorsKeptMax = 10;
inline constexpr std::size_t kErrorBytesMax = 1024;
// Calls that moved an item without ending it; then it has failed.
inline constexpr std::int64_t kStepsMax = 1'000'000;

// random is in [0, 1): the jitter.
Finished settle(const Taken& taken, Outcome outcome, const PartitionConfig& config, double random,
                std::int64_t now_us);
// The delay before retry number `retry` (from 1): doubles from backoff_ms to backoff_ms_max, less
// up to half of it by chance.
std::int64_t backoff_us(const PartitionConfig& config, std::int64_t retry, double random);
// Adds a message to the JSON list; the same message again is counted; the oldest ones go.
std::string add_error(const std::string& errors, std::string_view message, std::int64_t at_us);

}  // namespace quern::queue
