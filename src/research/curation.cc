#include "research/curation.h"

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

constexpr Sql kAdd{
    "INSERT INTO curation (job, kind, collection, priority, metadata, recheck, created_us)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (job) DO NOTHING"};
constexpr Sql kLoad{
    "SELECT c.kind, c.collection, n.name, c.priority, c.metadata, c.recheck, c.created_us,"
    " c.ended_us, coalesce(j.canceled OR j.deleting, $2) FROM curation AS c"
    " LEFT JOIN collection AS n ON n.id = c.collection LEFT JOIN job AS j ON j.id = c.job"
    " WHERE c.job = $1"};
// A job that died before it noted anything has no row yet.
constexpr Sql kUnderWay{
    "SELECT j.key FROM job AS j LEFT JOIN curation AS c ON c.job = j.id"
    " WHERE j.key >= $1 || ':' AND j.key < $1 || ';' AND j.state = 1 AND NOT j.deleting"
    " AND NOT j.canceled AND c.ended_us IS NULL ORDER BY j.id LIMIT 1"};
constexpr Sql kCanceled{
    "SELECT c.job FROM curation AS c JOIN job AS j ON j.id = c.job"
    " WHERE c.ended_us IS NULL AND j.canceled ORDER BY c.job DESC LIMIT $1"};
constexpr Sql kAddSource{
    "INSERT INTO curation_source (job, number, what, url, said, feed, page, ended, found, changed,"
    " left_out, problem) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, 0, 0, '')"
    " ON CONFLICT (job, number) DO NOTHING"};
#define QUERN_SOURCE                                                                     \
  "SELECT number, what, url, said, feed, page, ended, found, changed, left_out, problem" \
  " FROM curation_source WHERE job = $1"
constexpr Sql kLoadSource{QUERN_SOURCE " AND number = $2"};
constexpr Sql kListSources{QUERN_SOURCE " ORDER BY number LIMIT $2"};
constexpr Sql kSamePage{
    "SELECT 1 FROM curation_source WHERE job = $1 AND url = $2 AND feed = $3 LIMIT 1"};
constexpr Sql kLastNumber{"SELECT coalesce(max(number), 0) FROM curation_source WHERE job = $1"};
constexpr Sql kCountFound{
    "SELECT CAST(coalesce(sum(found), 0) AS BIGINT) FROM curation_source"
    " WHERE job = $1 AND feed = $2"};
constexpr Sql kNoteSource{
    "UPDATE curation_source SET feed = $3, found = $4, changed = $5, left_out = $6, problem = $7"
    " WHERE job = $1 AND number = $2 AND NOT ended"};
constexpr Sql kEndSource{
    "UPDATE curation_source SET ended = $3 WHERE job = $1 AND number = $2 AND NOT ended"};
constexpr Sql kEnd{"UPDATE curation SET ended_us = $2 WHERE job = $1 AND ended_us IS NULL"};
constexpr Sql kCuratedBy{"SELECT id FROM curated WHERE job = $1 ORDER BY id LIMIT $2"};
constexpr Sql kByKey{
    "SELECT c.id FROM curated AS c JOIN collection AS n ON n.id = c.collection"
    " WHERE c.kind = $1 AND n.name = $2 AND c.key = $3"};
constexpr Sql kWaveform{
    "SELECT waveform FROM research_fingerprint WHERE curated = $1 AND sha256 = $2"
    " ORDER BY version DESC LIMIT 1"};
constexpr Sql kRemoveSources{
    "DELETE FROM curation_source WHERE job = $1 AND number IN (SELECT number FROM curation_source"
    " WHERE job = $1 ORDER BY number LIMIT $2)"};
constexpr Sql kRemove{"DELETE FROM curation WHERE job = $1"};

json::object parse_json(const std::string& text) {
  boost::system::error_code failed;
  json::value value = json::parse(text, failed);
  return !failed && value.is_object() ? std::move(value.get_object()) : json::object();
}

std::string text_in(const json::object& from, std::string_view key) {
  const json::value* value = from.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::string said_of(const Source& source) {
  json::object said;
  if (!source.title.empty()) said["title"] = source.title;
  if (!source.description.empty()) said["description"] = source.description;
  if (!source.aired.empty()) said["date_aired"] = source.aired;
  return json::serialize(said);
}

SourceRow read_source(const Row& row) {
  SourceRow source;
  source.number = row.get<std::int64_t>(0);
  source.source.what = static_cast<SourceKind>(row.get<int>(1));
  source.source.url = row.get<std::string>(2);
  const json::object said = parse_json(row.get<std::string>(3));
  source.source.title = text_in(said, "title");
  source.source.description = text_in(said, "description");
  source.source.aired = text_in(said, "date_aired");
  source.feed = row.get<std::optional<FeedId>>(4);
  source.page = row.get<std::int64_t>(5);
  source.ended = row.get<bool>(6);
  source.found = row.get<std::int64_t>(7);
  source.changed = row.get<std::int64_t>(8);
  source.left_out = row.get<std::int64_t>(9);
  source.problem = row.get<std::string>(10);
  return source;
}

Result<> put_source(Tx& tx, tree::JobId job, const SourceRow& row) {
  TRY(tx.exec(kAddSource, job, row.number, static_cast<int>(row.source.what), row.source.url,
              said_of(row.source), row.feed, row.page, false));
  return {};
}

}  // namespace

std::string_view job_kind_of(Kind kind) {
  return kind == Kind::Episode ? "episodes" : "clips";
}

std::string curation_partition(tree::JobId job) {
  return fmt::format("quern:curate:{}", job);
}

Result<> add_curation(Tx& tx, const Curation& curation, const std::vector<Source>& sources) {
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY_ASSIGN(
      const std::int64_t added,
      tx.exec(kAdd, curation.job, static_cast<int>(curation.kind), curation.collection,
              curation.priority, json::serialize(curation.metadata), curation.recheck, now_us));
  if (added == 0) return {};
  SourceRow row;
  for (const Source& source : sources) {
    ++row.number;
    row.source = source;
    row.feed = source.feed;
    TRY(put_source(tx, curation.job, row));
  }
  return {};
}

Result<Curation> load_curation(Tx& tx, tree::JobId job) {
  TRY_ASSIGN(const Rows rows, tx.query(kLoad, job, true));
  if (rows.empty()) {
    return Error{Errc::Missing, fmt::format("job {} curates neither episodes nor clips", job)};
  }
  const Row row = rows[0];
  Curation curation;
  curation.job = job;
  curation.kind = static_cast<Kind>(row.get<int>(0));
  curation.collection = row.get<tree::CollectionId>(1);
  if (!row.is_null(2)) curation.collection_name = row.get<std::string>(2);
  curation.priority = row.get<std::optional<std::int64_t>>(3);
  curation.metadata = parse_json(row.get<std::string>(4));
  curation.recheck = row.get<bool>(5);
  curation.created_us = row.get<std::int64_t>(6);
  curation.ended_us = row.is_null(7) ? 0 : row.get<std::int64_t>(7);
  curation.canceled = row.get<bool>(8);
  TRY_ASSIGN(curation.shards, tree::list_shards(tx, job));
  return curation;
}

Result<std::optional<std::string>> find_under_way(Tx& tx, const std::string& resumes) {
  return tx.find_value<std::string>(kUnderWay, resumes);
}

Result<std::vector<tree::JobId>> list_canceled(Tx& tx, std::size_t limit) {
  TRY_ASSIGN(const Rows rows, tx.query(kCanceled, limit));
  std::vector<tree::JobId> jobs;
  for (const Row row : rows) jobs.push_back(row.get<tree::JobId>(0));
  return jobs;
}

Result<SourceRow> load_source(Tx& tx, tree::JobId job, std::int64_t number) {
  TRY_ASSIGN(const Rows rows, tx.query(kLoadSource, job, number));
  if (rows.empty()) {
    return Error{Errc::Missing, fmt::format("job {} has no source {}", job, number)};
  }
  return read_source(rows[0]);
}

Result<std::vector<SourceRow>> list_sources(Tx& tx, tree::JobId job, std::size_t limit) {
  TRY_ASSIGN(const Rows rows, tx.query(kListSources, job, std::min(limit, kSourcesListedMax)));
  std::vector<SourceRow> sources;
  for (const Row row : rows) sources.push_back(read_source(row));
  return sources;
}

Result<std::optional<std::int64_t>> add_next_page(Tx& tx, tree::JobId job, SourceRow page) {
  TRY_ASSIGN(const Rows read, tx.query(kSamePage, job, page.source.url, page.feed));
  if (!read.empty()) return std::optional<std::int64_t>();
  TRY_ASSIGN(const std::int64_t last, tx.value<std::int64_t>(kLastNumber, job));
  page.number = last + 1;
  TRY(put_source(tx, job, page));
  return std::optional(page.number);
}

Result<std::int64_t> count_found(Tx& tx, tree::JobId job, FeedId feed) {
  return tx.value<std::int64_t>(kCountFound, job, feed);
}

Result<> note_source(Tx& tx, tree::JobId job, const SourceRow& row) {
  TRY(tx.exec(kNoteSource, job, row.number, row.feed, row.found, row.changed, row.left_out,
              row.problem));
  return {};
}

Result<bool> end_source(Tx& tx, tree::JobId job, const SourceRow& row) {
  TRY(note_source(tx, job, row));
  TRY_ASSIGN(const std::int64_t ended, tx.exec(kEndSource, job, row.number, true));
  return ended > 0;
}

Result<bool> end_curation(Tx& tx, tree::JobId job) {
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY_ASSIGN(const std::int64_t ended, tx.exec(kEnd, job, now_us));
  return ended > 0;
}

Result<std::vector<CuratedId>> list_curated_by(Tx& tx, tree::JobId job, std::size_t limit) {
  TRY_ASSIGN(const Rows rows, tx.query(kCuratedBy, job, limit));
  std::vector<CuratedId> ids;
  for (const Row row : rows) ids.push_back(row.get<std::int64_t>(0));
  return ids;
}

Result<std::optional<CuratedId>> find_by_sha256(Tx& tx, Kind kind, const std::string& collection,
                                                const std::string& sha256) {
  return tx.find_value<CuratedId>(kByKey, static_cast<int>(kind), collection, "sha256:" + sha256);
}

Result<std::optional<std::string>> load_waveform(Tx& tx, const Curated& curated) {
  TRY_ASSIGN(const Rows rows, tx.query(kWaveform, curated.id, curated.sha256));
  if (rows.empty()) return std::optional<std::string>();
  return std::optional(rows[0].get<std::string>(0));
}

Result<bool> remove_curation(Tx& tx, tree::JobId job) {
  TRY_ASSIGN(const std::int64_t removed, tx.exec(kRemoveSources, job, kSourcesRemovedAtOnce));
  if (removed > 0) return false;
  TRY(tx.exec(kRemove, job));
  return true;
}

}  // namespace quern::research
