// What curators ask for, as it is stored: one row for each job of kind "episodes" or "clips", one
// for each address, feed and further page of a feed.
//
// Guarantee: a source ends once, in the transaction that stores what it brought; ending it again
// changes nothing, and says so.
//
// Functions run on the writer behind the lock of the job's partition, or in a read where they only
// load.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <vector>

#include "queue/partition.h"
#include "research/curated.h"
#include "research/feed_row.h"

namespace quern::research {

inline constexpr char kCuratePartitionKind[] = "curate";
inline constexpr std::size_t kSourcesMax = 5'000;  // of one request
inline constexpr std::size_t kSourcesListedMax = 1000;
inline constexpr std::int64_t kSourcesRemovedAtOnce = 1000;

// "episodes", "clips": of jobs and addresses.
std::string_view job_kind_of(Kind kind);
std::string curation_partition(tree::JobId job);

enum class SourceKind { Address = 1, Feed = 2 };

struct Source {
  SourceKind what = SourceKind::Address;
  std::string url;
  std::string title, description, aired;  // as the curator says; empty: nothing
  std::optional<FeedId> feed;             // that is looked at again
};

struct Curation {
  tree::JobId job;
  Kind kind = Kind::Episode;
  tree::CollectionId collection;
  std::string collection_name;
  std::optional<std::int64_t> priority;
  boost::json::object metadata;
  bool recheck = false;
  std::int64_t created_us = 0;
  std::int64_t ended_us = 0;
  bool canceled = false;  // its job, or that is gone
  std::vector<tree::ShardId> shards;
};

struct SourceRow {
  std::int64_t number = 0;
  Source source;
  std::optional<FeedId> feed;
  std::int64_t page = 1;
  bool ended = false;
  std::int64_t found = 0, changed = 0, left_out = 0;
  std::string problem;
};

// Changes nothing where it stands.
Result<> add_curation(store::Tx& tx, const Curation& curation, const std::vector<Source>& sources);
Result<Curation> load_curation(store::Tx& tx, tree::JobId job);  // Missing
// The key of the oldest job of that name (NewJob::resumes) that has not fetched all yet. One that
// only waits for its files to be converted is not gone on with: what is asked for may have changed.
Result<std::optional<std::string>> find_under_way(store::Tx& tx, const std::string& resumes);
// Canceled ones that have not ended yet, the newest first.
Result<std::vector<tree::JobId>> list_canceled(store::Tx& tx, std::size_t limit);
Result<SourceRow> load_source(store::Tx& tx, tree::JobId job, std::int64_t number);  // Missing
Result<std::vector<SourceRow>> list_sources(store::Tx& tx, tree::JobId job, std::size_t limit);
// A further page of a feed, with the next number: which one; nothing where the job has read that
// page already.
Result<std::optional<std::int64_t>> add_next_page(store::Tx& tx, tree::JobId job, SourceRow page);
// Entries that the pages of a feed have brought, by this job.
Result<std::int64_t> count_found(store::Tx& tx, tree::JobId job, FeedId feed);
// Counts, so far.
Result<> note_source(store::Tx& tx, tree::JobId job, const SourceRow& row);
// False where it has ended before.
Result<bool> end_source(store::Tx& tx, tree::JobId job, const SourceRow& row);
Result<bool> end_curation(store::Tx& tx, tree::JobId job);
// Episodes or clips that this job was the last to curate.
Result<std::vector<CuratedId>> list_curated_by(store::Tx& tx, tree::JobId job, std::size_t limit);
// The one whose bytes are these, as files are named.
Result<std::optional<CuratedId>> find_by_sha256(store::Tx& tx, Kind kind,
                                                const std::string& collection,
                                                const std::string& sha256);
// How loud it is, one byte a point, of the newest fingerprint of its media; nothing before a
// researcher has looked at it.
Result<std::optional<std::string>> load_waveform(store::Tx& tx, const Curated& curated);
// Rows of a job that is being deleted; whether nothing is left. Behind remove_curated_of_job().
Result<bool> remove_curation(store::Tx& tx, tree::JobId job);

}  // namespace quern::research
