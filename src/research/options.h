// What research is bounded by. docs/research.md tells what each means.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quern::research {

inline constexpr std::int64_t kClipsPerItem = 100;
inline constexpr std::int64_t kLeaseMs = 10 * 60 * 1000;
inline constexpr std::int64_t kOfferMs = 8 * 60 * 1000;   // shorter than the lease, always
inline constexpr std::int64_t kResearcherMs = 30 * 1000;  // counts so long after it asked
inline constexpr std::int64_t kPollMsMax = 60 * 1000;     // a request for work is held so long
inline constexpr std::size_t kResearcherBytesMax = 200;   // of a name
inline constexpr std::int64_t kResearchersMax = 10'000;   // rows; the oldest go
inline constexpr std::int64_t kRefusedMax = 10'000;       // rows; the oldest go
inline constexpr std::int64_t kRefusedTries = 3;  // then it is a dead letter, and acknowledged
inline constexpr std::size_t kResultBytesMax = 4 * 1024 * 1024;
inline constexpr std::size_t kOffsetsMax = 100'000;  // of one clip in one episode
inline constexpr std::int64_t kClipNumberMax = 10'000'000;
inline constexpr std::int64_t kCandidatesPerRun = 256;  // episodes looked at in one transaction

struct Options {
  std::int64_t clips_per_item = kClipsPerItem;
  std::int64_t lease_ms = kLeaseMs;
  std::int64_t offer_ms = kOfferMs;
  std::int64_t researcher_ms = kResearcherMs;
};

}  // namespace quern::research
