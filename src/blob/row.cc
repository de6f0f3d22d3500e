#include "blob/row.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/crash.h"
#include "blob/digest.h"

namespace quern::blob {
namespace {

using store::Bulk;
using store::Row;
using store::Rows;
using store::Sql;
using store::StoreKind;
using store::Tx;

// FOR KEY SHARE waits for whoever declares the session dead, and not for its renewals.
constexpr Sql kLiveSessions{"SELECT id FROM blob_session WHERE id = $1 AND NOT dead",
                            "SELECT id FROM blob_session WHERE id = ANY($1::bigint[]) AND NOT dead"
                            " ORDER BY id LIMIT 100000 FOR KEY SHARE"};

// PostgreSQL: what is there is held against sweeps; what is not is inserted. A row that another
// transaction inserts meanwhile is held by the update, which changes nothing. All in one order.
constexpr Sql kStore{
    "INSERT INTO blob (sha256, sha1, bytes, data, place) VALUES ($1, $2, $3, $4, $5)"
    " ON CONFLICT (sha256) DO NOTHING RETURNING sha256, id, bytes, place",
    "WITH held AS MATERIALIZED ("
    "  SELECT sha256, id, bytes, place FROM blob WHERE sha256 = ANY($1::bytea[])"
    "  ORDER BY sha256 FOR KEY SHARE),"
    " made AS ("
    "  INSERT INTO blob (sha256, sha1, bytes, data, place)"
    "  SELECT g.sha256, g.sha1, g.bytes, g.data, g.place"
    "  FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bytea[], $5::text[])"
    "   AS g (sha256, sha1, bytes, data, place)"
    "  WHERE NOT EXISTS (SELECT 1 FROM held WHERE held.sha256 = g.sha256)"
    "  ORDER BY g.sha256"
    "  ON CONFLICT (sha256) DO UPDATE SET bytes = blob.bytes"
    "  RETURNING sha256, id, bytes, place)"
    " SELECT sha256, id, bytes, place, TRUE FROM held"
    " UNION ALL SELECT sha256, id, bytes, place, FALSE FROM made LIMIT 100000"};
constexpr Sql kFindBySha256{"SELECT sha256, id, bytes, place FROM blob WHERE sha256 = $1"};

constexpr Sql kLoad{
    "SELECT id, bytes, sha256, sha1, place FROM blob WHERE id = $1",
    "SELECT id, bytes, sha256, sha1, place FROM blob WHERE id = ANY($1::bigint[]) LIMIT 100000"};
constexpr Sql kLoadWithData{
    "SELECT id, bytes, sha256, sha1, place, data FROM blob WHERE id = $1",
    "SELECT id, bytes, sha256, sha1, place, data FROM blob WHERE id = ANY($1::bigint[])"
    " LIMIT 100000"};
constexpr Sql kKeep{
    "SELECT id FROM blob WHERE id = $1",
    "SELECT id FROM blob WHERE id = ANY($1::bigint[]) ORDER BY sha256 LIMIT 100000 FOR KEY SHARE"};
constexpr Sql kDoubt{"INSERT INTO blob_doubt (blob) VALUES ($1)",
                     "INSERT INTO blob_doubt (blob) SELECT unnest($1::bigint[])"};

store::Bytes as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

void check_shape(const Put& put) {
  CHECK(put.sha256.size() == kSha256Bytes && put.sha1.size() == kSha1Bytes);
  const bool is_inline = put.bytes <= static_cast<std::int64_t>(kInlineBytesMax);
  CHECK(is_inline == put.place.empty());
  CHECK(is_inline ? put.data.size() == static_cast<std::size_t>(put.bytes) : put.session != 0);
}

Result<> expect_live_sessions(Tx& tx, std::span<const Put* const> puts) {
  std::set<std::int64_t> sessions;
  for (const Put* put : puts) {
    if (!put->place.empty()) sessions.insert(put->session);
  }
  Bulk ids;
  for (const std::int64_t session : sessions) ids.add(session);
  TRY_ASSIGN(const Rows live, tx.bulk(kLiveSessions, ids));
  if (live.size() == sessions.size()) return {};
  // The batch is taken apart, so that only those with such a place fail.
  tx.spoil();
  return Error{Errc::Stale, "the session that wrote these bytes is dead; put them again"};
}

// The first put of each content, by SHA-256.
std::vector<const Put*> distinct(std::span<const Put* const> puts) {
  std::vector<const Put*> sorted(puts.begin(), puts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Put* a, const Put* b) { return a->sha256 < b->sha256; });
  const auto same = [](const Put* a, const Put* b) { return a->sha256 == b->sha256; };
  sorted.erase(std::unique(sorted.begin(), sorted.end(), same), sorted.end());
  return sorted;
}

struct Found {
  BlobId id;
  std::int64_t bytes;
  std::string place;
  bool adopted;
};
using FoundBySha256 = std::unordered_map<std::string, Found>;

Found found_in(const Row& row, bool adopted) {
  return {row.get<BlobId>(1), row.get<std::int64_t>(2),
          row.get<std::optional<std::string>>(3).value_or(""), adopted};
}

Result<FoundBySha256> insert_or_hold(Tx& tx, std::span<const Put* const> puts) {
  Bulk rows;
  for (const Put* put : puts) {
    const bool is_inline = put->place.empty();
    std::optional<store::Bytes> data;
    if (is_inline) data = as_bytes(put->data);
    std::optional<std::string_view> place;
    if (!is_inline) place = put->place;
    rows.add(as_bytes(put->sha256), as_bytes(put->sha1), put->bytes, data, place);
  }
  TRY_ASSIGN(const Rows stored, tx.bulk(kStore, rows));
  const bool tells = tx.store() == StoreKind::Postgres;
  FoundBySha256 found;
  for (const Row row : stored) {
    found.emplace(row.get<std::string>(0), found_in(row, tells && row.get<bool>(4)));
  }
  return found;
}

// SQLite says nothing about rows that were there.
Result<> find_the_others(Tx& tx, std::span<const Put* const> puts, FoundBySha256& found) {
  Bulk others;
  for (const Put* put : puts) {
    if (!found.contains(put->sha256)) others.add(as_bytes(put->sha256));
  }
  TRY_ASSIGN(const Rows rows, tx.bulk(kFindBySha256, others));
  for (const Row row : rows) found.emplace(row.get<std::string>(0), found_in(row, true));
  return {};
}

Blob blob_in(const Row& row, Data data) {
  Blob blob{row.get<BlobId>(0),
            row.get<std::int64_t>(1),
            row.get<std::string>(2),
            row.get<std::string>(3),
            row.get<std::optional<std::string>>(4).value_or(""),
            {}};
  if (data == Data::With) blob.data = row.get<std::optional<std::string>>(5).value_or("");
  return blob;
}

Bulk distinct_ids(std::span<const BlobId> ids) {
  Bulk rows;
  for (const BlobId id : std::set<BlobId>(ids.begin(), ids.end())) rows.add(id);
  return rows;
}

Error no_such_blob(BlobId id) {
  return Error{Errc::Missing, fmt::format("there is no blob {}", id)};
}

}  // namespace

Result<std::vector<Stored>> store_blobs(Tx& tx, std::span<const Put* const> puts) {
  if (puts.empty()) return std::vector<Stored>();
  for (const Put* put : puts) check_shape(*put);
  TRY(expect_live_sessions(tx, puts));
  const std::vector<const Put*> firsts = distinct(puts);
  TRY_ASSIGN(FoundBySha256 found, insert_or_hold(tx, firsts));
  if (found.size() < firsts.size()) TRY(find_the_others(tx, firsts, found));
  CHECK(found.size() == firsts.size());
  crash_point("blob.rows.stored");

  std::vector<Stored> stored;
  stored.reserve(puts.size());
  for (const Put* put : puts) {
    const Found& row = found.at(put->sha256);
    if (row.bytes != put->bytes) {
      tx.spoil();
      return Error{Errc::Corrupt, fmt::format("blob {} has {} bytes; others of the same SHA-256 "
                                              "have {}",
                                              row.id, row.bytes, put->bytes)};
    }
    // A place says who made the row, also where a lost answer made us store it again.
    stored.push_back({row.id, put->place.empty() ? row.adopted : row.place != put->place});
  }
  return stored;
}

Result<Blob> load_blob(Tx& tx, BlobId id, Data data) {
  TRY_ASSIGN(std::vector<Blob> blobs, load_blobs(tx, std::span(&id, 1), data));
  return std::move(blobs.front());
}

Result<std::vector<Blob>> load_blobs(Tx& tx, std::span<const BlobId> ids, Data data) {
  TRY_ASSIGN(const Rows rows,
             tx.bulk(data == Data::With ? kLoadWithData : kLoad, distinct_ids(ids)));
  std::unordered_map<BlobId, std::size_t> at;
  for (std::size_t i = 0; i < rows.size(); ++i) at.emplace(rows[i].get<BlobId>(0), i);
  std::vector<Blob> blobs;
  blobs.reserve(ids.size());
  for (const BlobId id : ids) {
    const auto found = at.find(id);
    if (found == at.end()) return no_such_blob(id);
    blobs.push_back(blob_in(rows[found->second], data));
  }
  return blobs;
}

Result<> keep_blobs(Tx& tx, std::span<const BlobId> ids) {
  TRY_ASSIGN(const Rows rows, tx.bulk(kKeep, distinct_ids(ids)));
  std::set<BlobId> kept;
  for (const Row row : rows) kept.insert(row.get<BlobId>(0));
  for (const BlobId id : ids) {
    if (!kept.contains(id)) return no_such_blob(id);
  }
  return {};
}

Result<> doubt_blobs(Tx& tx, std::span<const BlobId> ids) {
  TRY(tx.bulk(kDoubt, distinct_ids(ids)));
  return {};
}

}  // namespace quern::blob
