#include "research/remove.h"

#include "blob/blob.h"
#include "research/pool.h"

namespace quern::research {
namespace {

using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr Sql kEndLeases{"DELETE FROM research_lease WHERE episode = $1"};
constexpr Sql kForgetSet{"DELETE FROM research_episode WHERE episode = $1"};
constexpr Sql kOffsetsOfEpisode{"DELETE FROM research_offset WHERE episode = $1"};
constexpr Sql kResultsOfEpisode{"DELETE FROM research_result WHERE episode = $1"};
// Episodes in which it was looked for count one result less.
constexpr Sql kUncount{
    "UPDATE research_episode SET results = results - 1,"
    " found = found - (SELECT CASE WHEN n_found > 0 THEN 1 ELSE 0 END FROM research_result AS r"
    " WHERE r.episode = research_episode.episode AND r.clip = $1),"
    " failed = failed - (SELECT CASE WHEN error <> '' THEN 1 ELSE 0 END FROM research_result AS r"
    " WHERE r.episode = research_episode.episode AND r.clip = $1)"
    " WHERE episode IN (SELECT episode FROM research_result WHERE clip = $1)"};
constexpr Sql kOffsetsOfClip{
    "DELETE FROM research_offset WHERE clip = $1"
    " AND episode IN (SELECT episode FROM research_result WHERE clip = $1)"};
constexpr Sql kResultsOfClip{"DELETE FROM research_result WHERE clip = $1"};
constexpr Sql kFingerprints{"DELETE FROM research_fingerprint WHERE curated = $1 RETURNING blob"};
constexpr Sql kUnsettle{"UPDATE curated SET settled = 0, duration_ns = 0 WHERE id = $1"};
constexpr Sql kRemove{"DELETE FROM curated WHERE id = $1"};
// A row that is ready has the job of its file.
constexpr Sql kOfJob{"SELECT id, kind FROM curated WHERE job = $1 ORDER BY id LIMIT $2"};

Result<> remove_fingerprints(Tx& tx, CuratedId id) {
  TRY_ASSIGN(const Rows rows, tx.query(kFingerprints, id));
  std::vector<blob::BlobId> blobs;
  for (const Row row : rows) blobs.push_back(row.get<blob::BlobId>(0));
  return blob::doubt_blobs(tx, blobs);
}

Result<> remove_one(Tx& tx, Kind kind, CuratedId id) {
  TRY(remove_research_of(tx, kind, id));
  TRY(tx.exec(kRemove, id));
  return {};
}

}  // namespace

Result<> remove_research_of(Tx& tx, Kind kind, CuratedId id) {
  if (kind == Kind::Episode) {
    TRY(tx.exec(kEndLeases, id));
    TRY(tx.exec(kForgetSet, id));
    TRY(tx.exec(kOffsetsOfEpisode, id));
    TRY(tx.exec(kResultsOfEpisode, id));
  } else {
    TRY(tx.exec(kUncount, id));
    TRY(tx.exec(kOffsetsOfClip, id));
    TRY(tx.exec(kResultsOfClip, id));
  }
  TRY(tx.exec(kUnsettle, id));
  return remove_fingerprints(tx, id);
}

Result<> remove_curated(Tx& tx, Kind kind, CuratedId id) {
  TRY(lock_pool(tx));
  TRY(load_curated(tx, kind, id));
  return remove_one(tx, kind, id);
}

Result<bool> remove_curated_of_job(Tx& tx, tree::JobId job) {
  TRY(lock_pool(tx));
  TRY_ASSIGN(const Rows rows, tx.query(kOfJob, job, kCuratedRemovedAtOnce));
  for (const Row row : rows) {
    TRY(remove_one(tx, static_cast<Kind>(row.get<int>(1)), row.get<CuratedId>(0)));
  }
  return rows.empty();
}

}  // namespace quern::research
