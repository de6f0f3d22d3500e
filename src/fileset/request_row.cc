#include "fileset/request_row.h"

#include <fmt/format.h>

#include "fileset/own_archive.h"
#include "fileset/status.h"
#include "web/archive_name.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr Sql kAdd{
    "INSERT INTO fileset_request (job, collection, request, base_url, options, state, retry_of,"
    " created_us) VALUES ($1, $2, $3, $4, $5, 1, $6, $7) ON CONFLICT (job) DO NOTHING"};
constexpr Sql kLoad{
    "SELECT r.collection, r.request, r.options, r.state, r.status, r.landing, r.item, r.strategy,"
    " r.result, r.retry_of, r.created_us, r.ended_us, coalesce(j.canceled OR j.deleting, $2)"
    " FROM fileset_request AS r LEFT JOIN job AS j ON j.id = r.job WHERE r.job = $1"};
constexpr Sql kList{
    "SELECT r.job FROM fileset_request AS r JOIN job AS j ON j.id = r.job"
    " JOIN collection AS n ON n.id = r.collection WHERE NOT j.deleting"
    " AND ($1 = '' OR n.name = $1) AND ($2 = 0 OR r.job < $2) ORDER BY r.job DESC LIMIT $3"};
constexpr Sql kEarlier{
    "SELECT r.job FROM fileset_request AS r JOIN job AS j ON j.id = r.job"
    " WHERE r.base_url = $1 AND r.collection = $2 AND r.job < $3 AND r.state = 3"
    " AND NOT j.deleting AND EXISTS (SELECT 1 FROM fileset_file AS f WHERE f.job = r.job"
    " AND f.status IN ('success', 'exists')) ORDER BY r.job DESC LIMIT 1"};
constexpr Sql kRetried{
    "SELECT r.job, r.status FROM fileset_request AS r JOIN job AS j ON j.id = r.job"
    " WHERE r.base_url = $1 AND r.retry_of = $2 AND r.state = 3 AND NOT j.deleting"
    " ORDER BY r.job DESC LIMIT 1"};
constexpr Sql kLast{
    "SELECT r.job FROM fileset_request AS r JOIN job AS j ON j.id = r.job"
    " JOIN collection AS n ON n.id = r.collection WHERE r.base_url = $1 AND n.name = $2"
    " AND NOT j.deleting ORDER BY r.job DESC LIMIT 1"};
// What comes first in a row is looked at first: it may be long.
constexpr Sql kSearched{
    "SELECT job, status, strategy FROM fileset_request WHERE state = 3"
    " AND options LIKE '%\"ingest\":true%' ORDER BY job DESC LIMIT $1"};
constexpr Sql kKeep{
    "UPDATE fileset_request SET state = 2, landing = $2, item = $3, strategy = $4"
    " WHERE job = $1 AND state = 1"};
constexpr Sql kEnd{
    "UPDATE fileset_request SET state = 3, status = $2, result = $3, landing = $4,"
    " item = coalesce($5, item), ended_us = $6 WHERE job = $1 AND state <> 3"};
constexpr Sql kWanted{"SELECT 1 FROM job WHERE id = $1 AND NOT canceled AND NOT deleting"};
constexpr Sql kEndedSince{
    "SELECT 1 FROM fileset_request WHERE job = $1 AND state = 3 AND ended_us >= $2"};
constexpr Sql kOpen{"SELECT 1 FROM fileset_request WHERE job = $1 AND state <> 3"};

Result<json::value> parse(const std::string& text) {
  boost::system::error_code failed;
  json::value value = json::parse(text, failed);
  if (failed) return Error{Errc::Corrupt, "a stored text is no JSON: " + failed.message()};
  return value;
}

std::string text_at(const Row& row, std::size_t column) {
  return row.is_null(column) ? std::string() : row.get<std::string>(column);
}

Result<> read_json(const Row& row, RequestRow& into) {
  TRY_ASSIGN(const json::value request, parse(row.get<std::string>(1)));
  TRY_ASSIGN(into.request, parse_request(request));
  TRY_ASSIGN(const json::value options, parse(row.get<std::string>(2)));
  if (!options.is_object()) return Error{Errc::Corrupt, "options: not an object"};
  TRY_ASSIGN(into.options, parse_options(options.get_object(), {}));
  if (!row.is_null(5)) {
    TRY_ASSIGN(const json::value landing, parse(row.get<std::string>(5)));
    TRY_ASSIGN(into.landed, parse_landed(landing));
  }
  if (!row.is_null(6)) {
    TRY_ASSIGN(const json::value item, parse(row.get<std::string>(6)));
    TRY_ASSIGN(into.item, parse_platform_item(item));
  }
  return {};
}

}  // namespace

std::string_view to_string(RequestState state) {
  switch (state) {
    case RequestState::Resolving:
      return "resolving";
    case RequestState::Keeping:
      return "keeping";
    case RequestState::Ended:
      return "ended";
  }
  return "ended";
}

std::string partition_name(tree::JobId job) {
  return fmt::format("quern:dataset:{}", job);
}

std::string archive_of(const RequestRow& row) {
  return web::archive_prefix({kArchiveKind, row.collection.value, row.job.value, row.created_us});
}

Result<> add_request(Tx& tx, const NewRequest& request) {
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY(tx.exec(kAdd, request.job, request.collection, json::serialize(request.request.raw),
              request.request.base_url, json::serialize(to_json(request.options)), request.retry_of,
              now_us));
  return {};
}

Result<RequestRow> load_request(Tx& tx, tree::JobId job) {
  TRY_ASSIGN(const Rows rows, tx.query(kLoad, job, true));
  if (rows.empty()) return Error{Errc::Missing, fmt::format("job {} is no dataset", job)};
  const Row row = rows[0];
  RequestRow request;
  request.job = job;
  request.collection = row.get<tree::CollectionId>(0);
  TRY(read_json(row, request));
  request.state = static_cast<RequestState>(row.get<int>(3));
  request.status = text_at(row, 4);
  request.strategy = text_at(row, 7);
  request.result = text_at(row, 8);
  request.retry_of = row.get<std::optional<tree::JobId>>(9);
  request.created_us = row.get<std::int64_t>(10);
  request.ended_us = row.is_null(11) ? 0 : row.get<std::int64_t>(11);
  request.canceled = row.get<bool>(12);
  TRY_ASSIGN(request.shards, tree::list_shards(tx, job));
  return request;
}

Result<std::vector<tree::JobId>> list_requests(Tx& tx, const std::string& collection,
                                               std::int64_t before, std::size_t limit) {
  TRY_ASSIGN(const Rows rows, tx.query(kList, collection, before, limit));
  std::vector<tree::JobId> jobs;
  for (const Row row : rows) jobs.push_back(row.get<tree::JobId>(0));
  return jobs;
}

Result<std::optional<tree::JobId>> find_earlier(Tx& tx, const NewRequest& request) {
  return tx.find_value<tree::JobId>(kEarlier, request.request.base_url, request.collection,
                                    request.job);
}

Result<std::optional<tree::JobId>> find_success(Tx& tx, const RequestRow& failed) {
  TRY_ASSIGN(const Rows rows, tx.query(kRetried, failed.request.base_url, failed.job));
  if (rows.empty() || !is_hit(text_at(rows[0], 1))) return std::optional<tree::JobId>();
  return std::optional(rows[0].get<tree::JobId>(0));
}

Result<std::optional<tree::JobId>> find_last(Tx& tx, const std::string& collection,
                                             const std::string& base_url) {
  return tx.find_value<tree::JobId>(kLast, base_url, collection);
}

Result<std::vector<SearchedDataset>> list_searched(Tx& tx, std::size_t limit) {
  TRY_ASSIGN(const Rows rows, tx.query(kSearched, limit));
  std::vector<SearchedDataset> datasets;
  for (const Row row : rows) {
    const std::string status = text_at(row, 1);
    const bool in_ia = is_hit(status) && is_item(text_at(row, 2));
    datasets.push_back({row.get<tree::JobId>(0), status, in_ia});
  }
  return datasets;
}

Result<bool> begin_keeping(Tx& tx, tree::JobId job, const Resolved& resolved) {
  TRY_ASSIGN(const std::int64_t changed,
             tx.exec(kKeep, job, json::serialize(to_json(resolved.landed)),
                     json::serialize(to_json(resolved.item)), resolved.strategy));
  return changed > 0;
}

Result<bool> end_request(Tx& tx, tree::JobId job, const Ending& ending) {
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  std::optional<std::string> item;
  if (ending.item) item = json::serialize(to_json(*ending.item));
  TRY_ASSIGN(const std::int64_t changed,
             tx.exec(kEnd, job, ending.status, ending.result,
                     json::serialize(to_json(ending.landed)), item, now_us));
  return changed > 0;
}

Result<bool> is_open(Tx& tx, tree::JobId job) {
  TRY_ASSIGN(const Rows rows, tx.query(kOpen, job));
  return !rows.empty();
}

Result<bool> has_ended_within(Tx& tx, tree::JobId job, std::int64_t us) {
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY_ASSIGN(const Rows rows, tx.query(kEndedSince, job, now_us - us));
  return !rows.empty();
}

Result<bool> is_wanted(Tx& tx, tree::JobId job) {
  TRY_ASSIGN(const Rows rows, tx.query(kWanted, job));
  return !rows.empty();
}

}  // namespace quern::fileset
