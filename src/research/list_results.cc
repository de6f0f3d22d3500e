// Results, as they are read.
#include <algorithm>
#include <map>

#include "research/result.h"

namespace quern::research {
namespace {

using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

// How many offsets one answer holds; the rest of a pair that has more is left out.
constexpr std::int64_t kOffsetsListedMax = 200'000;

#define QUERN_RESULTS                                                                       \
  "SELECT r.episode, r.clip, e.title, c.title, r.date_us, r.algorithm, r.error, r.n_found," \
  " r.clip_duration_ns"                                                                     \
  " FROM research_result AS r JOIN curated AS e ON e.id = r.episode"                        \
  " JOIN curated AS c ON c.id = r.clip LEFT JOIN collection AS n ON n.id = e.collection"    \
  " WHERE (r.episode, r.clip) > ($1, $2) AND ($3 = '' OR n.name = $3) AND ($4 OR r.n_found > 0)"
#define QUERN_RESULTS_ORDER " ORDER BY r.episode, r.clip LIMIT $5"

constexpr Sql kAll{QUERN_RESULTS QUERN_RESULTS_ORDER};
constexpr Sql kOfEpisode{QUERN_RESULTS " AND r.episode = $6" QUERN_RESULTS_ORDER};
constexpr Sql kOfClip{QUERN_RESULTS " AND r.clip = $6" QUERN_RESULTS_ORDER};
// Written out, so that the index of what failed is used.
#define QUERN_FAILED " AND r.error <> ''"
constexpr Sql kAllFailed{QUERN_RESULTS QUERN_FAILED QUERN_RESULTS_ORDER};
constexpr Sql kOfEpisodeFailed{QUERN_RESULTS QUERN_FAILED
                               " AND r.episode = $6" QUERN_RESULTS_ORDER};
constexpr Sql kOfClipFailed{QUERN_RESULTS QUERN_FAILED " AND r.clip = $6" QUERN_RESULTS_ORDER};
#undef QUERN_FAILED
constexpr Sql kOfPair{QUERN_RESULTS " AND r.episode = $6 AND r.clip = $7" QUERN_RESULTS_ORDER};
#undef QUERN_RESULTS
#undef QUERN_RESULTS_ORDER

constexpr Sql kOffsets{
    "SELECT offset_ns, score FROM research_offset WHERE episode = $1 AND clip = $2"
    " ORDER BY offset_ns LIMIT $3"};

constexpr Sql kCounts{
    "SELECT episode, found FROM research_episode"
    " WHERE episode >= $1 AND episode <= $2 AND found > 0 ORDER BY episode LIMIT $3"};

constexpr Sql kResearchedOfEpisode{"SELECT results FROM research_episode WHERE episode = $1"};
constexpr Sql kResearchedOfClip{"SELECT count(*) FROM research_result WHERE clip = $1"};

Result<Rows> query(Tx& tx, const ResultFilter& filter) {
  const auto& [episode, clip] = filter.after;
  const bool all = !filter.found_only;
  const std::size_t limit = std::min(filter.limit, kResultsListedMax);
  if (filter.episode && filter.clip) {
    return tx.query(kOfPair, episode, clip, filter.collection, all, limit, *filter.episode,
                    *filter.clip);
  }
  if (filter.episode) {
    const Sql& sql = filter.failed_only ? kOfEpisodeFailed : kOfEpisode;
    return tx.query(sql, episode, clip, filter.collection, all, limit, *filter.episode);
  }
  if (filter.clip) {
    const Sql& sql = filter.failed_only ? kOfClipFailed : kOfClip;
    return tx.query(sql, episode, clip, filter.collection, all, limit, *filter.clip);
  }
  const Sql& sql = filter.failed_only ? kAllFailed : kAll;
  return tx.query(sql, episode, clip, filter.collection, all, limit);
}

}  // namespace

Result<std::vector<ResultRow>> list_results(Tx& tx, const ResultFilter& filter) {
  TRY_ASSIGN(const Rows rows, query(tx, filter));
  std::vector<ResultRow> results;
  std::int64_t room = kOffsetsListedMax;
  for (const Row row : rows) {
    ResultRow result;
    result.episode = row.get<CuratedId>(0);
    result.clip = row.get<CuratedId>(1);
    result.episode_title = row.get<std::string>(2);
    result.clip_title = row.get<std::string>(3);
    result.date_us = row.get<std::int64_t>(4);
    result.algorithm = row.get<std::int64_t>(5);
    result.error = row.get<std::string>(6);
    result.clip_duration_ns = row.get<std::int64_t>(8);
    if (row.get<std::int64_t>(7) > 0) {
      TRY_ASSIGN(const Rows offsets, tx.query(kOffsets, result.episode, result.clip, room));
      for (const Row offset : offsets) {
        result.found.push_back({offset.get<std::int64_t>(0), offset.get<double>(1)});
      }
      room -= std::ssize(result.found);
    }
    results.push_back(std::move(result));
    if (room <= 0) break;  // the next page goes on behind it
  }
  return results;
}

Result<std::int64_t> count_researched(Tx& tx, Kind kind, CuratedId id) {
  const Sql& sql = kind == Kind::Episode ? kResearchedOfEpisode : kResearchedOfClip;
  TRY_ASSIGN(const Rows rows, tx.query(sql, id));
  return rows.empty() ? 0 : rows[0].get<std::int64_t>(0);
}

Result<std::map<CuratedId, std::int64_t>> count_found(Tx& tx, CuratedId first, CuratedId last) {
  TRY_ASSIGN(const Rows rows, tx.query(kCounts, first, last, kFoundCountedMax));
  std::map<CuratedId, std::int64_t> counts;
  for (const Row row : rows) counts[row.get<CuratedId>(0)] = row.get<std::int64_t>(1);
  return counts;
}

}  // namespace quern::research
