// Jobs: what a user asked for. A job brings root files into a collection; its shards, one partition
// each, own them. And what people are told of a job: its sums and how far it is.
//
// Guarantee: a job that is asked for twice with one key is one job. It is done when it is sealed
// and every root of every shard is ingested; the last shard to finish says so, in its own
// transaction.
//
// Functions that take a Tx& run on the writer, or in a read where they only load.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "store/tx.h"

namespace quern::tree {

using CollectionId = Id<struct CollectionTag>;
using JobId = Id<struct JobTag>;
using FileId = Id<struct FileTag>;
// A partition of the work engine, which this folder does not see.
using ShardId = Id<struct ShardTag>;

inline constexpr std::int64_t kShardsMax = 64;
inline constexpr std::size_t kJobKeyBytesMax = 512;
inline constexpr std::size_t kSourceBytesMax = 4096;
inline constexpr std::size_t kListMax = 1000;

enum class JobState { Running = 1, Done = 2, Canceled = 3 };
std::string_view to_string(JobState state);

// What is counted, of a shard, a job or a collection.
struct Sums {
  std::int64_t roots = 0;
  std::int64_t roots_ingested = 0;
  std::int64_t files = 0;
  std::int64_t documents = 0;
  std::int64_t containers = 0;
  std::int64_t converted = 0;
  std::int64_t empty = 0;
  std::int64_t errors = 0;
  std::int64_t bytes_in = 0;
  double weight = 0;
  double progress = 0;  // of the weight, what is stored as done

  std::int64_t classified() const { return documents + containers + converted + empty + errors; }
};

struct Job {
  JobId id;
  std::string kind;
  CollectionId collection;
  std::string collection_name;
  std::string key;
  std::string source;
  JobState state = JobState::Running;
  bool sealed = false;
  bool canceled = false;
  bool deleting = false;
  std::int64_t shards = 1;
  std::int64_t skipped = 0;
  std::optional<FileId> retry_of;
  std::int64_t created_us = 0;
  std::optional<std::int64_t> finished_us;
  Sums sums;

  // 1 if and only if it has ended.
  double progress() const;
};

struct NewJob {
  std::string kind = "import";
  std::string collection;
  std::string key;
  // A running job whose key begins with this (and a colon) is gone on with instead; empty: none.
  std::string resumes;
  std::string source;
  std::int64_t shards = 1;
  std::optional<FileId> retry_of;
};
// Invalid where a name or key is no good. The job of that key where there is one: Conflict if it is
// of another collection or kind.
Result<> validate(const NewJob& job);
Result<Job> ensure_job(store::Tx& tx, const NewJob& job);
// Makes the shard's row where it is missing. Behind the partition's lock.
Result<> ensure_shard(store::Tx& tx, JobId job, ShardId shard, std::int64_t number);

// No root comes any more; `skipped` were left out. Again: changes nothing.
Result<Job> seal_job(store::Tx& tx, JobId id, std::int64_t skipped);
// Its shards end what is left as canceled. Fine where it has ended.
Result<Job> cancel_job(store::Tx& tx, JobId id);

// The shard has nothing left. Where it is the last one of a sealed job, the job has ended. Whether
// the shard may end: not where the job is not sealed, or a root is left. Behind its fence.
Result<bool> finish_shard(store::Tx& tx, ShardId shard);

Result<Job> load_job(store::Tx& tx, JobId id);  // Missing
Result<std::optional<Job>> find_job(store::Tx& tx, const std::string& key);
struct JobFilter {
  std::string collection;   // empty: all
  std::int64_t before = 0;  // newest first, those with a smaller id; 0: from the newest
  std::size_t limit = 200;
};
Result<std::vector<Job>> list_jobs(store::Tx& tx, const JobFilter& filter);

struct ShardInfo {
  ShardId id;
  JobId job;
  std::int64_t number = 0;
  bool done = false;
  bool sealed = false;  // of the job, as are the next
  bool canceled = false;
  bool deleting = false;
  std::string collection;
  Sums sums;
};
Result<ShardInfo> load_shard(store::Tx& tx, ShardId id);  // Missing
Result<std::vector<ShardId>> list_shards(store::Tx& tx, JobId job);
// The flags of these shards' jobs, for owners who look from time to time. Shards that are gone are
// left out.
Result<std::vector<ShardInfo>> load_flags(store::Tx& tx, const std::vector<ShardId>& shards);

struct Collection {
  CollectionId id;
  std::string name;
  Sums sums;
  std::int64_t skipped = 0;
  std::int64_t in_progress = 0;  // counted from the files

  // Every file is one thing, and the sums say so.
  bool balanced() const { return sums.files == sums.classified() + in_progress; }
};
Result<std::vector<Collection>> list_ledger(store::Tx& tx, const std::string& after,
                                            std::size_t limit);
Result<Collection> load_ledger(store::Tx& tx, const std::string& name);  // Missing
Result<> validate_collection_name(std::string_view name);

}  // namespace quern::tree
