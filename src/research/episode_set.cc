#include "research/episode_set.h"

#include "research/pool.h"

namespace quern::research {
namespace {

using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr Sql kLoad{
    "SELECT algorithm, researched, results, found, failed FROM research_episode WHERE episode = "
    "$1"};
constexpr Sql kLock{
    "SELECT algorithm, researched, results, found, failed FROM research_episode WHERE episode = $1",
    "SELECT algorithm, researched, results, found, failed FROM research_episode WHERE episode = $1"
    " FOR UPDATE"};
constexpr Sql kMake{
    "INSERT INTO research_episode (episode, algorithm, researched, results, found, failed)"
    " VALUES ($1, 0, $2, 0, 0, 0) ON CONFLICT (episode) DO NOTHING"};
constexpr Sql kStore{
    "UPDATE research_episode SET algorithm = $2, researched = $3, results = $4, found = $5,"
    " failed = $6 WHERE episode = $1"};

// The pool is read after the set: its version only ever rises, so it is never older than the set's.
Result<EpisodeSet> set_of(Tx& tx, const Rows& rows) {
  TRY_ASSIGN(const Pool pool, load_pool(tx));
  EpisodeSet set;
  set.algorithm = pool.algorithm;
  if (rows.empty()) return set;
  const Row row = rows[0];
  if (row.get<std::int64_t>(0) == pool.algorithm) {
    TRY_ASSIGN(set.researched, ClipSet::decode(row.get<std::string>(1)));
  }
  set.results = row.get<std::int64_t>(2);
  set.found = row.get<std::int64_t>(3);
  set.failed = row.get<std::int64_t>(4);
  return set;
}

}  // namespace

Result<EpisodeSet> load_episode_set(Tx& tx, CuratedId episode) {
  TRY_ASSIGN(const Rows rows, tx.query(kLoad, episode));
  return set_of(tx, rows);
}

Result<EpisodeSet> lock_episode_set(Tx& tx, CuratedId episode) {
  TRY(tx.exec(kMake, episode, as_blob({})));
  TRY_ASSIGN(const Rows rows, tx.query(kLock, episode));
  return set_of(tx, rows);
}

Result<> store_episode_set(Tx& tx, CuratedId episode, const EpisodeSet& set) {
  const std::string bytes = set.researched.encode();
  TRY(tx.exec(kStore, episode, set.algorithm, as_blob(bytes), set.results, set.found, set.failed));
  return {};
}

store::Bytes as_blob(const std::string& bytes) {
  return std::as_bytes(std::span(bytes));
}

}  // namespace quern::research
