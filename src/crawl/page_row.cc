#include "crawl/page_row.h"

#include <fmt/format.h>

namespace quern::crawl {
namespace {

using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr Sql kById{"SELECT " QUERN_PAGE " FROM page AS p WHERE p.id = $1"};
constexpr Sql kByKey{"SELECT " QUERN_PAGE " FROM page AS p WHERE p.collection = $1 AND p.key = $2"};
constexpr Sql kReady{
    "SELECT " QUERN_PAGE
    ", f.error_kind IS NOT NULL, f.n_children > 0, l.links, o.partition,"
    " f.partition FROM page AS p LEFT JOIN file AS f ON f.id = p.file"
    " LEFT JOIN file_links AS l ON l.file = p.file LEFT JOIN file AS o ON o.id = p.old_file"
    " WHERE p.id = $1 AND p.state = 2 AND (f.id IS NULL OR f.state = 4)"};
// The limit is on what is looked at: a site that is fetched faster than it is read has any number
// of pages that are not ready.
constexpr Sql kNextFetched{
    "SELECT p.id, f.id IS NULL OR f.state = 4 FROM"
    " (SELECT id, file FROM page WHERE state = 2 AND id > $1 ORDER BY id LIMIT $2) AS p"
    " LEFT JOIN file AS f ON f.id = p.file ORDER BY p.id"};
constexpr Sql kOfFiles{"SELECT id FROM page WHERE file = $1 AND state = 2",
                       "SELECT p.id FROM unnest($1::bigint[]) AS w (file)"
                       " JOIN page AS p ON p.file = w.file WHERE p.state = 2"};

std::string text_at(const Row& row, std::size_t column) {
  return row.is_null(column) ? std::string() : row.get<std::string>(column);
}

}  // namespace

Page page_of(const Row& row) {
  Page page;
  page.id = row.get<PageId>(0);
  page.collection = row.get<tree::CollectionId>(1);
  page.site = row.get<SiteId>(2);
  page.url = row.get<std::string>(3);
  page.job = row.get<tree::JobId>(4);
  page.state = static_cast<PageState>(row.get<int>(5));
  page.why = text_at(row, 6);
  page.why_kind = text_at(row, 7);
  page.want = row.get<int>(8);
  page.source = row.get<std::string>(9);
  page.depth = row.get<std::int64_t>(10);
  page.hops = row.get<std::int64_t>(11);
  page.referrer = row.get<std::optional<PageId>>(12);
  page.fetch = row.get<std::int64_t>(13);
  page.status = row.is_null(14) ? 0 : row.get<int>(14);
  page.etag = text_at(row, 15);
  page.last_modified = text_at(row, 16);
  page.digest = text_at(row, 17);
  page.type = text_at(row, 18);
  page.file = row.get<std::optional<tree::FileId>>(19);
  page.old_file = row.get<std::optional<tree::FileId>>(20);
  page.capture = row.get<std::optional<CaptureId>>(21);
  page.links = text_at(row, 22);
  page.fetched_us = row.is_null(23) ? 0 : row.get<std::int64_t>(23);
  page.next_us = row.get<std::int64_t>(24);
  return page;
}

Result<Page> load_page(Tx& tx, PageId id) {
  TRY_ASSIGN(const Rows rows, tx.query(kById, id));
  if (rows.empty()) return Error{Errc::Missing, fmt::format("there is no page {}", id)};
  return page_of(rows[0]);
}

Result<std::optional<Page>> find_page(Tx& tx, tree::CollectionId collection,
                                      const std::string& url) {
  const std::string key = page_key(url);
  const store::Bytes bytes = std::as_bytes(std::span(key.data(), key.size()));
  TRY_ASSIGN(const Rows rows, tx.query(kByKey, collection, bytes));
  if (rows.empty()) return std::optional<Page>();
  return std::optional<Page>(page_of(rows[0]));
}

Result<std::optional<ReadyPage>> load_ready(Tx& tx, PageId id) {
  TRY_ASSIGN(const Rows rows, tx.query(kReady, id));
  if (rows.empty()) return std::optional<ReadyPage>();
  const Row row = rows[0];
  ReadyPage one;
  one.page = page_of(row);
  one.file_failed = row.get<bool>(kPageColumns);
  one.file_document = !row.is_null(kPageColumns + 1) && row.get<bool>(kPageColumns + 1);
  one.links = text_at(row, kPageColumns + 2);
  one.old_shard = row.get<std::optional<tree::ShardId>>(kPageColumns + 3);
  one.shard = row.get<std::optional<tree::ShardId>>(kPageColumns + 4);
  return std::optional<ReadyPage>(std::move(one));
}

Result<ReadyPages> list_ready(Tx& tx, PageId after, std::size_t limit) {
  TRY_ASSIGN(const Rows rows, tx.query(kNextFetched, after, limit));
  ReadyPages ready{.last = after, .more = rows.size() == limit};
  for (const Row row : rows) {
    ready.last = row.get<PageId>(0);
    if (row.get<bool>(1)) ready.pages.push_back(ready.last);
  }
  return ready;
}

Result<std::vector<PageId>> list_ready(Tx& tx, const std::vector<tree::FileId>& files) {
  store::Bulk bulk;
  for (const tree::FileId file : files) bulk.add(file);
  TRY_ASSIGN(const Rows rows, tx.bulk(kOfFiles, bulk));
  std::vector<PageId> pages;
  for (const Row row : rows) pages.push_back(row.get<PageId>(0));
  return pages;
}

}  // namespace quern::crawl
