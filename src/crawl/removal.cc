#include "crawl/removal.h"

#include <map>
#include <vector>

#include "base/check.h"
#include "base/crash.h"
#include "crawl/crawl.h"
#include "crawl/page.h"
#include "queue/await.h"
#include "queue/locked_partitions.h"
#include "web/archive_name.h"

namespace quern::crawl {
namespace {

using store::Bulk;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr Sql kMade{
    "SELECT c.collection, j.created_us FROM crawl AS c JOIN job AS j ON j.id = c.job"
    " WHERE c.job = $1"};
// Whoever admits pages holds this row, and finds that it takes none any more.
constexpr Sql kEnd{"UPDATE crawl SET ended = $2 WHERE job = $1"};
constexpr Sql kPages{
    "SELECT s.partition, p.id, p.job FROM page AS p JOIN site AS s ON s.id = p.site"
    " WHERE p.job = $1 ORDER BY p.state, p.id LIMIT $2"};
// Pages that another crawl has wanted since, and found as they were: their documents go with the
// crawl that fetched them.
constexpr Sql kUsers{
    "SELECT s.partition, p.id, f.id FROM file AS f JOIN page AS p ON p.file = f.id"
    " JOIN site AS s ON s.id = p.site WHERE f.job = $1 AND f.parent IS NULL"
    " ORDER BY f.id LIMIT $2"};
constexpr Sql kRemovePages{"DELETE FROM page WHERE id = $1 AND job = $2",
                           "DELETE FROM page AS p USING unnest($1::bigint[], $2::bigint[])"
                           " AS w (id, job) WHERE p.id = w.id AND p.job = w.job"};
#define QUERN_FORGET                                                                      \
  " SET file = NULL, capture = NULL, etag = NULL, last_modified = NULL, digest = NULL,"   \
  " why = CASE WHEN state = 3 THEN 'the crawl that fetched it was deleted' ELSE why END," \
  " why_kind = CASE WHEN state = 3 THEN 'gone' ELSE why_kind END,"                        \
  " state = CASE WHEN state = 3 THEN 4 ELSE state END"
constexpr Sql kForgetFiles{"UPDATE page" QUERN_FORGET " WHERE id = $1 AND file = $2",
                           "UPDATE page AS p" QUERN_FORGET
                           " FROM unnest($1::bigint[], $2::bigint[]) AS w (id, wanted)"
                           " WHERE p.id = w.id AND p.file = w.wanted"};
constexpr Sql kSites{
    "SELECT s.partition, c.site, c.job FROM crawl_site AS c JOIN site AS s ON s.id = c.site"
    " WHERE c.job = $1 ORDER BY c.site LIMIT $2"};
constexpr Sql kRemoveSites{"DELETE FROM crawl_site WHERE site = $1 AND job = $2",
                           "DELETE FROM crawl_site AS c USING unnest($1::bigint[], $2::bigint[])"
                           " AS w (site, job) WHERE c.site = w.site AND c.job = w.job"};
constexpr Sql kRemoveCaptures{
    "DELETE FROM capture WHERE id IN"
    " (SELECT id FROM capture WHERE warc > $1 AND warc < $2 ORDER BY warc, warc_at LIMIT $3)"};
constexpr Sql kNoteGone{
    "INSERT INTO removed_archive (prefix) VALUES ($1) ON CONFLICT (prefix) DO NOTHING"};
constexpr Sql kRemoveCrawl{"DELETE FROM crawl WHERE job = $1"};
#define QUERN_GONE " WHERE collection NOT IN (SELECT id FROM collection)"
constexpr Sql kGonePages{
    "SELECT s.partition, p.id, p.job FROM page AS p JOIN site AS s ON s.id = p.site"
    " WHERE CAST($1 AS BIGINT) = 0 AND p.collection NOT IN (SELECT id FROM collection) ORDER BY "
    "p.id LIMIT $2"};
constexpr Sql kGoneCaptures{"DELETE FROM capture WHERE id IN (SELECT id FROM capture" QUERN_GONE
                            " LIMIT $1)"};
constexpr Sql kGonePlans{"DELETE FROM site_plan" QUERN_GONE};

// Rows of one site: their ids, and what each of them must still have to be changed.
using BySite = std::map<queue::PartitionId, std::shared_ptr<Bulk>>;

// Lists, then changes what was listed, each site's behind its lock, until nothing is left. What is
// changed is listed no more.
net::Task<Result<>> change_all(RemovalParts parts, tree::JobId job, const Sql* list,
                               const Sql* change) {
  while (true) {
    auto load = [job, list](Tx& tx) -> Result<BySite> {
      TRY_ASSIGN(const Rows rows, tx.query(*list, job, kRemovedAtOnce));
      BySite found;
      for (const Row row : rows) {
        std::shared_ptr<Bulk>& site = found[row.get<queue::PartitionId>(0)];
        if (!site) site = std::make_shared<Bulk>();
        site->add(row.get<std::int64_t>(1), row.get<std::int64_t>(2));
      }
      return found;
    };
    CO_TRY_ASSIGN(const BySite found,
                  co_await queue::read(parts.loop, parts.readers, std::move(load)));
    if (found.empty()) co_return Result<>();
    for (const auto& [partition, rows] : found) {
      auto some = queue::change_partition(partition, [rows = rows, change](Tx& tx) -> Result<bool> {
        TRY(tx.bulk(*change, *rows));
        crash_point("crawl.pages.removed");
        return true;
      });
      store::Lane& lane = parts.writer.lane(queue::lane_of(partition));
      CO_TRY(co_await queue::write(parts.loop, lane, std::move(some)));
    }
  }
}

}  // namespace

net::Task<Result<>> remove_crawl(RemovalParts parts, tree::JobId job) {
  auto end = [job](Tx& tx) -> Result<std::string> {
    TRY_ASSIGN(const Rows made, tx.query(kMade, job));
    if (made.empty()) return std::string();
    TRY(tx.exec(kEnd, job, true));
    return web::archive_prefix(
        {kArchiveKind, made[0].get<std::int64_t>(0), job.value, made[0].get<std::int64_t>(1)});
  };
  CO_TRY_ASSIGN(std::string archive,
                co_await queue::write(parts.loop, parts.writer.lane({}), std::move(end)));
  if (archive.empty()) co_return Result<>();
  CO_TRY(co_await change_all(parts, job, &kPages, &kRemovePages));
  CO_TRY(co_await change_all(parts, job, &kUsers, &kForgetFiles));
  CO_TRY(co_await change_all(parts, job, &kSites, &kRemoveSites));
  co_return co_await remove_archive(parts, std::move(archive));
}

net::Task<Result<>> remove_archive(RemovalParts parts, std::string prefix) {
  const std::optional<web::ArchiveName> name = web::parse_archive_prefix(prefix);
  CHECK(name.has_value());
  for (bool more = true; more;) {
    auto some = [name](Tx& tx) -> Result<bool> {
      // Names go on with "-"; the next character is ".".
      TRY_ASSIGN(const std::int64_t captures,
                 tx.exec(kRemoveCaptures, name->prefix + "-", name->prefix + ".", kRemovedAtOnce));
      crash_point("crawl.captures.removed");
      if (captures > 0) return true;
      TRY(tx.exec(kNoteGone, name->prefix));
      TRY(tx.exec(kRemoveCrawl, name->job));
      return false;
    };
    CO_TRY_ASSIGN(more, co_await queue::write(parts.loop, parts.writer.lane({}), std::move(some)));
  }
  crash_point("crawl.archive.gone");
  co_return Result<>();
}

net::Task<Result<>> remove_gone_collections(RemovalParts parts) {
  CO_TRY(co_await change_all(parts, tree::JobId{}, &kGonePages, &kRemovePages));
  for (bool more = true; more;) {
    auto some = [](Tx& tx) -> Result<bool> {
      TRY(tx.exec(kGonePlans));
      TRY_ASSIGN(const std::int64_t captures, tx.exec(kGoneCaptures, kRemovedAtOnce));
      return captures > 0;
    };
    CO_TRY_ASSIGN(more, co_await queue::write(parts.loop, parts.writer.lane({}), std::move(some)));
  }
  co_return Result<>();
}

}  // namespace quern::crawl
