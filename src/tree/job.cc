#include "tree/job.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/crash.h"
#include "base/utf8.h"

namespace quern::tree {
namespace {

using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr std::size_t kCollectionBytesMax = 200;

constexpr Sql kAddCollection{
    "INSERT INTO collection (name, created_us) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING"};
constexpr Sql kCollectionOf{"SELECT id FROM collection WHERE name = $1"};
constexpr Sql kAddJob{
    "INSERT INTO job (kind, collection, key, source, state, sealed, canceled, shards, skipped,"
    " retry_of, created_us) VALUES ($1, $2, $3, $4, 1, $5, $5, $6, 0, $7, $8)"
    " ON CONFLICT (key) DO NOTHING"};
// A colon is followed by a semicolon in every collation that matters here.
constexpr Sql kRunningJob{
    "SELECT key FROM job WHERE key >= $1 || ':' AND key < $1 || ';' AND state = 1 AND NOT deleting"
    " AND NOT canceled ORDER BY id LIMIT 1"};
constexpr Sql kAddShard{
    "INSERT INTO shard (partition, job, number, done, roots, roots_ingested, files, documents,"
    " containers, converted, empty, errors, bytes_in, weight, progress)"
    " VALUES ($1, $2, $3, $4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) ON CONFLICT (partition) DO NOTHING"};
constexpr Sql kSeal{
    "UPDATE job SET sealed = $2, skipped = $3 WHERE id = $1 AND NOT sealed AND state = 1"};
constexpr Sql kCancel{"UPDATE job SET canceled = $2 WHERE id = $1 AND state = 1"};
constexpr Sql kLockJob{"SELECT id FROM job WHERE id = $1",
                       "SELECT id FROM job WHERE id = $1 FOR UPDATE"};
constexpr Sql kEndShard{
    "UPDATE shard SET done = $2, progress = weight WHERE partition = $1 AND roots = "
    "roots_ingested"};
constexpr Sql kOpenShards{"SELECT count(*) FROM shard WHERE job = $1 AND NOT done"};
constexpr Sql kShardRows{"SELECT count(*) FROM shard WHERE job = $1"};
constexpr Sql kEndJob{
    "UPDATE job SET state = CASE WHEN canceled THEN 3 ELSE 2 END, finished_us = $2"
    " WHERE id = $1 AND state = 1 AND sealed AND shards = $3 RETURNING retry_of, state"};
constexpr Sql kSupersede{"UPDATE file SET superseded = $2 WHERE id = $1"};

#define QUERN_JOB_COLUMNS                                                                      \
  "SELECT j.id, j.kind, j.collection, c.name, j.key, j.source, j.state, j.sealed, j.canceled," \
  " j.deleting, j.shards, j.skipped, j.retry_of, j.created_us, j.finished_us,"
#define QUERN_SUMS                                                                             \
  " coalesce(sum(s.roots), 0), coalesce(sum(s.roots_ingested), 0), coalesce(sum(s.files), 0)," \
  " coalesce(sum(s.documents), 0), coalesce(sum(s.containers), 0), coalesce(sum(s.converted)," \
  " 0), coalesce(sum(s.empty), 0), coalesce(sum(s.errors), 0), coalesce(sum(s.bytes_in), 0),"  \
  " coalesce(sum(s.weight), 0.0), coalesce(sum(s.progress), 0.0)"
#define QUERN_SUMS_POSTGRES                                                         \
  " coalesce(sum(s.roots), 0)::bigint, coalesce(sum(s.roots_ingested), 0)::bigint," \
  " coalesce(sum(s.files), 0)::bigint, coalesce(sum(s.documents), 0)::bigint,"      \
  " coalesce(sum(s.containers), 0)::bigint, coalesce(sum(s.converted), 0)::bigint," \
  " coalesce(sum(s.empty), 0)::bigint, coalesce(sum(s.errors), 0)::bigint,"         \
  " coalesce(sum(s.bytes_in), 0)::bigint, coalesce(sum(s.weight), 0.0),"            \
  " coalesce(sum(s.progress), 0.0)"
#define QUERN_JOB_TABLES                                       \
  " FROM job AS j JOIN collection AS c ON c.id = j.collection" \
  " LEFT JOIN shard AS s ON s.job = j.id"
constexpr Sql kLoadJob{QUERN_JOB_COLUMNS QUERN_SUMS QUERN_JOB_TABLES
                       " WHERE j.id = $1 GROUP BY j.id, c.name",
                       QUERN_JOB_COLUMNS QUERN_SUMS_POSTGRES QUERN_JOB_TABLES
                       " WHERE j.id = $1 GROUP BY j.id, c.name"};
constexpr Sql kFindJob{QUERN_JOB_COLUMNS QUERN_SUMS QUERN_JOB_TABLES
                       " WHERE j.key = $1 GROUP BY j.id, c.name",
                       QUERN_JOB_COLUMNS QUERN_SUMS_POSTGRES QUERN_JOB_TABLES
                       " WHERE j.key = $1 GROUP BY j.id, c.name"};
#define QUERN_JOBS_LISTED                                                        \
  " WHERE ($1 = '' OR c.name = $1) AND ($2 = 0 OR j.id < $2) AND NOT j.deleting" \
  " GROUP BY j.id, c.name ORDER BY j.id DESC LIMIT $3"
constexpr Sql kListJobs{QUERN_JOB_COLUMNS QUERN_SUMS QUERN_JOB_TABLES QUERN_JOBS_LISTED,
                        QUERN_JOB_COLUMNS QUERN_SUMS_POSTGRES QUERN_JOB_TABLES QUERN_JOBS_LISTED};

#define QUERN_SHARD_COLUMNS                                                                   \
  "SELECT s.partition, s.job, s.number, s.done, j.sealed, j.canceled, j.deleting, c.name,"    \
  " s.roots, s.roots_ingested, s.files, s.documents, s.containers, s.converted, s.empty,"     \
  " s.errors, s.bytes_in, s.weight, s.progress FROM shard AS s JOIN job AS j ON j.id = s.job" \
  " JOIN collection AS c ON c.id = j.collection"
constexpr Sql kLoadShard{QUERN_SHARD_COLUMNS " WHERE s.partition = $1",
                         QUERN_SHARD_COLUMNS " WHERE s.partition = ANY ($1)"};
constexpr Sql kListShards{"SELECT partition FROM shard WHERE job = $1 ORDER BY number LIMIT 64"};

// The sums of all jobs of a collection, whose number has no bound, but grows by people's doing.
#define QUERN_LEDGER_TABLES                                                            \
  " FROM collection AS c LEFT JOIN job AS j ON j.collection = c.id AND NOT j.deleting" \
  " LEFT JOIN shard AS s ON s.job = j.id"
#define QUERN_LEDGER_LISTED " WHERE c.name > $1 GROUP BY c.id, c.name ORDER BY c.name LIMIT $2"
#define QUERN_LEDGER_NAMED " WHERE c.name = $1 GROUP BY c.id, c.name"
constexpr Sql kLedger{
    "SELECT c.id, c.name," QUERN_SUMS QUERN_LEDGER_TABLES QUERN_LEDGER_LISTED,
    "SELECT c.id, c.name," QUERN_SUMS_POSTGRES QUERN_LEDGER_TABLES QUERN_LEDGER_LISTED};
constexpr Sql kLedgerOf{
    "SELECT c.id, c.name," QUERN_SUMS QUERN_LEDGER_TABLES QUERN_LEDGER_NAMED,
    "SELECT c.id, c.name," QUERN_SUMS_POSTGRES QUERN_LEDGER_TABLES QUERN_LEDGER_NAMED};
constexpr Sql kSkipped{
    "SELECT coalesce(sum(skipped), 0) FROM job WHERE collection = $1"
    " AND NOT deleting",
    "SELECT coalesce(sum(skipped), 0)::bigint FROM job WHERE collection = $1"
    " AND NOT deleting"};
constexpr Sql kInProgress{
    "SELECT count(*) FROM shard AS s JOIN job AS j ON j.id = s.job"
    " JOIN file AS f ON f.partition = s.partition AND +f.state < 4 WHERE j.collection = $1"
    " AND NOT j.deleting"};

Sums sums_of(const Row& row, std::size_t at) {
  Sums sums;
  std::int64_t* const counts[] = {&sums.roots,     &sums.roots_ingested, &sums.files,
                                  &sums.documents, &sums.containers,     &sums.converted,
                                  &sums.empty,     &sums.errors,         &sums.bytes_in};
  for (std::int64_t* count : counts) *count = row.get<std::int64_t>(at++);
  sums.weight = row.get<double>(at++);
  sums.progress = row.get<double>(at++);
  return sums;
}

Job job_of(const Row& row) {
  Job job;
  job.id = row.get<JobId>(0);
  job.kind = row.get<std::string>(1);
  job.collection = row.get<CollectionId>(2);
  job.collection_name = row.get<std::string>(3);
  job.key = row.get<std::string>(4);
  job.source = row.get<std::string>(5);
  job.state = static_cast<JobState>(row.get<int>(6));
  job.sealed = row.get<bool>(7);
  job.canceled = row.get<bool>(8);
  job.deleting = row.get<bool>(9);
  job.shards = row.get<std::int64_t>(10);
  job.skipped = row.get<std::int64_t>(11);
  job.retry_of = row.get<std::optional<FileId>>(12);
  job.created_us = row.get<std::int64_t>(13);
  job.finished_us = row.get<std::optional<std::int64_t>>(14);
  job.sums = sums_of(row, 15);
  return job;
}

ShardInfo shard_of(const Row& row) {
  ShardInfo shard;
  shard.id = row.get<ShardId>(0);
  shard.job = row.get<JobId>(1);
  shard.number = row.get<std::int64_t>(2);
  shard.done = row.get<bool>(3);
  shard.sealed = row.get<bool>(4);
  shard.canceled = row.get<bool>(5);
  shard.deleting = row.get<bool>(6);
  shard.collection = row.get<std::string>(7);
  shard.sums = sums_of(row, 8);
  return shard;
}

Result<> validate_text(std::string_view what, std::string_view text, std::size_t bytes_max) {
  if (text.size() > bytes_max || !is_valid_utf8(text)) {
    return Error{Errc::Invalid,
                 fmt::format("{} must be UTF-8 of at most {} bytes", what, bytes_max)};
  }
  return {};
}

}  // namespace

std::string_view to_string(JobState state) {
  switch (state) {
    case JobState::Running:
      return "running";
    case JobState::Done:
      return "done";
    case JobState::Canceled:
      return "canceled";
  }
  return "";
}

double Job::progress() const {
  if (state != JobState::Running) return 1;
  if (sums.weight <= 0) return 0;
  // What floating point makes of the last slice must not look like the end.
  return std::clamp(sums.progress / sums.weight, 0.0, 0.9999);
}

Result<> validate_collection_name(std::string_view name) {
  TRY(validate_text("the name of a collection", name, kCollectionBytesMax));
  const bool control =
      std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  if (name.empty() || control || name.find('/') != std::string_view::npos) {
    return Error{Errc::Invalid,
                 "the name of a collection is a line of text without '/', such as leak-2026"};
  }
  return {};
}

Result<> validate(const NewJob& job) {
  TRY(validate_collection_name(job.collection));
  TRY(validate_text("the key of a job", job.key, kJobKeyBytesMax));
  TRY(validate_text("the source of a job", job.source, kSourceBytesMax));
  if (job.key.empty()) return Error{Errc::Invalid, "a job needs a key"};
  CHECK(job.shards >= 1 && job.shards <= kShardsMax);
  return {};
}

Result<Job> ensure_job(Tx& tx, const NewJob& job) {
  std::string key = job.key;
  if (!job.resumes.empty()) {
    TRY_ASSIGN(const auto running, tx.find_value<std::string>(kRunningJob, job.resumes));
    key = running.value_or(key);
  }
  TRY_ASSIGN(std::optional<Job> known, find_job(tx, key));
  if (!known) {
    TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
    TRY(tx.exec(kAddCollection, job.collection, now_us));
    TRY_ASSIGN(const auto collection, tx.value<CollectionId>(kCollectionOf, job.collection));
    TRY(tx.exec(kAddJob, job.kind, collection, job.key, job.source, false, job.shards, job.retry_of,
                now_us));
    TRY_ASSIGN(known, find_job(tx, job.key));
    if (!known) return Error{Errc::Conflict, "somebody else is making that job"};
  }
  if (known->collection_name != job.collection || known->kind != job.kind) {
    return Error{Errc::Conflict, fmt::format("key '{}' belongs to job {} of collection '{}'",
                                             job.key, known->id, known->collection_name)};
  }
  return *std::move(known);
}

Result<> ensure_shard(Tx& tx, JobId job, ShardId shard, std::int64_t number) {
  TRY(tx.exec(kAddShard, shard, job, number, false));
  return {};
}

Result<Job> seal_job(Tx& tx, JobId id, std::int64_t skipped) {
  TRY(tx.exec(kSeal, id, true, skipped));
  return load_job(tx, id);
}

Result<Job> cancel_job(Tx& tx, JobId id) {
  // What was not sent yet will not come: a canceled job waits for nobody.
  TRY_ASSIGN(const Job before, load_job(tx, id));
  if (before.state == JobState::Running) {
    TRY(tx.exec(kCancel, id, true));
    TRY(tx.exec(kSeal, id, true, before.skipped));
  }
  return load_job(tx, id);
}

Result<bool> finish_shard(Tx& tx, ShardId shard) {
  TRY_ASSIGN(const ShardInfo info, load_shard(tx, shard));
  // Of two shards that end at once, the second sees the first.
  TRY(tx.query(kLockJob, info.job));
  TRY_ASSIGN(const Job job, load_job(tx, info.job));
  if (!job.sealed) return false;
  TRY_ASSIGN(const std::int64_t ended, tx.exec(kEndShard, shard, true));
  if (ended == 0) return false;
  crash_point("tree.shard.ended");
  TRY_ASSIGN(const auto open, tx.value<std::int64_t>(kOpenShards, info.job));
  if (open > 0) return true;
  TRY_ASSIGN(const auto made, tx.value<std::int64_t>(kShardRows, info.job));
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY_ASSIGN(const Rows rows, tx.query(kEndJob, info.job, now_us, made));
  if (!rows.empty() && !rows[0].is_null(0) && rows[0].get<int>(1) == 2) {
    TRY(tx.exec(kSupersede, rows[0].get<FileId>(0), true));
  }
  return true;
}

Result<Job> load_job(Tx& tx, JobId id) {
  TRY_ASSIGN(const Rows rows, tx.query(kLoadJob, id));
  if (rows.empty()) return Error{Errc::Missing, fmt::format("there is no job {}", id)};
  return job_of(rows[0]);
}

Result<std::optional<Job>> find_job(Tx& tx, const std::string& key) {
  TRY_ASSIGN(const Rows rows, tx.query(kFindJob, key));
  if (rows.empty()) return std::optional<Job>();
  return std::optional<Job>(job_of(rows[0]));
}

Result<std::vector<Job>> list_jobs(Tx& tx, const JobFilter& filter) {
  TRY_ASSIGN(const Rows rows, tx.query(kListJobs, filter.collection, filter.before,
                                       std::min(filter.limit, kListMax)));
  std::vector<Job> jobs;
  for (const Row row : rows) jobs.push_back(job_of(row));
  return jobs;
}

Result<ShardInfo> load_shard(Tx& tx, ShardId id) {
  TRY_ASSIGN(const std::vector<ShardInfo> shards, load_flags(tx, {id}));
  if (shards.empty()) return Error{Errc::Missing, fmt::format("there is no shard {}", id)};
  return shards[0];
}

Result<std::vector<ShardId>> list_shards(Tx& tx, JobId job) {
  TRY_ASSIGN(const Rows rows, tx.query(kListShards, job));
  std::vector<ShardId> shards;
  for (const Row row : rows) shards.push_back(row.get<ShardId>(0));
  return shards;
}

Result<std::vector<ShardInfo>> load_flags(Tx& tx, const std::vector<ShardId>& shards) {
  store::Bulk wanted;
  for (const ShardId shard : shards) wanted.add(shard);
  TRY_ASSIGN(const Rows rows, tx.bulk(kLoadShard, wanted));
  std::vector<ShardInfo> found;
  for (const Row row : rows) found.push_back(shard_of(row));
  return found;
}

namespace {

Result<Collection> collection_of(Tx& tx, const Row& row) {
  Collection collection{row.get<CollectionId>(0), row.get<std::string>(1), sums_of(row, 2)};
  TRY_ASSIGN(collection.skipped, tx.value<std::int64_t>(kSkipped, collection.id));
  TRY_ASSIGN(collection.in_progress, tx.value<std::int64_t>(kInProgress, collection.id));
  return collection;
}

}  // namespace

Result<std::vector<Collection>> list_ledger(Tx& tx, const std::string& after, std::size_t limit) {
  TRY_ASSIGN(const Rows rows, tx.query(kLedger, after, std::min(limit, kListMax)));
  std::vector<Collection> collections;
  for (const Row row : rows) {
    TRY_ASSIGN(Collection collection, collection_of(tx, row));
    collections.push_back(std::move(collection));
  }
  return collections;
}

Result<Collection> load_ledger(Tx& tx, const std::string& name) {
  TRY_ASSIGN(const Rows rows, tx.query(kLedgerOf, name));
  if (rows.empty()) return Error{Errc::Missing, fmt::format("there is no collection '{}'", name)};
  return collection_of(tx, rows[0]);
}

}  // namespace quern::tree
