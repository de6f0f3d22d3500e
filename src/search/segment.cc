#include "search/segment.h"

#include <fmt/format.h>

#include "base/crash.h"

namespace quern::search {
namespace {

using store::Bulk;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;
using tree::CollectionId;

#define QUERN_SEGMENT_COLUMNS                                                              \
  " s.id, s.collection, s.digest, s.blob, s.bytes, s.documents, s.text_bytes, s.file_min," \
  " s.file_max, s.mask_version, s.masked "
constexpr Sql kCollection{"SELECT id FROM collection WHERE name = $1"};
constexpr Sql kForsakenOfName{
    "SELECT collection FROM pack WHERE name = $1 AND NOT EXISTS"
    " (SELECT 1 FROM collection WHERE collection.id = pack.collection) ORDER BY collection LIMIT "
    "1"};
constexpr Sql kVersion{"SELECT version FROM pack WHERE collection = $1"};
constexpr Sql kLive{"SELECT" QUERN_SEGMENT_COLUMNS
                    "FROM segment AS s WHERE s.collection = $1 AND s.retired_us IS NULL"
                    " ORDER BY s.id LIMIT $2"};
constexpr Sql kPacks{
    "SELECT p.collection, p.name, p.version FROM pack AS p JOIN collection AS c"
    " ON c.id = p.collection ORDER BY p.name"};
constexpr Sql kForsaken{
    "SELECT name FROM pack WHERE NOT EXISTS"
    " (SELECT 1 FROM collection WHERE collection.id = pack.collection) ORDER BY collection"
    " LIMIT $1"};
constexpr Sql kMask{"SELECT mask_version, mask FROM segment WHERE id = $1"};
constexpr Sql kRetiredSince{
    "SELECT digest FROM segment WHERE retired_us IS NOT NULL AND retired_us >= $1"
    " ORDER BY retired_us LIMIT $2"};
constexpr Sql kByDigest{"SELECT" QUERN_SEGMENT_COLUMNS
                        "FROM segment AS s WHERE s.digest = $1 ORDER BY s.id DESC LIMIT 1"};

constexpr Sql kLockPack{
    "INSERT INTO pack AS p (collection, name, version, published_us) VALUES ($1, $2, 0, $3)"
    " ON CONFLICT (collection) DO UPDATE SET published_us = p.published_us RETURNING version"};
constexpr Sql kSwap{"UPDATE pack SET version = $2, published_us = $3 WHERE collection = $1"};
constexpr Sql kAdd{
    "INSERT INTO segment (collection, digest, blob, bytes, documents, text_bytes, file_min,"
    " file_max, mask, masked) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"};
constexpr Sql kRetire{
    "UPDATE segment SET retired_us = $2 WHERE id = $1 AND retired_us IS NULL",
    "UPDATE segment AS s SET retired_us = w.now_us FROM unnest($1::bigint[], $2::bigint[])"
    " AS w (id, now_us) WHERE s.id = w.id AND s.retired_us IS NULL"};
constexpr Sql kSetMask{
    "UPDATE segment SET mask = $2, masked = $3, mask_version = mask_version + 1"
    " WHERE id = $1 AND retired_us IS NULL"};
constexpr Sql kRetired{
    "DELETE FROM segment WHERE id IN (SELECT id FROM segment WHERE retired_us IS NOT NULL"
    " AND retired_us <= $1 ORDER BY retired_us LIMIT $2) RETURNING blob"};
constexpr Sql kRemovePacks{
    "DELETE FROM pack WHERE NOT EXISTS (SELECT 1 FROM collection WHERE collection.id ="
    " pack.collection) AND NOT EXISTS (SELECT 1 FROM segment WHERE segment.collection ="
    " pack.collection)"};

Segment segment_of(const Row& row) {
  Segment segment;
  segment.id = row.get<SegmentId>(0);
  segment.collection = row.get<CollectionId>(1);
  segment.digest = row.get<std::string>(2);
  segment.blob = row.get<blob::BlobId>(3);
  segment.bytes = row.get<std::int64_t>(4);
  segment.documents = row.get<std::int64_t>(5);
  segment.text_bytes = row.get<std::int64_t>(6);
  segment.file_min = row.get<std::int64_t>(7);
  segment.file_max = row.get<std::int64_t>(8);
  segment.mask_version = row.get<std::int64_t>(9);
  segment.masked = row.get<std::int64_t>(10);
  return segment;
}

Result<std::vector<Segment>> load_live(Tx& tx, CollectionId collection) {
  TRY_ASSIGN(const Rows rows, tx.query(kLive, collection, kSegmentsMax));
  std::vector<Segment> segments;
  for (const Row row : rows) segments.push_back(segment_of(row));
  return segments;
}

store::Bytes bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::optional<store::Bytes> mask_of(const std::string& bits, std::int64_t masked) {
  if (masked == 0) return std::nullopt;
  return bytes_of(bits);
}

Result<bool> add_segment(Tx& tx, CollectionId collection, const NewSegment& added) {
  const blob::Put* const put = &added.put;
  TRY_ASSIGN(const std::vector<blob::Stored> stored, blob::store_blobs(tx, std::span(&put, 1)));
  crash_point("search.segment.adding");
  const PackInfo& info = added.info;
  TRY(tx.exec(kAdd, collection, info.digest, stored[0].id, info.file_bytes, info.documents,
              info.text_bytes, info.file_min, info.file_max, mask_of(added.mask, added.masked),
              added.masked));
  return stored[0].adopted;
}

}  // namespace

Result<PackList> load_pack(Tx& tx, const std::string& name) {
  PackList pack;
  pack.name = name;
  TRY_ASSIGN(std::optional<CollectionId> id, tx.find_value<CollectionId>(kCollection, name));
  if (!id) {
    TRY_ASSIGN(id, tx.find_value<CollectionId>(kForsakenOfName, name));
    pack.forsaken = id.has_value();
  }
  if (!id) return Error{Errc::Missing, fmt::format("there is no collection '{}'", name)};
  pack.collection = *id;
  TRY_ASSIGN(const auto version, tx.find_value<std::int64_t>(kVersion, *id));
  pack.version = version.value_or(0);
  TRY_ASSIGN(pack.segments, load_live(tx, *id));
  return pack;
}

Result<std::vector<PackList>> load_packs(Tx& tx) {
  TRY_ASSIGN(const Rows rows, tx.query(kPacks));
  std::vector<PackList> packs;
  for (const Row row : rows) {
    PackList pack{row.get<CollectionId>(0), row.get<std::string>(1), row.get<std::int64_t>(2)};
    TRY_ASSIGN(pack.segments, load_live(tx, pack.collection));
    packs.push_back(std::move(pack));
  }
  return packs;
}

Result<std::vector<std::string>> list_forsaken(Tx& tx) {
  TRY_ASSIGN(const Rows rows, tx.query(kForsaken, tree::kListMax));
  std::vector<std::string> names;
  for (const Row row : rows) names.push_back(row.get<std::string>(0));
  return names;
}

Result<StoredMask> load_mask(Tx& tx, SegmentId id) {
  TRY_ASSIGN(const Rows rows, tx.query(kMask, id));
  if (rows.empty()) return Error{Errc::Missing, fmt::format("there is no segment {}", id)};
  return StoredMask{rows[0].get<std::int64_t>(0),
                    rows[0].is_null(1) ? std::string() : rows[0].get<std::string>(1)};
}

Result<std::vector<std::string>> list_retired_since(Tx& tx, std::int64_t since_us) {
  TRY_ASSIGN(const Rows rows, tx.query(kRetiredSince, since_us, tree::kListMax));
  std::vector<std::string> digests;
  for (const Row row : rows) digests.push_back(row.get<std::string>(0));
  return digests;
}

Result<Segment> load_segment(Tx& tx, const std::string& digest) {
  TRY_ASSIGN(const Rows rows, tx.query(kByDigest, digest));
  if (rows.empty()) return Error{Errc::Missing, fmt::format("there is no segment {}", digest)};
  return segment_of(rows[0]);
}

Result<Published> publish(Tx& tx, const Publication& publication) {
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  const CollectionId collection = publication.collection;
  TRY_ASSIGN(const std::int64_t version,
             tx.value<std::int64_t>(kLockPack, collection, publication.name, now_us));
  if (version != publication.from_version) {
    return Error{Errc::Conflict, fmt::format("the pack of '{}' is at version {}, not {}",
                                             publication.name, version, publication.from_version)};
  }
  Published published{version + 1, false};
  if (publication.added) {
    TRY_ASSIGN(published.blob_adopted, add_segment(tx, collection, *publication.added));
  }
  Bulk retired;
  for (const SegmentId id : publication.retired) retired.add(id, now_us);
  TRY(tx.bulk(kRetire, retired));
  for (const NewMask& mask : publication.masks) {
    TRY(tx.exec(kSetMask, mask.segment, mask_of(mask.bits, mask.masked), mask.masked));
  }
  TRY(tree::drop_changes(tx, publication.changes));
  crash_point("search.publishing");
  TRY(tx.exec(kSwap, collection, published.version, now_us));
  return published;
}

Result<std::int64_t> remove_retired(Tx& tx, std::int64_t kept_us) {
  TRY_ASSIGN(const std::int64_t now_us, tx.now_us());
  TRY_ASSIGN(const Rows rows, tx.query(kRetired, now_us - kept_us, kRetiredRemovedAtOnce));
  std::vector<blob::BlobId> blobs;
  for (const Row row : rows) blobs.push_back(row.get<blob::BlobId>(0));
  TRY(blob::doubt_blobs(tx, blobs));
  TRY(tx.exec(kRemovePacks));
  return static_cast<std::int64_t>(rows.size());
}

}  // namespace quern::search
