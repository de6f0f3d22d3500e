#include "research/curated.h"

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/crash.h"
#include "base/utf8.h"
#include "blob/blob.h"
#include "blob/digest.h"
#include "research/pool.h"
#include "research/remove.h"

namespace quern::research {
namespace {

namespace json = boost::json;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

#define QUERN_CURATED                                                                      \
  "SELECT c.id, c.kind, n.name, c.key, c.url, c.source, c.title, c.description, c.aired,"  \
  " c.priority, c.initial_us, c.latest_us, c.metadata, c.media, c.problem, c.job, c.file," \
  " c.sha256, c.bytes, c.content_type, c.number, c.duration_ns FROM curated AS c"          \
  " LEFT JOIN collection AS n ON n.id = c.collection"

constexpr Sql kLoad{QUERN_CURATED " WHERE c.id = $1"};
constexpr Sql kList{QUERN_CURATED
                    " WHERE c.kind = $1 AND c.id > $2 AND ($3 = '' OR n.name = $3)"
                    " ORDER BY c.id LIMIT $4"};
#undef QUERN_CURATED

constexpr Sql kByKey{"SELECT id FROM curated WHERE kind = $1 AND collection = $2 AND key = $3"};
constexpr Sql kByUrl{
    "SELECT id FROM curated WHERE kind = $1 AND collection = $2 AND url = $3"
    " AND ($4 OR key IS NULL) ORDER BY CASE WHEN key IS NULL THEN 0 ELSE 1 END, id LIMIT 1"};
constexpr Sql kByTitle{
    "SELECT id FROM curated WHERE kind = $1 AND collection = $2 AND source = $3 AND title = $4"
    " AND aired = $5 AND key IS NULL ORDER BY id LIMIT 1"};
constexpr Sql kAdd{
    "INSERT INTO curated (kind, collection, key, url, source, title, description, aired, priority,"
    " initial_us, latest_us, metadata, media, problem, job, bytes, content_type, duration_ns,"
    " settled) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $11, 1, '', $12, 0, '', 0, 0)"
    " RETURNING id"};
// Its time never goes back, even where the clock does.
constexpr Sql kUpdate{
    "UPDATE curated SET key = $2, url = $3, source = $4, title = $5, description = $6, aired = $7,"
    " priority = $8, metadata = $9, latest_us = CASE WHEN latest_us < $10 THEN $10 ELSE latest_us"
    " END WHERE id = $1"};
constexpr Sql kAwait{"UPDATE curated SET media = 1, problem = '', job = $2 WHERE id = $1"};
constexpr Sql kArrived{
    "UPDATE curated SET media = 2, problem = '', job = $2, file = $3, sha256 = $4, bytes = $5,"
    " content_type = $6, number = $7 WHERE id = $1"};
constexpr Sql kFailed{
    "UPDATE curated SET media = CASE WHEN media = 2 THEN 2 ELSE 3 END, problem = $2"
    " WHERE id = $1"};
constexpr Sql kSetPriority{"UPDATE curated SET priority = $3 WHERE id = $1 AND kind = $2"};

std::string text_at(const Row& row, std::size_t column) {
  return row.is_null(column) ? std::string() : row.get<std::string>(column);
}
std::int64_t number_at(const Row& row, std::size_t column) {
  return row.is_null(column) ? 0 : row.get<std::int64_t>(column);
}
std::optional<std::string> or_null(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

Result<Curated> curated_of(const Row& row) {
  Curated curated;
  curated.id = row.get<CuratedId>(0);
  curated.kind = static_cast<Kind>(row.get<int>(1));
  curated.collection = text_at(row, 2);
  curated.key = text_at(row, 3);
  curated.url = text_at(row, 4);
  curated.source = row.get<std::string>(5);
  curated.title = row.get<std::string>(6);
  curated.description = row.get<std::string>(7);
  curated.aired = row.get<std::string>(8);
  curated.priority = row.get<std::int64_t>(9);
  curated.initial_us = row.get<std::int64_t>(10);
  curated.latest_us = row.get<std::int64_t>(11);
  boost::system::error_code failed;
  json::value metadata = json::parse(row.get<std::string>(12), failed);
  if (failed || !metadata.is_object()) {
    return Error{Errc::Corrupt, fmt::format("the metadata of {} is no JSON", curated.id)};
  }
  curated.metadata = std::move(metadata.get_object());
  curated.media = static_cast<MediaState>(row.get<int>(13));
  curated.problem = row.get<std::string>(14);
  curated.job = row.get<tree::JobId>(15);
  curated.file = row.get<std::optional<tree::FileId>>(16);
  curated.sha256 = text_at(row, 17);
  curated.bytes = row.get<std::int64_t>(18);
  curated.content_type = row.get<std::string>(19);
  curated.number = number_at(row, 20);
  curated.duration_ns = row.get<std::int64_t>(21);
  return curated;
}

Error nothing_of(Kind kind, CuratedId id) {
  return {Errc::Missing, fmt::format("there is no {} {}", to_string(kind), id)};
}

Result<> check_text(std::string_view what, std::string_view text, std::size_t bytes_max) {
  if (text.size() > bytes_max) {
    return Error{Errc::Invalid,
                 fmt::format("{}: {} bytes, the limit is {}", what, text.size(), bytes_max)};
  }
  if (!is_valid_utf8(text) || text.find('\0') != std::string_view::npos) {
    return Error{Errc::Invalid, fmt::format("{}: it must be a text in UTF-8", what)};
  }
  return {};
}

Result<> check_priority(std::int64_t priority) {
  if (priority >= -kPriorityMax && priority <= kPriorityMax) return {};
  return Error{Errc::Invalid, fmt::format("priority: a number from {} to {}, not {}", -kPriorityMax,
                                          kPriorityMax, priority)};
}

Result<> validate(const CuratedOrder& order, const std::string& metadata) {
  TRY(check_text("key", order.key, kUrlBytesMax));
  TRY(check_text("url", order.url, kUrlBytesMax));
  TRY(check_text("source", order.source, kUrlBytesMax));
  TRY(check_text("title", order.title, kTitleBytesMax));
  TRY(check_text("description", order.description, kDescriptionBytesMax));
  TRY(check_text("the date it was aired", order.aired, kTitleBytesMax));
  TRY(check_text("metadata", metadata, kMetadataBytesMax));
  TRY(check_priority(order.priority.value_or(0)));
  if (order.url.empty() && !order.file) {
    return Error{Errc::Invalid, "its media is missing: name an address or a file"};
  }
  return {};
}

Result<std::optional<CuratedId>> find_known(Tx& tx, const CuratedOrder& order,
                                            tree::CollectionId collection) {
  const int kind = static_cast<int>(order.kind);
  std::optional<CuratedId> known;
  if (!order.key.empty()) {
    TRY_ASSIGN(known, tx.find_value<CuratedId>(kByKey, kind, collection, order.key));
  }
  if (!known && !order.url.empty()) {
    TRY_ASSIGN(known,
               tx.find_value<CuratedId>(kByUrl, kind, collection, order.url, order.key.empty()));
  }
  const bool has_name = order.key.empty() && !order.source.empty() && !order.title.empty();
  if (!known && has_name) {
    TRY_ASSIGN(known, tx.find_value<CuratedId>(kByTitle, kind, collection, order.source,
                                               order.title, order.aired));
  }
  return known;
}

Result<CurateOutcome> add(Tx& tx, const CuratedOrder& order, tree::CollectionId collection) {
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  const std::string metadata = json::serialize(order.metadata);
  TRY_ASSIGN(
      const auto id,
      tx.value<CuratedId>(kAdd, static_cast<int>(order.kind), collection, or_null(order.key),
                          or_null(order.url), order.source, order.title, order.description,
                          order.aired, order.priority.value_or(0), now_us, metadata, order.job));
  return CurateOutcome{id, CuratedChange::New, !order.file};
}

Result<CurateOutcome> update(Tx& tx, const CuratedOrder& order, const Curated& known) {
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  const std::string key = order.key.empty() ? known.key : order.key;
  const std::string url = order.url.empty() ? known.url : order.url;
  const std::string metadata = json::serialize(order.metadata);
  const std::int64_t priority = order.priority.value_or(known.priority);
  TRY(tx.exec(kUpdate, known.id, or_null(key), or_null(url), order.source, order.title,
              order.description, order.aired, priority, metadata, now_us));
  const bool same = key == known.key && url == known.url && order.source == known.source &&
                    order.title == known.title && order.description == known.description &&
                    order.aired == known.aired && priority == known.priority &&
                    order.metadata == known.metadata;
  const bool has_media = known.media == MediaState::Ready;
  bool fetch = !order.file;
  if (fetch && has_media) {
    TRY_ASSIGN(const bool has_it, has_media_of(tx, known, url));
    fetch = !has_it;
  }
  if (fetch && !has_media) TRY(tx.exec(kAwait, known.id, order.job));
  return CurateOutcome{known.id, same ? CuratedChange::Same : CuratedChange::Updated, fetch};
}

Result<MediaArrived> media_of_file(Tx& tx, tree::FileId id) {
  TRY_ASSIGN(const tree::File file, tree::load_file(tx, id));
  if (!file.blob) return Error{Errc::Missing, fmt::format("file {} has no bytes", id)};
  TRY_ASSIGN(const blob::Blob blob, blob::load_blob(tx, *file.blob, blob::Data::Without));
  const std::string& type = file.detected_type.empty() ? file.content_type : file.detected_type;
  return MediaArrived{id, blob::hex_of(blob.sha256), blob.bytes, type};
}

}  // namespace

std::string_view to_string(Kind kind) {
  return kind == Kind::Episode ? "episode" : "clip";
}

std::string_view to_string(MediaState state) {
  switch (state) {
    case MediaState::Pending:
      return "pending";
    case MediaState::Ready:
      return "ready";
    case MediaState::Failed:
      return "failed";
  }
  return "failed";
}

// The root file says where it was fetched (curation_items.h, root_of).
Result<bool> has_media_of(Tx& tx, const Curated& curated, const std::string& url) {
  if (curated.media != MediaState::Ready || !curated.file) return false;
  const Result<tree::File> file = tree::load_file(tx, *curated.file);
  if (!file.ok() && file.error().kind() == Errc::Missing) return false;
  if (!file.ok()) return file.error();
  boost::system::error_code failed;
  const json::value metadata = json::parse(file->metadata, failed);
  const json::object* said = failed ? nullptr : metadata.if_object();
  const json::value* from = said == nullptr ? nullptr : said->if_contains("url");
  if (from == nullptr || !from->is_string()) return url == curated.url;
  return from->get_string() == url;
}

Result<CurateOutcome> curate(Tx& tx, const CuratedOrder& order) {
  TRY(validate(order, json::serialize(order.metadata)));
  TRY(lock_pool(tx));
  TRY_ASSIGN(const tree::Job job, tree::load_job(tx, order.job));
  if (!order.collection.empty() && order.collection != job.collection_name) {
    return Error{Errc::Invalid, fmt::format("collection: job {} is of '{}', not of '{}'", job.id,
                                            job.collection_name, order.collection)};
  }
  TRY_ASSIGN(const auto known, find_known(tx, order, job.collection));
  CurateOutcome outcome;
  if (known) {
    TRY_ASSIGN(const Curated before, load_curated(tx, order.kind, *known));
    TRY_ASSIGN(outcome, update(tx, order, before));
  } else {
    TRY_ASSIGN(outcome, add(tx, order, job.collection));
  }
  if (order.file) {
    TRY_ASSIGN(const MediaArrived media, media_of_file(tx, *order.file));
    TRY_ASSIGN(const bool changed, media_arrived(tx, outcome.id, media));
    if (changed && outcome.change == CuratedChange::Same) outcome.change = CuratedChange::Updated;
  }
  return outcome;
}

Result<bool> media_arrived(Tx& tx, CuratedId id, const MediaArrived& media) {
  TRY_ASSIGN(const Pool pool, lock_pool(tx));
  TRY_ASSIGN(const Curated before, load_curated(tx, id));
  TRY_ASSIGN(const tree::File file, tree::load_file(tx, media.file));
  const bool changed = before.media != MediaState::Ready || before.sha256 != media.sha256;
  std::optional<std::int64_t> number;
  if (before.number != 0) number = before.number;
  if (changed) {
    TRY(remove_research_of(tx, before.kind, id));
    if (before.kind == Kind::Clip) {
      TRY_ASSIGN(number, next_clip_number(tx, pool));
    }
  }
  TRY(tx.exec(kArrived, id, file.job, media.file, media.sha256, media.bytes, media.content_type,
              number));
  crash_point("research.media.arrived");
  return changed;
}

Result<> media_failed(Tx& tx, CuratedId id, const std::string& problem) {
  std::string text = valid_utf8(problem.substr(0, kTitleBytesMax));
  std::erase(text, '\0');
  TRY_ASSIGN(const std::int64_t changed, tx.exec(kFailed, id, text));
  if (changed == 0) return Error{Errc::Missing, fmt::format("there is nothing curated as {}", id)};
  return {};
}

Result<Curated> load_curated(Tx& tx, CuratedId id) {
  TRY_ASSIGN(const Rows rows, tx.query(kLoad, id));
  if (rows.empty()) return Error{Errc::Missing, fmt::format("there is nothing curated as {}", id)};
  return curated_of(rows[0]);
}

Result<Curated> load_curated(Tx& tx, Kind kind, CuratedId id) {
  TRY_ASSIGN(const Rows rows, tx.query(kLoad, id));
  if (rows.empty()) return nothing_of(kind, id);
  TRY_ASSIGN(Curated curated, curated_of(rows[0]));
  if (curated.kind != kind) return nothing_of(kind, id);
  return curated;
}

Result<std::vector<Curated>> list_curated(Tx& tx, const CuratedFilter& filter) {
  const std::size_t limit = std::min(filter.limit, kCuratedListedMax);
  TRY_ASSIGN(const Rows rows, tx.query(kList, static_cast<int>(filter.kind), filter.after,
                                       filter.collection, limit));
  std::vector<Curated> list;
  for (const Row row : rows) {
    TRY_ASSIGN(Curated curated, curated_of(row));
    list.push_back(std::move(curated));
  }
  return list;
}

Result<> set_priority(Tx& tx, Kind kind, CuratedId id, std::int64_t priority) {
  TRY(check_priority(priority));
  TRY_ASSIGN(const std::int64_t changed,
             tx.exec(kSetPriority, id, static_cast<int>(kind), priority));
  if (changed == 0) return nothing_of(kind, id);
  return {};
}

}  // namespace quern::research
