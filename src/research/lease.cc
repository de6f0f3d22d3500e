#include "research/lease.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

#include "base/crash.h"
#include "base/utf8.h"
#include "research/episode_set.h"
#include "research/pool.h"

namespace quern::research {
namespace {

namespace json = boost::json;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

// Items whose clips are all gone or done are passed over, so many at most.
constexpr int kEmptyItemsMax = 100;

constexpr Sql kOldest{
    "SELECT id, episode, clips, chosen FROM research_lease WHERE taken_us IS NULL"
    " AND offered_us > $1 AND expires_us > $1 ORDER BY created_us, id LIMIT 1",
    "SELECT id, episode, clips, chosen FROM research_lease WHERE taken_us IS NULL"
    " AND offered_us > $1 AND expires_us > $1 ORDER BY created_us, id LIMIT 1"
    " FOR UPDATE SKIP LOCKED"};
constexpr Sql kTake{
    "UPDATE research_lease SET researcher = $2, taken_us = $3, expires_us = $4 WHERE id = $1"};
constexpr Sql kDrop{"DELETE FROM research_lease WHERE id = $1"};
constexpr Sql kNote{
    "INSERT INTO research_researcher (name, asked_us) VALUES ($1, $2)"
    " ON CONFLICT (name) DO UPDATE SET asked_us = excluded.asked_us"
    " WHERE research_researcher.asked_us < excluded.asked_us"};
constexpr Sql kWaiting{
    "SELECT 1 FROM research_lease WHERE taken_us IS NULL AND offered_us > $1 AND expires_us > $1"
    " LIMIT 1"};
constexpr Sql kRaise{
    "UPDATE research_pool SET algorithm = $1, generation = generation + 1"
    " WHERE id = 1 AND algorithm < $1"};

Result<std::vector<CuratedId>> parse_chosen(const std::string& text) {
  boost::system::error_code failed;
  const json::value value = json::parse(text, failed);
  if (failed || !value.is_array()) return Error{Errc::Corrupt, "the clips of a lease are no list"};
  std::vector<CuratedId> ids;
  for (const json::value& id : value.get_array()) {
    if (!id.is_int64()) return Error{Errc::Corrupt, "the clips of a lease are no numbers"};
    ids.push_back(id.get_int64());
  }
  return ids;
}

// What is still to be done of it: a clip may have gone, changed or been reported since.
Result<> load_item(Tx& tx, const std::vector<CuratedId>& chosen, const ClipSet& leased,
                   WorkItem& item) {
  Result<Curated> episode = load_curated(tx, Kind::Episode, item.lease.episode);
  if (!episode.ok() && episode.error().kind() == Errc::Missing) return {};
  if (!episode.ok()) return std::move(episode).error();
  item.episode = *std::move(episode);
  if (item.episode.media != MediaState::Ready) return {};
  TRY_ASSIGN(const EpisodeSet set, load_episode_set(tx, item.lease.episode));
  for (const CuratedId id : chosen) {
    Result<Curated> clip = load_curated(tx, Kind::Clip, id);
    if (!clip.ok() && clip.error().kind() == Errc::Missing) continue;
    if (!clip.ok()) return std::move(clip).error();
    const bool is_open = clip->media == MediaState::Ready && leased.contains(clip->number) &&
                         !set.researched.contains(clip->number);
    if (!is_open) continue;
    item.lease.clips.push_back(id);
    item.clips.push_back(*std::move(clip));
  }
  return {};
}

}  // namespace

Result<> validate_researcher(std::string_view name) {
  const bool is_good = !name.empty() && name.size() <= kResearcherBytesMax && is_valid_utf8(name) &&
                       name.find('\0') == std::string_view::npos;
  if (is_good) return {};
  return Error{Errc::Invalid,
               fmt::format("researcher: a name of 1 to {} bytes in UTF-8", kResearcherBytesMax)};
}

Result<> note_researcher(Tx& tx, const std::string& researcher) {
  TRY(validate_researcher(researcher));
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY(tx.exec(kNote, researcher, now_us));
  return {};
}

Result<std::optional<WorkItem>> take_work(Tx& tx, const std::string& researcher,
                                          const Options& options) {
  TRY(note_researcher(tx, researcher));
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  for (int passed = 0; passed < kEmptyItemsMax; ++passed) {
    TRY_ASSIGN(const Rows rows, tx.query(kOldest, now_us));
    if (rows.empty()) break;
    const Row row = rows[0];
    WorkItem item;
    item.lease.id = row.get<std::string>(0);
    item.lease.episode = row.get<CuratedId>(1);
    TRY_ASSIGN(const ClipSet leased, ClipSet::decode(row.get<std::string>(2)));
    TRY_ASSIGN(const std::vector<CuratedId> chosen, parse_chosen(row.get<std::string>(3)));
    TRY(load_item(tx, chosen, leased, item));
    if (item.clips.empty()) {
      TRY(tx.exec(kDrop, item.lease.id));
      continue;
    }
    item.lease.expires_us = now_us + options.lease_ms * 1000;
    TRY(tx.exec(kTake, item.lease.id, researcher, now_us, item.lease.expires_us));
    crash_point("research.work.taken");
    return std::optional(std::move(item));
  }
  return std::optional<WorkItem>();
}

Result<> drop_lease(Tx& tx, const std::string& id) {
  TRY(tx.exec(kDrop, id));
  return {};
}

Result<bool> has_waiting(Tx& tx) {
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY_ASSIGN(const Rows rows, tx.query(kWaiting, now_us));
  return !rows.empty();
}

Result<> set_algorithm(Tx& tx, std::int64_t version) {
  TRY(lock_pool(tx));
  TRY(tx.exec(kRaise, version));
  return {};
}

}  // namespace quern::research
