// Work completion: what researchers report (seed 002).
//
// Guarantee: a result is stored once, with its offsets, and extends its lease in the same
// transaction. One that is late, comes again or has no lease is stored just so (or is there
// already), is acknowledged, and extends nothing. A final one revokes the lease, which frees the
// clips that were not done. A negative is a row with a date and no offsets. What a newer algorithm
// found is never replaced by what an older one did, nor a result by an error.
//
// How: a report locks its lease, then the episode's set, and leaves every other lease alone.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "research/lease.h"

namespace quern::research {

struct Finding {
  std::int64_t offset_ns = 0;
  double score = 0;

  friend bool operator==(const Finding&, const Finding&) = default;
};

struct Report {
  std::string lease_id;  // "": without a lease
  CuratedId episode = 0;
  std::optional<CuratedId> clip;  // none: it ends the lease (final), or keeps it alive
  std::int64_t clip_number = 0;   // 0: whatever the clip's number is now
  std::int64_t algorithm = 0;     // 0: the current one
  std::vector<Finding> found;     // ascending
  std::int64_t episode_duration_ns = 0, clip_duration_ns = 0;
  std::string episode_hash, clip_hash;
  std::string
      error;  // why the clip could not be looked for; such a pair is done until it is retried
  bool final = false;
};

// Of a body of /research/results. Invalid, with a sentence for people.
Result<Report> parse_report(std::string_view body);

struct Reported {
  // False where it was there already or is about bytes that have been replaced since (by a clip's
  // number, or a hash that is a SHA-256), and where the report had no clip.
  bool stored = false;
  bool extended = false;  // the lease
  bool revoked = false;
  std::int64_t expires_us = 0;  // of the lease, where it was extended
};
// Missing where episode or clip is unknown.
Result<Reported> report(store::Tx& tx, const Report& report, const Options& options);

// A body that could not be taken. After kRefusedTries of the same one it is a dead letter: kept,
// and to be acknowledged, so that whoever sends it goes on. Whether it is one now.
Result<bool> refuse(store::Tx& tx, std::string_view body, const std::string& reason);

struct ResultRow {
  CuratedId episode = 0, clip = 0;
  std::string episode_title, clip_title;
  std::int64_t date_us = 0;
  std::int64_t algorithm = 0;
  std::int64_t clip_duration_ns = 0;
  std::string error;
  std::vector<Finding> found;
};
struct ResultFilter {
  std::optional<CuratedId> episode, clip;
  bool found_only = false;
  bool failed_only = false;  // of an episode, a clip or all; of a pair it is not looked at
  std::string collection;    // of the episode; "": all
  std::pair<CuratedId, CuratedId> after{0, 0};  // episode, clip
  std::size_t limit = 100;
};
inline constexpr std::size_t kResultsListedMax = 1000;
Result<std::vector<ResultRow>> list_results(store::Tx& tx, const ResultFilter& filter);
// How many pairs of an episode or a clip were researched, with whatever result.
Result<std::int64_t> count_researched(store::Tx& tx, Kind kind, CuratedId id);
// In how many pairs something was found, by episode, of those whose numbers lie in a range.
// Episodes in which nothing was found are left out; of more than kFoundCountedMax the last are.
inline constexpr std::int64_t kFoundCountedMax = 10'000;
Result<std::map<CuratedId, std::int64_t>> count_found(store::Tx& tx, CuratedId first,
                                                      CuratedId last);
// Opens pairs that ended with an error again: of an episode, of a clip, or all. At most
// kRetriedAtOnce of them in one transaction; how many: call it again until that is 0. Alone.
inline constexpr std::int64_t kRetriedAtOnce = 1000;
Result<std::int64_t> retry_failed(store::Tx& tx, const ResultFilter& filter);

}  // namespace quern::research
