#include "research/feed_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

namespace quern::research {
namespace {

namespace json = boost::json;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

#define QUERN_FEED                                                               \
  "SELECT f.id, f.kind, n.name, f.url, f.title, f.priority, f.metadata, f.etag," \
  " f.last_modified, f.digest, f.checked_us, f.next_us, f.failures, f.problem"   \
  " FROM research_feed AS f JOIN collection AS n ON n.id = f.collection"
constexpr Sql kFind{
    "SELECT id FROM research_feed WHERE kind = $1 AND collection = $2 AND url = $3"};
constexpr Sql kAdd{
    "INSERT INTO research_feed (kind, collection, url, priority, metadata, etag, last_modified,"
    " digest, title, next_us, failures, problem)"
    " VALUES ($1, $2, $3, $4, $5, '', '', '', '', $6, 0, '')"
    " ON CONFLICT (kind, collection, url) DO NOTHING"};
constexpr Sql kSetPriority{"UPDATE research_feed SET priority = $2 WHERE id = $1"};
constexpr Sql kSetMetadata{"UPDATE research_feed SET metadata = $2 WHERE id = $1"};
constexpr Sql kLoad{QUERN_FEED " WHERE f.id = $1"};
constexpr Sql kList{QUERN_FEED
                    " WHERE f.id > $1 AND ($2 = 0 OR f.kind = $2) AND ($3 = '' OR n.name = $3)"
                    " ORDER BY f.id LIMIT $4"};
constexpr Sql kRemove{"DELETE FROM research_feed WHERE id = $1"};
constexpr Sql kRemoveGone{
    "DELETE FROM research_feed WHERE NOT EXISTS"
    " (SELECT 1 FROM collection AS n WHERE n.id = research_feed.collection)"};
constexpr Sql kDue{
    QUERN_FEED " WHERE f.next_us <= $1 ORDER BY f.next_us LIMIT $2",
    QUERN_FEED " WHERE f.next_us <= $1 ORDER BY f.next_us LIMIT $2 FOR UPDATE OF f SKIP LOCKED"};
constexpr Sql kClaim{"UPDATE research_feed SET next_us = $2 WHERE id = $1"};
constexpr Sql kChecked{
    "UPDATE research_feed SET etag = $2, last_modified = $3, digest = $4,"
    " title = CASE WHEN $5 = '' THEN title ELSE $5 END, checked_us = $6, next_us = $7,"
    " failures = 0, problem = '' WHERE id = $1"};
constexpr Sql kFailures{"SELECT failures FROM research_feed WHERE id = $1"};
constexpr Sql kProblem{
    "UPDATE research_feed SET problem = $2, failures = failures + 1, checked_us = $3,"
    " next_us = $4 WHERE id = $1"};

constexpr std::int64_t kDoublingsMax = 20;

json::object parse_metadata(const std::string& text) {
  boost::system::error_code failed;
  json::value value = json::parse(text, failed);
  return !failed && value.is_object() ? std::move(value.get_object()) : json::object();
}

FeedRow read_feed(const Row& row) {
  FeedRow feed;
  feed.id = row.get<FeedId>(0);
  feed.kind = static_cast<Kind>(row.get<int>(1));
  feed.collection = row.get<std::string>(2);
  feed.url = row.get<std::string>(3);
  feed.title = row.get<std::string>(4);
  feed.priority = row.get<std::int64_t>(5);
  feed.metadata = parse_metadata(row.get<std::string>(6));
  feed.etag = row.get<std::string>(7);
  feed.last_modified = row.get<std::string>(8);
  feed.digest = row.get<std::string>(9);
  feed.checked_us = row.get<std::optional<std::int64_t>>(10);
  feed.next_us = row.get<std::int64_t>(11);
  feed.failures = row.get<std::int64_t>(12);
  feed.problem = row.get<std::string>(13);
  return feed;
}

Error no_feed(FeedId id) {
  return Error{Errc::Missing,
               fmt::format("there is no feed {}: list them with 'quern episodes feeds'", id)};
}

}  // namespace

Result<FeedId> put_feed(Tx& tx, const NewFeed& feed) {
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY(tx.exec(kAdd, static_cast<int>(feed.kind), feed.collection, feed.url,
              feed.priority.value_or(0), json::serialize(feed.metadata),
              now_us + kFeedCheckMs * 1000));
  TRY_ASSIGN(const FeedId id,
             tx.value<FeedId>(kFind, static_cast<int>(feed.kind), feed.collection, feed.url));
  if (feed.priority) TRY(tx.exec(kSetPriority, id, *feed.priority));
  if (!feed.metadata.empty()) TRY(tx.exec(kSetMetadata, id, json::serialize(feed.metadata)));
  return id;
}

Result<FeedRow> load_feed(Tx& tx, FeedId id) {
  TRY_ASSIGN(const Rows rows, tx.query(kLoad, id));
  if (rows.empty()) return no_feed(id);
  return read_feed(rows[0]);
}

Result<std::vector<FeedRow>> list_feeds(Tx& tx, const FeedFilter& filter) {
  const int kind = filter.kind ? static_cast<int>(*filter.kind) : 0;
  const std::size_t limit = std::min(filter.limit, kFeedsListedMax);
  TRY_ASSIGN(const Rows rows, tx.query(kList, filter.after, kind, filter.collection, limit));
  std::vector<FeedRow> feeds;
  for (const Row row : rows) feeds.push_back(read_feed(row));
  return feeds;
}

Result<> remove_feed(Tx& tx, FeedId id) {
  TRY_ASSIGN(const std::int64_t removed, tx.exec(kRemove, id));
  if (removed == 0) return no_feed(id);
  return {};
}

Result<std::int64_t> remove_gone_feeds(Tx& tx) {
  return tx.exec(kRemoveGone);
}

Result<std::vector<FeedRow>> claim_due_feeds(Tx& tx, std::size_t limit) {
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY_ASSIGN(const Rows rows, tx.query(kDue, now_us, std::min(limit, kFeedsAtOnce)));
  std::vector<FeedRow> feeds;
  for (const Row row : rows) {
    feeds.push_back(read_feed(row));
    TRY(tx.exec(kClaim, feeds.back().id, now_us + kFeedClaimUs));
  }
  return feeds;
}

Result<> note_checked(Tx& tx, FeedId id, const FeedChecked& checked) {
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY(tx.exec(kChecked, id, checked.etag, checked.last_modified, checked.digest, checked.title,
              now_us, now_us + checked.again_us));
  return {};
}

Result<> note_feed_problem(Tx& tx, FeedId id, const std::string& problem, std::int64_t again_us) {
  TRY_ASSIGN(const auto failures, tx.find_value<std::int64_t>(kFailures, id));
  if (!failures) return {};  // it was removed
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  std::int64_t wait_us = again_us;
  for (std::int64_t i = 0; i < std::min(*failures, kDoublingsMax); ++i) wait_us *= 2;
  wait_us = std::min(wait_us, std::max(again_us, kFeedCheckMsMax * 1000));
  TRY(tx.exec(kProblem, id, problem, now_us, now_us + wait_us));
  return {};
}

}  // namespace quern::research
