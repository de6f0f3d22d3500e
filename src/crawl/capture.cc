#include "crawl/capture.h"

#include "web/url.h"

namespace quern::crawl {
namespace {

using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

#define QUERN_CAPTURE                                                                         \
  "SELECT c.id, c.collection, c.url, c.surt, c.at_us, c.status, c.type, c.digest, c.revisit," \
  " c.warc, c.warc_at, c.warc_bytes, c.warc_end, c.page FROM capture AS c"
constexpr Sql kById{QUERN_CAPTURE " WHERE c.id = $1"};
constexpr Sql kOfUrl{QUERN_CAPTURE
                     " JOIN collection AS n ON n.id = c.collection"
                     " WHERE c.surt = $2 AND ($1 = '' OR n.name = $1) ORDER BY c.at_us DESC, c.id"
                     " LIMIT $3"};
constexpr Sql kByOrder{QUERN_CAPTURE
                       " WHERE c.collection = $1 AND (c.surt, c.at_us, c.id) > ($2, $3, $4)"
                       " ORDER BY c.surt, c.at_us, c.id LIMIT $5"};
constexpr Sql kNearest{
    QUERN_CAPTURE
    " JOIN collection AS n ON n.id = c.collection WHERE c.surt = $2 AND ($1 = '' OR n.name = $1)"
    " ORDER BY abs(c.at_us - $3), c.id LIMIT 1"};
constexpr Sql kOriginal{QUERN_CAPTURE
                        " WHERE c.collection = $1 AND c.surt = $2 AND c.at_us <= $3"
                        " AND c.digest = $4 AND NOT c.revisit ORDER BY c.at_us DESC LIMIT 1"};
constexpr Sql kResponse{QUERN_CAPTURE
                        " WHERE c.collection = $1 AND c.surt = $2 AND c.at_us = $3"
                        " AND NOT c.revisit ORDER BY c.id LIMIT 1"};
constexpr Sql kSame{QUERN_CAPTURE
                    " WHERE c.collection = $1 AND c.surt = $2 AND c.at_us = $3 AND c.url = $4"
                    " AND c.digest = $5 AND c.status = $6 AND c.revisit = $7"
                    " ORDER BY c.id LIMIT 1"};
constexpr Sql kEnd{"SELECT coalesce(max(warc_end), 0) FROM capture WHERE warc = $1"};
constexpr Sql kWarcs{"SELECT DISTINCT warc FROM capture WHERE collection = $1 ORDER BY warc"};

Capture capture_of(const Row& row) {
  Capture capture;
  capture.id = row.get<CaptureId>(0);
  capture.collection = row.get<tree::CollectionId>(1);
  NewCapture& at = capture.at;
  at.url = row.get<std::string>(2);
  at.surt = row.get<std::string>(3);
  at.at_us = row.get<std::int64_t>(4);
  at.status = row.get<int>(5);
  at.type = row.get<std::string>(6);
  at.digest = row.get<std::string>(7);
  at.revisit = row.get<bool>(8);
  at.warc = row.get<std::string>(9);
  at.warc_at = row.get<std::int64_t>(10);
  at.warc_bytes = row.get<std::int64_t>(11);
  at.warc_end = row.get<std::int64_t>(12);
  capture.page = row.get<std::optional<PageId>>(13);
  return capture;
}

std::vector<Capture> captures_in(const Rows& rows) {
  std::vector<Capture> captures;
  for (const Row row : rows) captures.push_back(capture_of(row));
  return captures;
}

std::optional<Capture> first_in(const Rows& rows) {
  return rows.empty() ? std::nullopt : std::optional(capture_of(rows[0]));
}

}  // namespace

Result<std::optional<NewCapture>> find_capture(Tx& tx, CaptureId id) {
  TRY_ASSIGN(const Rows rows, tx.query(kById, id));
  if (rows.empty()) return std::optional<NewCapture>();
  return std::optional<NewCapture>(capture_of(rows[0]).at);
}

Result<std::vector<Capture>> list_captures(Tx& tx, const std::string& collection,
                                           const std::string& url, std::size_t limit) {
  TRY_ASSIGN(const web::Url parsed, web::Url::parse(url));
  TRY_ASSIGN(const Rows rows,
             tx.query(kOfUrl, collection, web::surt(web::canonical_url(parsed)), limit));
  return captures_in(rows);
}

Result<std::vector<Capture>> list_index(Tx& tx, tree::CollectionId collection,
                                        const IndexPlace& after, std::size_t limit) {
  TRY_ASSIGN(const Rows rows,
             tx.query(kByOrder, collection, after.surt, after.at_us, after.id, limit));
  return captures_in(rows);
}

Result<std::optional<Capture>> nearest_capture(Tx& tx, const std::string& collection,
                                               const std::string& url, std::int64_t at_us) {
  TRY_ASSIGN(const web::Url parsed, web::Url::parse(url));
  TRY_ASSIGN(const Rows rows,
             tx.query(kNearest, collection, web::surt(web::canonical_url(parsed)), at_us));
  return first_in(rows);
}

Result<std::optional<Capture>> original_of(Tx& tx, const Capture& revisit, const std::string& url) {
  const NewCapture& at = revisit.at;
  std::string surt = at.surt;
  if (!url.empty()) {
    TRY_ASSIGN(const web::Url parsed, web::Url::parse(url));
    surt = web::surt(web::canonical_url(parsed));
  }
  TRY_ASSIGN(const Rows rows, tx.query(kOriginal, revisit.collection, surt, at.at_us, at.digest));
  return first_in(rows);
}

Result<std::optional<Capture>> find_response(Tx& tx, tree::CollectionId collection,
                                             const std::string& url, std::int64_t at_us) {
  TRY_ASSIGN(const web::Url parsed, web::Url::parse(url));
  TRY_ASSIGN(const Rows rows,
             tx.query(kResponse, collection, web::surt(web::canonical_url(parsed)), at_us));
  return first_in(rows);
}

Result<std::optional<CaptureId>> find_same(Tx& tx, tree::CollectionId collection,
                                           const NewCapture& capture) {
  TRY_ASSIGN(const Rows rows, tx.query(kSame, collection, capture.surt, capture.at_us, capture.url,
                                       capture.digest, capture.status, capture.revisit));
  if (rows.empty()) return std::optional<CaptureId>();
  return std::optional<CaptureId>(capture_of(rows[0]).id);
}

Result<std::vector<std::string>> list_warcs(Tx& tx, tree::CollectionId collection) {
  TRY_ASSIGN(const Rows rows, tx.query(kWarcs, collection));
  std::vector<std::string> names;
  for (const Row row : rows) names.push_back(row.get<std::string>(0));
  return names;
}

Result<std::int64_t> warc_end(Tx& tx, const std::string& warc) {
  return tx.value<std::int64_t>(kEnd, warc);
}

web::CdxjLine cdxj_of(const NewCapture& capture) {
  web::CdxjLine line;
  line.surt = capture.surt;
  line.timestamp = web::timestamp14(capture.at_us);
  line.url = capture.url;
  line.mime = capture.revisit ? "warc/revisit" : capture.type;
  line.status = capture.status;
  line.digest = capture.digest;
  line.length = capture.warc_bytes;
  line.offset = capture.warc_at;
  line.filename = capture.warc;
  return line;
}

}  // namespace quern::crawl
