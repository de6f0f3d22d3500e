#include "research/result.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/crash.h"
#include "base/utf8.h"
#include "blob/digest.h"
#include "research/episode_set.h"
#include "research/pool.h"

namespace quern::research {
namespace {

using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr std::size_t kRefusedBytesKept = 2000;
constexpr std::size_t kSha256Digits = 64;

constexpr Sql kLockLease{
    "SELECT episode, clips, expires_us FROM research_lease WHERE id = $1",
    "SELECT episode, clips, expires_us FROM research_lease WHERE id = $1 FOR UPDATE"};
constexpr Sql kExtend{"UPDATE research_lease SET clips = $2, expires_us = $3 WHERE id = $1"};
constexpr Sql kRevoke{"DELETE FROM research_lease WHERE id = $1"};
constexpr Sql kBefore{
    "SELECT number, algorithm, error <> '', n_found FROM research_result"
    " WHERE episode = $1 AND clip = $2"};
constexpr Sql kStore{
    "INSERT INTO research_result (episode, clip, number, algorithm, date_us, lease,"
    " episode_duration_ns, clip_duration_ns, episode_hash, clip_hash, error, n_found)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
    " ON CONFLICT (episode, clip) DO UPDATE SET number = excluded.number,"
    " algorithm = excluded.algorithm, date_us = excluded.date_us, lease = excluded.lease,"
    " episode_duration_ns = excluded.episode_duration_ns,"
    " clip_duration_ns = excluded.clip_duration_ns, episode_hash = excluded.episode_hash,"
    " clip_hash = excluded.clip_hash, error = excluded.error, n_found = excluded.n_found"};
constexpr Sql kForgetOffsets{"DELETE FROM research_offset WHERE episode = $1 AND clip = $2"};
constexpr Sql kAddOffsets{
    "INSERT INTO research_offset (episode, clip, offset_ns, score) VALUES ($1, $2, $3, $4)",
    "INSERT INTO research_offset (episode, clip, offset_ns, score)"
    " SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::double precision[])"};
constexpr Sql kDuration{"UPDATE curated SET duration_ns = $2 WHERE id = $1 AND duration_ns <> $2"};
constexpr Sql kUnsettle{"UPDATE curated SET settled = 0 WHERE id = $1"};
constexpr Sql kFailed{
    "SELECT r.episode, r.clip, r.number FROM research_result AS r WHERE r.error <> ''"
    " AND ($1 = 0 OR r.episode = $1) AND ($2 = 0 OR r.clip = $2)"
    " ORDER BY r.episode, r.clip LIMIT $3"};
constexpr Sql kForget{"DELETE FROM research_result WHERE episode = $1 AND clip = $2"};

constexpr Sql kRefuse{
    "INSERT INTO research_refused (sha256, body, reason, tries, first_us, last_us)"
    " VALUES ($1, $2, $3, 1, $4, $4) ON CONFLICT (sha256) DO UPDATE"
    " SET tries = research_refused.tries + 1, reason = excluded.reason,"
    " last_us = excluded.last_us RETURNING tries"};
constexpr Sql kForgetRefused{
    "DELETE FROM research_refused WHERE id <= (SELECT max(id) FROM research_refused) - $1"};

struct HeldLease {
  bool is_there = false;
  bool is_live = false;  // and of this episode
  ClipSet clips;
};

Result<HeldLease> lock_lease(Tx& tx, const Report& report, std::int64_t now_us) {
  HeldLease lease;
  if (report.lease_id.empty()) return lease;
  TRY_ASSIGN(const Rows rows, tx.query(kLockLease, report.lease_id));
  if (rows.empty() || rows[0].get<CuratedId>(0) != report.episode) return lease;
  lease.is_there = true;
  lease.is_live = rows[0].get<std::int64_t>(2) > now_us;
  TRY_ASSIGN(lease.clips, ClipSet::decode(rows[0].get<std::string>(1)));
  return lease;
}

// A hash that can be compared, of bytes that have been replaced since.
bool is_of_others(const std::string& hash, const Curated& curated) {
  const bool is_sha256 = hash.size() == kSha256Digits &&
                         hash.find_first_not_of("0123456789abcdef") == std::string::npos;
  return is_sha256 && !curated.sha256.empty() && hash != curated.sha256;
}

struct Pair {
  Curated episode;
  Curated clip;
  std::int64_t algorithm = 0;  // of the report
  std::int64_t now_us = 0;
};

// What stands of the pair already.
struct Before {
  bool is_there = false;
  std::int64_t number = 0;
  std::int64_t algorithm = 0;
  bool failed = false;
  std::int64_t found = 0;
};

Result<Before> load_before(Tx& tx, const Pair& pair) {
  TRY_ASSIGN(const Rows rows, tx.query(kBefore, pair.episode.id, pair.clip.id));
  if (rows.empty()) return Before{};
  const Row row = rows[0];
  return Before{true, row.get<std::int64_t>(0), row.get<std::int64_t>(1), row.get<bool>(2),
                row.get<std::int64_t>(3)};
}

bool replaces(const Report& report, const Pair& pair, const Before& before) {
  if (!before.is_there || before.number != pair.clip.number) return true;
  if (pair.algorithm != before.algorithm) return pair.algorithm > before.algorithm;
  return before.failed && report.error.empty();
}

Result<> write_result(Tx& tx, const Report& report, const Pair& pair) {
  const CuratedId episode = pair.episode.id;
  const CuratedId clip = pair.clip.id;
  TRY(tx.exec(kForgetOffsets, episode, clip));
  TRY(tx.exec(kStore, episode, clip, pair.clip.number, pair.algorithm, pair.now_us, report.lease_id,
              report.episode_duration_ns, report.clip_duration_ns, report.episode_hash,
              report.clip_hash, report.error, report.found.size()));
  store::Bulk offsets;
  for (const Finding& finding : report.found) {
    offsets.add(episode, clip, finding.offset_ns, finding.score);
  }
  TRY(tx.bulk(kAddOffsets, offsets));
  return {};
}

Result<> note_durations(Tx& tx, const Report& report, const Pair& pair) {
  if (report.episode_duration_ns > 0) {
    TRY(tx.exec(kDuration, pair.episode.id, report.episode_duration_ns));
  }
  if (report.clip_duration_ns > 0) TRY(tx.exec(kDuration, pair.clip.id, report.clip_duration_ns));
  return {};
}

// Whether it is stored now and was not before.
Result<bool> store_result(Tx& tx, const Report& report, Pair pair) {
  const bool is_old = (report.clip_number != 0 && report.clip_number != pair.clip.number) ||
                      is_of_others(report.episode_hash, pair.episode) ||
                      is_of_others(report.clip_hash, pair.clip);
  if (is_old) return false;
  TRY_ASSIGN(EpisodeSet set, lock_episode_set(tx, pair.episode.id));
  pair.algorithm = report.algorithm == 0 ? set.algorithm : report.algorithm;
  TRY_ASSIGN(const Before before, load_before(tx, pair));
  const bool is_new = replaces(report, pair, before);
  if (is_new) {
    TRY(write_result(tx, report, pair));
    if (!before.is_there) ++set.results;
    set.found += (report.found.empty() ? 0 : 1) - (before.found > 0 ? 1 : 0);
    set.failed += (report.error.empty() ? 0 : 1) - (before.failed ? 1 : 0);
  }
  // One of an older algorithm is worth keeping, but the pair stays open.
  const bool counts = pair.algorithm >= set.algorithm && pair.clip.number != 0;
  const bool is_done = counts && set.researched.add(pair.clip.number);
  if (is_new || is_done) TRY(store_episode_set(tx, pair.episode.id, set));
  crash_point("research.report.stored");
  if (is_new) TRY(note_durations(tx, report, pair));
  return is_new;
}

Result<> end_or_extend(Tx& tx, const Report& report, HeldLease lease, std::int64_t clip_number,
                       std::int64_t expires_us) {
  if (report.final) {
    TRY(tx.exec(kRevoke, report.lease_id));
    return {};
  }
  if (!lease.is_live) return {};
  if (clip_number != 0) lease.clips.remove(clip_number);
  const std::string clips = lease.clips.encode();
  TRY(tx.exec(kExtend, report.lease_id, as_blob(clips), expires_us));
  return {};
}

}  // namespace

Result<Reported> report(Tx& tx, const Report& report, const Options& options) {
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY_ASSIGN(const HeldLease lease, lock_lease(tx, report, now_us));
  Pair pair;
  pair.now_us = now_us;
  TRY_ASSIGN(pair.episode, load_curated(tx, Kind::Episode, report.episode));
  if (report.clip) {
    TRY_ASSIGN(pair.clip, load_curated(tx, Kind::Clip, *report.clip));
  }
  Reported reported;
  if (report.clip) {
    TRY_ASSIGN(reported.stored, store_result(tx, report, pair));
  }
  if (!lease.is_there) return reported;
  reported.revoked = report.final && lease.is_live;
  reported.extended = !report.final && lease.is_live;
  const std::int64_t expires_us = now_us + options.lease_ms * 1000;
  if (reported.extended) reported.expires_us = expires_us;
  TRY(end_or_extend(tx, report, lease, pair.clip.number, expires_us));
  crash_point("research.report.done");
  return reported;
}

Result<bool> refuse(Tx& tx, std::string_view body, const std::string& reason) {
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  std::string beginning = valid_utf8(body.substr(0, kRefusedBytesKept));
  std::erase(beginning, '\0');
  const std::string sha256 = blob::hex_of(blob::sha256_of(body));
  TRY_ASSIGN(const auto tries, tx.value<std::int64_t>(kRefuse, sha256, beginning, reason, now_us));
  if (tries == 1) TRY(tx.exec(kForgetRefused, kRefusedMax));
  return tries >= kRefusedTries;
}

Result<std::int64_t> retry_failed(Tx& tx, const ResultFilter& filter) {
  TRY(lock_pool(tx));
  TRY_ASSIGN(const Rows rows, tx.query(kFailed, filter.episode.value_or(0), filter.clip.value_or(0),
                                       kRetriedAtOnce));
  for (const Row row : rows) {
    const auto episode = row.get<CuratedId>(0);
    TRY_ASSIGN(EpisodeSet set, lock_episode_set(tx, episode));
    set.researched.remove(row.get<std::int64_t>(2));
    --set.results;
    --set.failed;
    TRY(store_episode_set(tx, episode, set));
    TRY(tx.exec(kForget, episode, row.get<CuratedId>(1)));
    TRY(tx.exec(kUnsettle, episode));
  }
  return static_cast<std::int64_t>(rows.size());
}

}  // namespace quern::research
