#include "crawl/crawl.h"

#include <fmt/format.h>

#include "base/crash.h"
#include "web/archive_name.h"

namespace quern::crawl {
namespace {

using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr Sql kBegin{
    "INSERT INTO crawl (job, collection, orders, whole, seeded, ended)"
    " VALUES ($1, $2, $3, $4, $5, $5) ON CONFLICT (job) DO NOTHING"};
constexpr Sql kSeeded{"UPDATE crawl SET seeded = $2 WHERE job = $1"};
// What does not begin so is left of a crawl that was removed (crawl/removal.h).
constexpr Sql kLoad{
    "SELECT c.collection, c.seeded, c.ended, coalesce(j.canceled OR j.deleting, $2),"
    " coalesce(j.state <> 1, $2), coalesce(j.created_us, 0) FROM crawl AS c"
    " LEFT JOIN job AS j ON j.id = c.job WHERE c.job = $1 AND substr(c.orders, 1, 1) = '{'"};
constexpr Sql kOrders{"SELECT orders FROM crawl WHERE job = $1"};
// PostgreSQL makes a numeric of a sum.
#define QUERN_SUM(column) "CAST(coalesce(sum(" column "), 0) AS BIGINT)"
#define QUERN_SUMS                                                          \
  "count(*), " QUERN_SUM("admitted") ", " QUERN_SUM("open") ", " QUERN_SUM( \
      "inside") ", " QUERN_SUM("unchanged") ", " QUERN_SUM("failed") ", " QUERN_SUM("bytes")
constexpr Sql kSums{"SELECT " QUERN_SUMS " FROM crawl_site WHERE job = $1"};
constexpr Sql kOpen{"SELECT job FROM crawl WHERE ended = 0 AND job > $1 ORDER BY job LIMIT $2",
                    "SELECT job FROM crawl WHERE NOT ended AND job > $1 ORDER BY job LIMIT $2"};
constexpr Sql kList{
    "SELECT c.job FROM crawl AS c JOIN job AS j ON j.id = c.job"
    " JOIN collection AS n ON n.id = c.collection WHERE NOT j.deleting"
    " AND ($1 = '' OR n.name = $1) AND ($2 = 0 OR c.job < $2) ORDER BY c.job DESC LIMIT $3"};
constexpr Sql kDueAt{
    "SELECT p.next_us FROM site_plan AS p JOIN site AS s ON s.id = p.site"
    " JOIN collection AS c ON c.id = p.collection"
    " WHERE c.name = $1 AND s.name = $2 AND p.period_us > 0"};
constexpr Sql kHasPages{
    "SELECT 1 FROM page WHERE collection = $1 AND site = $2 AND fetched_us IS NOT NULL LIMIT 1"};
constexpr Sql kCollection{"SELECT id FROM collection WHERE name = $1"};
constexpr Sql kPutPlan{
    "INSERT INTO site_plan (collection, site, period_us, next_us, orders)"
    " VALUES ($1, $2, $3, 0, $4) ON CONFLICT (collection, site) DO UPDATE"
    " SET period_us = excluded.period_us, orders = excluded.orders"};
constexpr Sql kRemovePlan{"DELETE FROM site_plan WHERE collection = $1 AND site = $2"};
constexpr Sql kPlan{
    "SELECT p.orders FROM site_plan AS p JOIN site AS s ON s.id = p.site"
    " JOIN collection AS c ON c.id = p.collection"
    " WHERE c.name = $1 AND s.name = $2 AND p.period_us > 0"};
constexpr Sql kDue{
    "SELECT s.name, p.orders, p.next_us, p.site, p.collection FROM site_plan AS p"
    " JOIN site AS s ON s.id = p.site WHERE p.period_us > 0 AND p.next_us > 0 AND p.next_us <= $1"
    " AND (p.next_us, p.site, p.collection) > ($2, $3, $4)"
    " ORDER BY p.next_us, p.site, p.collection LIMIT $5"};
constexpr Sql kSites{
    "SELECT s.name, c.admitted, c.open, c.inside, c.unchanged, c.failed, c.bytes"
    " FROM crawl_site AS c JOIN site AS s ON s.id = c.site WHERE c.job = $1 AND s.name > $2"
    " ORDER BY s.name LIMIT $3"};
constexpr Sql kUnmet{
    "SELECT p.id, s.partition, f.partition FROM crawl AS c JOIN crawl_site AS cs ON cs.job = c.job"
    " JOIN site AS s ON s.id = cs.site JOIN page AS p ON p.collection = c.collection"
    " AND p.site = cs.site AND p.state IN (3, 4) AND p.file IS NOT NULL AND p.job < c.job"
    " LEFT JOIN file AS f ON f.id = p.file WHERE c.job = $1 ORDER BY p.id LIMIT $2"};
constexpr Sql kLock{"SELECT ended, seeded FROM crawl WHERE job = $1",
                    "SELECT ended, seeded FROM crawl WHERE job = $1 FOR UPDATE"};
constexpr Sql kEnd{"UPDATE crawl SET ended = $2 WHERE job = $1"};
constexpr Sql kNextTime{
    "UPDATE site_plan SET next_us = $2 + period_us WHERE period_us > 0"
    " AND collection = (SELECT collection FROM crawl WHERE job = $1)"
    " AND site IN (SELECT site FROM crawl_site WHERE job = $1 AND inside > 0)"};
constexpr Sql kJobRuns{"SELECT 1 FROM job WHERE id = $1 AND state = 1 AND NOT deleting"};
constexpr Sql kKnownEnd{"SELECT max(warc_end) FROM capture WHERE warc = $1"};

CrawlSums sums_of(const Row& row, std::size_t at) {
  return {row.get<std::int64_t>(at),     row.get<std::int64_t>(at + 1),
          row.get<std::int64_t>(at + 2), row.get<std::int64_t>(at + 3),
          row.get<std::int64_t>(at + 4), row.get<std::int64_t>(at + 5),
          row.get<std::int64_t>(at + 6)};
}

std::vector<tree::JobId> jobs_in(const Rows& rows) {
  std::vector<tree::JobId> jobs;
  for (const Row row : rows) jobs.push_back(row.get<tree::JobId>(0));
  return jobs;
}

}  // namespace

Result<> begin_crawl(Tx& tx, const tree::Job& job, const CrawlOrder& order) {
  TRY(tx.exec(kBegin, job.id, job.collection, to_json(order), order.whole, false));
  return {};
}

Result<> mark_seeded(Tx& tx, tree::JobId job) {
  TRY(tx.exec(kSeeded, job, true));
  crash_point("crawl.seeded");
  return {};
}

Result<Crawl> load_crawl(Tx& tx, tree::JobId job) {
  return CrawlCache().load(tx, job);
}

Result<CrawlSums> load_sums(Tx& tx, tree::JobId job) {
  TRY_ASSIGN(const Rows rows, tx.query(kSums, job));
  return sums_of(rows[0], 0);
}

Result<Crawl> CrawlCache::load(Tx& tx, tree::JobId job) {
  TRY_ASSIGN(const Rows rows, tx.query(kLoad, job, true));
  if (rows.empty()) return Error{Errc::Missing, fmt::format("job {} is no crawl", job)};
  Crawl crawl{.job = job, .collection = rows[0].get<tree::CollectionId>(0)};
  crawl.seeded = rows[0].get<bool>(1);
  crawl.ended = rows[0].get<bool>(2);
  crawl.canceled = rows[0].get<bool>(3);
  crawl.job_ended = rows[0].get<bool>(4);
  crawl.archive = web::archive_prefix(
      {kArchiveKind, crawl.collection.value, job.value, rows[0].get<std::int64_t>(5)});
  std::optional<Kept> kept = find(job);
  if (!kept) {
    TRY_ASSIGN(const auto text, tx.value<std::string>(kOrders, job));
    TRY_ASSIGN(CrawlOrder order, parse_order(text));
    kept.emplace();
    kept->order = std::make_shared<const CrawlOrder>(std::move(order));
    kept->scope = std::make_shared<const Scope>(*kept->order);
    TRY_ASSIGN(kept->shards, tree::list_shards(tx, job));
    const std::scoped_lock lock(mutex_);
    if (kept_.size() >= kept_max_) kept_.clear();
    kept_[job] = *kept;
  }
  crawl.order = std::move(kept->order);
  crawl.scope = std::move(kept->scope);
  crawl.shards = std::move(kept->shards);
  return crawl;
}

std::optional<CrawlCache::Kept> CrawlCache::find(tree::JobId job) const {
  const std::scoped_lock lock(mutex_);
  const auto found = kept_.find(job);
  return found == kept_.end() ? std::nullopt : std::optional(found->second);
}

bool CrawlCache::contains(tree::JobId job) const {
  const std::scoped_lock lock(mutex_);
  return kept_.contains(job);
}

Result<std::vector<tree::JobId>> list_open(Tx& tx, tree::JobId after, std::size_t limit) {
  TRY_ASSIGN(const Rows rows, tx.query(kOpen, after, limit));
  return jobs_in(rows);
}

Result<std::vector<tree::JobId>> list_crawls(Tx& tx, const std::string& collection,
                                             std::int64_t before, std::size_t limit) {
  TRY_ASSIGN(const Rows rows, tx.query(kList, collection, before, limit));
  return jobs_in(rows);
}

Result<> expect_due(Tx& tx, const CrawlOrder& order) {
  if (order.force) return {};
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  for (const std::string& seed : order.urls) {
    TRY_ASSIGN(const web::Url url, web::Url::parse(seed));
    const std::string site = web::site_of(url);
    TRY_ASSIGN(const auto next_us, tx.find_value<std::int64_t>(kDueAt, order.collection, site));
    if (!next_us || *next_us <= now_us) continue;
    return Error{Errc::Conflict, fmt::format("{} is due again in {} minutes; --force does not wait",
                                             site, (*next_us - now_us) / 60'000'000 + 1)};
  }
  return {};
}

Result<Known> load_known(Tx& tx, const CrawlOrder& order, const std::string& name) {
  Known known;
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY_ASSIGN(const auto next_us, tx.find_value<std::int64_t>(kDueAt, order.collection, name));
  known.site_due = !next_us || *next_us <= now_us;
  TRY_ASSIGN(const auto collection,
             tx.find_value<tree::CollectionId>(kCollection, order.collection));
  TRY_ASSIGN(const auto site, find_site(tx, name));
  if (!collection || !site) return known;
  TRY_ASSIGN(const Rows pages, tx.query(kHasPages, *collection, site->id));
  known.site_has_pages = !pages.empty();
  TRY_ASSIGN(const auto page, find_page(tx, *collection, order.urls.front()));
  known.page_known = page.has_value();
  known.page_due = !page || page->next_us <= now_us;
  return known;
}

Result<> put_plan(Tx& tx, tree::CollectionId collection, SiteId site, const CrawlOrder& order) {
  if (order.period_s == 0) {
    TRY(tx.exec(kRemovePlan, collection, site));
    return {};
  }
  TRY(tx.exec(kPutPlan, collection, site, order.period_s * 1'000'000, to_json(order)));
  return {};
}

Result<std::optional<CrawlOrder>> find_plan(Tx& tx, const std::string& collection,
                                            const std::string& site) {
  TRY_ASSIGN(const auto text, tx.find_value<std::string>(kPlan, collection, site));
  if (!text) return std::optional<CrawlOrder>();
  TRY_ASSIGN(CrawlOrder order, parse_order(*text));
  return std::optional<CrawlOrder>(std::move(order));
}

Result<std::vector<DuePlan>> list_due(Tx& tx, const std::optional<DuePlan>& after,
                                      std::size_t limit) {
  const DuePlan place = after.value_or(DuePlan{});
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY_ASSIGN(const Rows rows,
             tx.query(kDue, now_us, place.next_us, place.id, place.collection, limit));
  std::vector<DuePlan> plans;
  for (const Row row : rows) {
    TRY_ASSIGN(CrawlOrder order, parse_order(row.get<std::string>(1)));
    plans.push_back({row.get<std::string>(0), std::move(order), row.get<std::int64_t>(2),
                     row.get<SiteId>(3), row.get<tree::CollectionId>(4)});
  }
  return plans;
}

Result<std::vector<SiteSums>> list_sites(Tx& tx, tree::JobId job, const std::string& after,
                                         std::size_t limit) {
  TRY_ASSIGN(const Rows rows, tx.query(kSites, job, after, limit));
  std::vector<SiteSums> sites;
  for (const Row row : rows) {
    TRY_ASSIGN(const auto site, find_site(tx, row.get<std::string>(0)));
    if (!site) continue;
    SiteSums one{*site, {}};
    one.sums = {1,
                row.get<std::int64_t>(1),
                row.get<std::int64_t>(2),
                row.get<std::int64_t>(3),
                row.get<std::int64_t>(4),
                row.get<std::int64_t>(5),
                row.get<std::int64_t>(6)};
    sites.push_back(std::move(one));
  }
  return sites;
}

Result<std::vector<Unmet>> list_unmet(Tx& tx, tree::JobId job, std::size_t limit) {
  TRY_ASSIGN(const Rows rows, tx.query(kUnmet, job, limit));
  std::vector<Unmet> unmet;
  for (const Row row : rows) {
    unmet.push_back({row.get<PageId>(0), row.get<queue::PartitionId>(1),
                     row.get<std::optional<tree::ShardId>>(2)});
  }
  return unmet;
}

Result<bool> end_crawl(Tx& tx, tree::JobId job) {
  TRY_ASSIGN(const Rows rows, tx.query(kLock, job));
  if (rows.empty() || rows[0].get<bool>(0)) return true;
  TRY_ASSIGN(const CrawlSums sums, load_sums(tx, job));
  TRY_ASSIGN(const Rows running, tx.query(kJobRuns, job));
  const bool runs = !running.empty();
  if (runs && (!rows[0].get<bool>(1) || sums.open > 0)) return false;
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY(tx.exec(kNextTime, job, now_us));
  TRY(tx.exec(kEnd, job, true));
  if (runs) TRY(tree::seal_job(tx, job, 0));
  crash_point("crawl.ended");
  return true;
}

Result<std::optional<std::int64_t>> known_end(Tx& tx, const std::string& warc) {
  return tx.value<std::optional<std::int64_t>>(kKnownEnd, warc);
}

}  // namespace quern::crawl
