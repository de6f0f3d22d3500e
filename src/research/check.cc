#include "research/check.h"

#include <fmt/format.h>

#include <limits>
#include <map>

#include "research/episode_set.h"
#include "research/lease.h"
#include "research/pool.h"

namespace quern::research {
namespace {

using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr std::size_t kProblemsMax = 1000;

// Of those that are ready: whether the file is there, and has the bytes that they say. A job that
// is being deleted is half there on purpose.
constexpr Sql kMedia{
    "SELECT c.id, c.kind, c.media, c.number, c.sha256, c.bytes, b.sha256, b.bytes, c.settled"
    " FROM curated AS c LEFT JOIN file AS f ON f.id = c.file LEFT JOIN blob AS b ON b.id = f.blob"
    " LEFT JOIN job AS j ON j.id = c.job WHERE c.id > $1 AND NOT coalesce(j.deleting, $3)"
    " ORDER BY c.id LIMIT $2"};
constexpr Sql kLeases{"SELECT id, episode, clips FROM research_lease WHERE expires_us > $1"};
constexpr Sql kNextEpisode{
    "SELECT e.episode, e.algorithm, e.researched, e.results, e.found, e.failed,"
    " coalesce(c.settled, -1) FROM research_episode AS e"
    " LEFT JOIN curated AS c ON c.id = e.episode AND c.kind = 1"
    " WHERE e.episode > $1 ORDER BY e.episode LIMIT 1"};
constexpr Sql kCounted{
    "SELECT count(*), CAST(coalesce(sum(CASE WHEN n_found > 0 THEN 1 ELSE 0 END), 0) AS BIGINT),"
    " CAST(coalesce(sum(CASE WHEN error <> '' THEN 1 ELSE 0 END), 0) AS BIGINT),"
    " CAST(coalesce(sum(n_found), 0) AS BIGINT) FROM research_result WHERE episode = $1"};
constexpr Sql kOffsets{"SELECT count(*) FROM research_offset WHERE episode = $1"};
constexpr Sql kNoClip{
    "SELECT count(*) FROM research_result AS r WHERE r.episode = $1 AND NOT EXISTS"
    " (SELECT 1 FROM curated AS c WHERE c.id = r.clip AND c.kind = 2)"};
// Results that say the pair is done.
constexpr Sql kDone{
    "SELECT r.clip, r.number FROM research_result AS r JOIN curated AS c ON c.id = r.clip"
    " WHERE r.episode = $1 AND r.algorithm >= $2 AND r.number = c.number LIMIT $3"};
constexpr Sql kReadyClips{
    "SELECT id, number FROM curated WHERE kind = 2 AND media = 2 AND id > $1 ORDER BY id LIMIT $2"};
constexpr Sql kBetween{
    "SELECT episode FROM research_result WHERE episode > $1 AND episode < $2 ORDER BY episode"
    " LIMIT 1"};

class Check {
 public:
  explicit Check(store::Readers& readers) : readers_(readers) {}

  Result<std::vector<std::string>> run() {
    TRY(check_media());
    TRY(readers_.run([this](Tx& tx) { return check_leases(tx); }));
    TRY(check_episodes());
    return std::move(problems_);
  }

 private:
  void say(std::string problem) {
    if (problems_.size() < kProblemsMax) problems_.push_back(std::move(problem));
  }

  Result<> check_media() {
    CuratedId after = 0;
    while (true) {
      auto page = [&after](Tx& tx) { return tx.query(kMedia, after, kCuratedCheckedAtOnce, true); };
      TRY_ASSIGN(const Rows rows, readers_.run(page));
      if (rows.empty()) return {};
      for (const Row row : rows) {
        check_one(row);
        after = row.get<CuratedId>(0);
      }
    }
  }

  void check_one(const Row& row) {
    const auto id = row.get<CuratedId>(0);
    const auto kind = static_cast<Kind>(row.get<int>(1));
    const std::string name = fmt::format("{} {}", to_string(kind), id);
    const bool is_ready = static_cast<MediaState>(row.get<int>(2)) == MediaState::Ready;
    const bool needs_number = is_ready && kind == Kind::Clip;
    if (needs_number != !row.is_null(3)) say(name + ": it has a number or lacks one");
    if (!is_ready) return;
    if (row.is_null(6)) return say(name + ": the file of its media is gone");
    const std::string digest = row.get<std::string>(6);
    std::string hex;
    for (const char byte : digest) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    if (hex != row.get<std::string>(4) || row.get<std::int64_t>(5) != row.get<std::int64_t>(7)) {
      say(name + ": its media is not the one that it names");
    }
  }

  // No pair is under two leases.
  Result<bool> check_leases(Tx& tx) {
    TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
    TRY_ASSIGN(const Pool pool, load_pool(tx));
    TRY_ASSIGN(const Rows rows, tx.query(kLeases, now_us));
    std::map<CuratedId, ClipSet> leased;
    for (const Row row : rows) {
      const auto id = row.get<std::string>(0);
      const Result<ClipSet> clips = ClipSet::decode(row.get<std::string>(2));
      if (!clips.ok()) {
        say(fmt::format("lease {}: {}", id, clips.error().message()));
        continue;
      }
      if (clips->last() >= pool.next_number) say(fmt::format("lease {}: a clip has no number", id));
      ClipSet& of_episode = leased[row.get<CuratedId>(1)];
      const std::int64_t before = of_episode.size();
      of_episode.add_all(*clips);
      if (of_episode.size() != before + clips->size()) {
        say(fmt::format("lease {}: another lease has some of its clips", id));
      }
    }
    return true;
  }

  Result<> check_episodes() {
    CuratedId after = 0;
    bool more = true;
    while (more) {
      auto next = [this, &after](Tx& tx) { return check_episode(tx, after); };
      TRY_ASSIGN(more, readers_.run(next));
    }
    return {};
  }

  Result<bool> check_episode(Tx& tx, CuratedId& after) {
    TRY_ASSIGN(const Rows rows, tx.query(kNextEpisode, after));
    const bool is_end = rows.empty();
    const CuratedId before = after;
    after = is_end ? std::numeric_limits<CuratedId>::max() : rows[0].get<CuratedId>(0);
    TRY_ASSIGN(const auto homeless, tx.find_value<CuratedId>(kBetween, before, after));
    if (homeless) say(fmt::format("episode {}: it has results, but no set", *homeless));
    if (is_end) return false;
    const Row row = rows[0];
    const std::string name = fmt::format("episode {}", after);
    if (row.get<std::int64_t>(6) < 0) say(name + ": it is gone, but what was researched is not");
    TRY(check_sums(tx, row, name));
    const Result<ClipSet> set = ClipSet::decode(row.get<std::string>(2));
    if (!set.ok()) {
      say(name + ": " + set.error().message());
      return true;
    }
    TRY_ASSIGN(const Pool pool, load_pool(tx));
    if (set->last() >= pool.next_number) say(name + ": a clip was researched that has no number");
    if (row.get<std::int64_t>(1) != pool.algorithm) return true;  // it counts as empty
    TRY(check_done(tx, after, *set, pool.algorithm));
    if (row.get<std::int64_t>(6) == pool.generation) TRY(check_settled(tx, after, *set));
    return true;
  }

  Result<> check_sums(Tx& tx, const Row& row, const std::string& name) {
    TRY_ASSIGN(const Rows sums, tx.query(kCounted, after_of(row)));
    for (std::size_t i = 0; i < 3; ++i) {
      if (sums[0].get<std::int64_t>(i) == row.get<std::int64_t>(3 + i)) continue;
      say(name + ": its sums are not those of its results");
      break;
    }
    TRY_ASSIGN(const auto offsets, tx.value<std::int64_t>(kOffsets, after_of(row)));
    if (offsets != sums[0].get<std::int64_t>(3)) say(name + ": its results miss offsets");
    TRY_ASSIGN(const auto strays, tx.value<std::int64_t>(kNoClip, after_of(row)));
    if (strays > 0) say(fmt::format("{}: {} results are of no clip", name, strays));
    return {};
  }
  static CuratedId after_of(const Row& row) { return row.get<CuratedId>(0); }

  // What has a result is not researched again.
  Result<> check_done(Tx& tx, CuratedId episode, const ClipSet& set, std::int64_t algorithm) {
    TRY_ASSIGN(const Rows rows, tx.query(kDone, episode, algorithm, kResultsCheckedAtOnce));
    for (const Row row : rows) {
      if (set.contains(row.get<std::int64_t>(1))) continue;
      say(fmt::format("episode {}: clip {} has a result, but counts as open", episode,
                      row.get<CuratedId>(0)));
    }
    return {};
  }

  // What is passed over has nothing open.
  Result<> check_settled(Tx& tx, CuratedId episode, const ClipSet& set) {
    CuratedId after = 0;
    while (true) {
      TRY_ASSIGN(const Rows rows, tx.query(kReadyClips, after, kResultsCheckedAtOnce));
      for (const Row row : rows) {
        after = row.get<CuratedId>(0);
        if (set.contains(row.get<std::int64_t>(1))) continue;
        say(fmt::format("episode {}: clip {} is open, but nobody looks", episode, after));
      }
      if (static_cast<std::int64_t>(rows.size()) < kResultsCheckedAtOnce) return {};
    }
  }

  store::Readers& readers_;
  std::vector<std::string> problems_;
};

}  // namespace

Result<std::vector<std::string>> check_research(store::Readers& readers) {
  return Check(readers).run();
}

}  // namespace quern::research
