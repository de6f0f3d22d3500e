// The assigner: how many items there should be, which pairs go into the next one.
#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <map>

#include "base/check.h"
#include "base/crash.h"
#include "research/episode_set.h"
#include "research/lease.h"
#include "research/pool.h"

namespace quern::research {
namespace {

namespace json = boost::json;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr std::int64_t kEpisodesAtOnce = 64;
constexpr std::int64_t kClipsAtOnce = 1000;
constexpr std::int64_t kForgetMs = 24LL * 3600 * 1000;

constexpr Sql kLapse{
    "DELETE FROM research_lease WHERE expires_us <= $1 OR (taken_us IS NULL AND offered_us <= $1)"};
constexpr Sql kForget{"DELETE FROM research_researcher WHERE asked_us <= $1"};
constexpr Sql kForgetOldest{
    "DELETE FROM research_researcher WHERE name IN (SELECT name FROM research_researcher"
    " ORDER BY asked_us DESC, name LIMIT -1 OFFSET $1)",
    "DELETE FROM research_researcher WHERE name IN (SELECT name FROM research_researcher"
    " ORDER BY asked_us DESC, name OFFSET $1)"};
constexpr Sql kResearchers{
    "SELECT count(*) FROM (SELECT name FROM research_researcher WHERE asked_us > $1"
    " UNION SELECT researcher FROM research_lease WHERE taken_us IS NOT NULL AND expires_us > $2)"
    " AS r"};
constexpr Sql kWaiting{
    "SELECT count(*) FROM research_lease WHERE taken_us IS NULL AND offered_us > $1"
    " AND expires_us > $1"};
constexpr Sql kTaken{
    "SELECT count(*) FROM research_lease WHERE taken_us IS NOT NULL AND expires_us > $1"};
constexpr Sql kLeased{
    "SELECT episode, clips, created_us FROM research_lease WHERE expires_us > $1"};
// In the order in which episodes are chosen, from behind one. Settled ones are passed over within
// the index.
#define QUERN_CANDIDATES                                                              \
  "SELECT c.id, c.priority, c.initial_us, e.algorithm, e.researched FROM (SELECT id," \
  " priority, initial_us FROM curated WHERE kind = 1 AND media = 2 AND settled < $1"
#define QUERN_CANDIDATES_ORDER                                       \
  " ORDER BY priority DESC, initial_us DESC, id DESC LIMIT $2) AS c" \
  " LEFT JOIN research_episode AS e ON e.episode = c.id"             \
  " ORDER BY c.priority DESC, c.initial_us DESC, c.id DESC"
constexpr Sql kFirstCandidates{QUERN_CANDIDATES QUERN_CANDIDATES_ORDER};
constexpr Sql kNextCandidates{
    QUERN_CANDIDATES " AND (priority, initial_us, id) < ($3, $4, $5)" QUERN_CANDIDATES_ORDER};
#undef QUERN_CANDIDATES
#undef QUERN_CANDIDATES_ORDER
constexpr Sql kFirstClips{
    "SELECT id, priority, initial_us, number FROM curated WHERE kind = 2 AND media = 2"
    " ORDER BY priority DESC, initial_us DESC, id DESC LIMIT $1"};
constexpr Sql kNextClips{
    "SELECT id, priority, initial_us, number FROM curated WHERE kind = 2 AND media = 2"
    " AND (priority, initial_us, id) < ($2, $3, $4)"
    " ORDER BY priority DESC, initial_us DESC, id DESC LIMIT $1"};
constexpr Sql kSettle{"UPDATE curated SET settled = $2 WHERE id = $1"};
constexpr Sql kLease{
    "INSERT INTO research_lease (id, episode, clips, chosen, created_us, offered_us, expires_us)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7)"};
constexpr Sql kReady{"SELECT count(*) FROM curated WHERE kind = $1 AND media = 2"};
constexpr Sql kMedia{"SELECT count(*) FROM curated WHERE media = $1"};
constexpr Sql kUnsettled{
    "SELECT 1 FROM curated WHERE kind = 1 AND media = 2 AND settled < $1 LIMIT 1"};
constexpr Sql kSums{
    "SELECT CAST(coalesce(sum(results), 0) AS BIGINT), CAST(coalesce(sum(found), 0) AS BIGINT),"
    " CAST(coalesce(sum(failed), 0) AS BIGINT) FROM research_episode"};
constexpr Sql kDead{"SELECT count(*) FROM research_refused WHERE tries >= $1"};

// Of version 4: all bits but six are random.
std::string random_uuid() {
  std::array<unsigned char, 16> bits{};
  CHECK(::getrandom(bits.data(), bits.size(), 0) == static_cast<ssize_t>(bits.size()));
  bits[6] = static_cast<unsigned char>((bits[6] & 0x0f) | 0x40);
  bits[8] = static_cast<unsigned char>((bits[8] & 0x3f) | 0x80);
  std::string text;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", bits[i]);
  }
  return text;
}

struct Place {
  std::int64_t priority = 0;
  std::int64_t initial_us = 0;
  CuratedId id = 0;
};
Place place_of(const Row& row) {
  return {row.get<std::int64_t>(1), row.get<std::int64_t>(2), row.get<CuratedId>(0)};
}

// The clips that are ready, in the order in which they are chosen; read as far as they are needed.
class ClipOrder {
 public:
  struct Clip {
    CuratedId id = 0;
    std::int64_t number = 0;
  };

  explicit ClipOrder(Tx& tx) : tx_(tx) {}

  // Null behind the last one.
  Result<const Clip*> at(std::size_t index) {
    if (index >= clips_.size() && !ended_) TRY(read_more());
    return index < clips_.size() ? &clips_[index] : nullptr;
  }

 private:
  Result<> read_more() {
    TRY_ASSIGN(const Rows rows, clips_.empty() ? tx_.query(kFirstClips, kClipsAtOnce)
                                               : tx_.query(kNextClips, kClipsAtOnce, last_.priority,
                                                           last_.initial_us, last_.id));
    for (const Row row : rows) {
      last_ = place_of(row);
      clips_.push_back({row.get<CuratedId>(0), row.get<std::int64_t>(3)});
    }
    ended_ = static_cast<std::int64_t>(rows.size()) < kClipsAtOnce;
    return {};
  }

  Tx& tx_;
  std::vector<Clip> clips_;
  Place last_;
  bool ended_ = false;
};

struct Counts {
  std::int64_t researchers = 0;
  std::int64_t waiting = 0;
};
Result<Counts> count(Tx& tx, const Options& options, std::int64_t now_us) {
  Counts counts;
  const std::int64_t since_us = now_us - options.researcher_ms * 1000;
  TRY_ASSIGN(counts.researchers, tx.value<std::int64_t>(kResearchers, since_us, now_us));
  TRY_ASSIGN(counts.waiting, tx.value<std::int64_t>(kWaiting, now_us));
  return counts;
}

// One run, within one transaction that holds the pool.
class Assigner {
 public:
  Assigner(Tx& tx, const Options& options) : tx_(tx), options_(options), order_(tx) {}

  Result<Assigned> run() {
    TRY_ASSIGN(pool_, lock_pool(tx_));
    TRY_ASSIGN(now_us_, tx_.now_us());
    TRY(tidy());
    TRY_ASSIGN(Counts counts, count(tx_, options_, now_us_));
    if (!wants_more(counts.researchers, counts.waiting)) return assigned_;
    TRY(read_leases());
    TRY_ASSIGN(const auto* first, order_.at(0));
    if (first == nullptr) {
      assigned_.nothing_open = true;
      return assigned_;
    }
    while (wants_more(counts.researchers, counts.waiting)) {
      TRY_ASSIGN(const bool added, add_item());
      if (!added) break;
      ++counts.waiting;
      ++assigned_.added;
    }
    return assigned_;
  }

 private:
  struct Candidate {
    Place place;
    ClipSet researched;
  };
  struct Choice {
    std::vector<CuratedId> ids;
    ClipSet numbers;
    bool is_complete = true;  // each clip has been researched
  };

  Result<> tidy() {
    TRY(tx_.exec(kLapse, now_us_));
    TRY(tx_.exec(kForget, now_us_ - kForgetMs * 1000));
    TRY(tx_.exec(kForgetOldest, kResearchersMax));
    return {};
  }

  // Before any set: see the header.
  Result<> read_leases() {
    created_us_ = now_us_;
    TRY_ASSIGN(const Rows rows, tx_.query(kLeased, now_us_));
    for (const Row row : rows) {
      TRY_ASSIGN(const ClipSet clips, ClipSet::decode(row.get<std::string>(1)));
      leased_[row.get<CuratedId>(0)].add_all(clips);
      created_us_ = std::max(created_us_, row.get<std::int64_t>(2) + 1);
    }
    return {};
  }

  // Of the first episode that has something open. False where there is none, or enough were looked
  // at for one transaction.
  Result<bool> add_item() {
    while (true) {
      if (next_ == candidates_.size()) {
        TRY(read_candidates());
        if (candidates_.empty()) {
          assigned_.nothing_open = true;
          return false;
        }
      }
      const Candidate& candidate = candidates_[next_];
      TRY_ASSIGN(const Choice choice, choose(candidate));
      if (!choice.ids.empty()) {
        TRY(lease(candidate.place.id, choice));
        return true;  // the next one may be of the same episode
      }
      ++next_;
      if (!choice.is_complete) continue;
      TRY(tx_.exec(kSettle, candidate.place.id, pool_.generation));
      if (++settled_ < kCandidatesPerRun) continue;
      assigned_.more = true;
      return false;
    }
  }

  Result<> read_candidates() {
    const bool is_first = candidates_.empty();
    const Place last = is_first ? Place{} : candidates_.back().place;
    TRY_ASSIGN(const Rows rows, is_first
                                    ? tx_.query(kFirstCandidates, pool_.generation, kEpisodesAtOnce)
                                    : tx_.query(kNextCandidates, pool_.generation, kEpisodesAtOnce,
                                                last.priority, last.initial_us, last.id));
    candidates_.clear();
    next_ = 0;
    for (const Row row : rows) {
      Candidate candidate{place_of(row), {}};
      if (!row.is_null(3) && row.get<std::int64_t>(3) == pool_.algorithm) {
        TRY_ASSIGN(candidate.researched, ClipSet::decode(row.get<std::string>(4)));
      }
      candidates_.push_back(std::move(candidate));
    }
    return {};
  }

  Result<Choice> choose(const Candidate& candidate) {
    Choice choice;
    const auto held = leased_.find(candidate.place.id);
    for (std::size_t i = 0; std::ssize(choice.ids) < options_.clips_per_item; ++i) {
      TRY_ASSIGN(const ClipOrder::Clip* clip, order_.at(i));
      if (clip == nullptr) break;
      if (candidate.researched.contains(clip->number)) continue;
      choice.is_complete = false;
      if (held != leased_.end() && held->second.contains(clip->number)) continue;
      choice.ids.push_back(clip->id);
      choice.numbers.add(clip->number);
    }
    return choice;
  }

  Result<> lease(CuratedId episode, const Choice& choice) {
    const json::array chosen(choice.ids.begin(), choice.ids.end());
    const std::string numbers = choice.numbers.encode();
    TRY(tx_.exec(kLease, random_uuid(), episode, as_blob(numbers), json::serialize(chosen),
                 created_us_++, now_us_ + options_.offer_ms * 1000,
                 now_us_ + options_.lease_ms * 1000));
    leased_[episode].add_all(choice.numbers);
    crash_point("research.assign.leased");
    return {};
  }

  Tx& tx_;
  const Options& options_;
  ClipOrder order_;
  Pool pool_;
  std::int64_t now_us_ = 0;
  std::int64_t created_us_ = 0;  // of the next lease: items are taken in the order of their making
  std::map<CuratedId, ClipSet> leased_;  // by episode
  std::vector<Candidate> candidates_;
  std::size_t next_ = 0;
  std::int64_t settled_ = 0;
  Assigned assigned_;
};

}  // namespace

bool wants_more(std::int64_t researchers, std::int64_t waiting) {
  if (researchers == 0) return waiting == 0;
  return researchers - waiting >= 0;
}

Result<Assigned> assign(Tx& tx, const Options& options) {
  CHECK(options.offer_ms < options.lease_ms);
  return Assigner(tx, options).run();
}

Result<ResearchStatus> load_status(Tx& tx, const Options& options) {
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY_ASSIGN(const Pool pool, load_pool(tx));
  TRY_ASSIGN(const Counts counts, count(tx, options, now_us));
  ResearchStatus status;
  status.researchers = counts.researchers;
  status.waiting = counts.waiting;
  TRY_ASSIGN(status.taken, tx.value<std::int64_t>(kTaken, now_us));
  TRY_ASSIGN(status.episodes, tx.value<std::int64_t>(kReady, static_cast<int>(Kind::Episode)));
  TRY_ASSIGN(status.clips, tx.value<std::int64_t>(kReady, static_cast<int>(Kind::Clip)));
  TRY_ASSIGN(const Rows sums, tx.query(kSums));
  status.results = sums[0].get<std::int64_t>(0);
  status.found = sums[0].get<std::int64_t>(1);
  status.failed = sums[0].get<std::int64_t>(2);
  TRY_ASSIGN(status.dead_letters, tx.value<std::int64_t>(kDead, kRefusedTries));
  TRY_ASSIGN(status.fetching,
             tx.value<std::int64_t>(kMedia, static_cast<int>(MediaState::Pending)));
  TRY_ASSIGN(status.media_failed,
             tx.value<std::int64_t>(kMedia, static_cast<int>(MediaState::Failed)));
  TRY_ASSIGN(const Rows unsettled, tx.query(kUnsettled, pool.generation));
  status.nothing_open = status.clips == 0 || unsettled.empty();
  status.idle =
      status.nothing_open && status.fetching == 0 && status.waiting == 0 && status.taken == 0;
  return status;
}

}  // namespace quern::research
