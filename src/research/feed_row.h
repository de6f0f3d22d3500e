// Feeds that are looked at again, as they are stored.
//
// Guarantee: a feed is checked by one server at a time: who claims it moves its next check away in
// the same transaction, far enough for the check to end. A server that dies over it leaves it to
// the next.
//
// Functions run on the writer, or in a read where they only load.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "research/curated.h"

namespace quern::research {

using FeedId = Id<struct FeedTag>;

inline constexpr std::int64_t kFeedCheckMs = 60 * 60 * 1000;
inline constexpr std::int64_t kFeedCheckMsMax = 24LL * 60 * 60 * 1000;  // after failures
inline constexpr std::int64_t kFeedClaimUs = 10LL * 60 * 1'000'000;
inline constexpr std::size_t kFeedsAtOnce = 20;
inline constexpr std::size_t kFeedsListedMax = 1000;

struct FeedRow {
  FeedId id;
  Kind kind = Kind::Episode;
  std::string collection;
  std::string url;
  std::string title;
  std::int64_t priority = 0;  // of what is new
  boost::json::object metadata;
  std::string etag, last_modified;
  std::string digest;  // of what its first page said
  std::optional<std::int64_t> checked_us;
  std::int64_t next_us = 0;
  std::int64_t failures = 0;  // in a row
  std::string problem;
};

struct NewFeed {
  Kind kind = Kind::Episode;
  tree::CollectionId collection;
  std::string url;
  std::optional<std::int64_t> priority;  // as it is where it is not given
  boost::json::object metadata;
};
// The one of that address where there is one. Its first check is its curation's: far away.
Result<FeedId> put_feed(store::Tx& tx, const NewFeed& feed);
Result<FeedRow> load_feed(store::Tx& tx, FeedId id);  // Missing
struct FeedFilter {
  std::optional<Kind> kind;
  std::string collection;  // "": all
  FeedId after;
  std::size_t limit = 100;
};
Result<std::vector<FeedRow>> list_feeds(store::Tx& tx, const FeedFilter& filter);
// What it brought stays. Missing.
Result<> remove_feed(store::Tx& tx, FeedId id);
// Feeds of collections that are no more; how many.
Result<std::int64_t> remove_gone_feeds(store::Tx& tx);

// Those whose check is due: the caller's for kFeedClaimUs.
Result<std::vector<FeedRow>> claim_due_feeds(store::Tx& tx, std::size_t limit);

struct FeedChecked {
  std::string etag, last_modified, digest, title;  // title "": as it was
  std::int64_t again_us = 0;                       // from now
};
Result<> note_checked(store::Tx& tx, FeedId id, const FeedChecked& checked);
// The wait doubles with each failure in a row, from `again_us` to kFeedCheckMsMax.
Result<> note_feed_problem(store::Tx& tx, FeedId id, const std::string& problem,
                           std::int64_t again_us);

}  // namespace quern::research
