// Requests as they are stored: one row for each job of kind "dataset".
//
//   Resolving -> Keeping -> Ended; or, where there is nothing to keep, Resolving -> Ended
//
// Functions run on the writer behind the lock of the request's partition, or in a read where they
// only load. Each move changes nothing where it was made before, and says so.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fileset/result.h"
#include "queue/partition.h"
#include "store/tx.h"
#include "tree/job.h"

namespace quern::fileset {

inline constexpr char kJobKind[] = "dataset";
inline constexpr char kPartitionKind[] = "dataset";
inline constexpr std::size_t kRequestsListedMax = 200;

enum class RequestState { Resolving = 1, Keeping = 2, Ended = 3 };
std::string_view to_string(RequestState state);

struct RequestRow {
  tree::JobId job;
  tree::CollectionId collection;
  Request request;
  RequestOptions options;
  RequestState state = RequestState::Resolving;
  std::string status;  // empty: not yet known
  Landed landed;
  std::optional<PlatformItem> item;
  std::string strategy;
  std::string result;  // JSON; empty: it has not ended
  std::optional<tree::JobId> retry_of;
  std::int64_t created_us = 0;
  std::int64_t ended_us = 0;
  bool canceled = false;  // its job, or that is gone
  std::vector<tree::ShardId> shards;
};

std::string partition_name(tree::JobId job);

struct NewRequest {
  tree::JobId job;
  tree::CollectionId collection;
  Request request;
  RequestOptions options;
  std::optional<tree::JobId> retry_of;
};
// Prefix of its WARC files (web/archive_name.h).
std::string archive_of(const RequestRow& row);

// Changes nothing where it stands.
Result<> add_request(store::Tx& tx, const NewRequest& request);
Result<RequestRow> load_request(store::Tx& tx, tree::JobId job);  // Missing
// The newest first, those with a smaller id than `before` (0: all), of a collection or of all.
Result<std::vector<tree::JobId>> list_requests(store::Tx& tx, const std::string& collection,
                                               std::int64_t before, std::size_t limit);
// The last one for the same address in the same collection that has kept all or some of its files.
Result<std::optional<tree::JobId>> find_earlier(store::Tx& tx, const NewRequest& request);

// The last retry of one that failed, where that has got everything.
Result<std::optional<tree::JobId>> find_success(store::Tx& tx, const RequestRow& failed);

// The newest one for an address, as it was asked for, in a collection.
Result<std::optional<tree::JobId>> find_last(store::Tx& tx, const std::string& collection,
                                             const std::string& base_url);

// A dataset whose files entered their collection, as far as it is looked for by that.
struct SearchedDataset {
  tree::JobId job;
  std::string status;
  bool in_ia = false;  // it is an item of archive.org
};
// Those that have ended, the newest first.
Result<std::vector<SearchedDataset>> list_searched(store::Tx& tx, std::size_t limit);

// Resolving -> Keeping. False where that is behind it.
struct Resolved {
  Landed landed;
  PlatformItem item;
  std::string strategy;
};
Result<bool> begin_keeping(store::Tx& tx, tree::JobId job, const Resolved& resolved);

// To Ended. False where it has ended before.
struct Ending {
  std::string status;
  std::string result;
  Landed landed;
  std::optional<PlatformItem> item;
};
Result<bool> end_request(store::Tx& tx, tree::JobId job, const Ending& ending);

// False for one that has ended, and for what is none.
Result<bool> is_open(store::Tx& tx, tree::JobId job);
// Whether it has ended, and not longer ago.
Result<bool> has_ended_within(store::Tx& tx, tree::JobId job, std::int64_t us);
// False where its job was canceled, is being deleted or is gone.
Result<bool> is_wanted(store::Tx& tx, tree::JobId job);

}  // namespace quern::fileset
