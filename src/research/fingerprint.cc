#include "research/fingerprint.h"

#include <fmt/format.h>

#include "base/crash.h"
#include "research/episode_set.h"
#include "research/pool.h"

namespace quern::research {
namespace {

using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr Sql kNewest{
    "SELECT coalesce(max(version), 0) FROM research_fingerprint"
    " WHERE curated = $1"};
constexpr Sql kRemove{"DELETE FROM research_fingerprint WHERE curated = $1 RETURNING blob"};
constexpr Sql kAdd{
    "INSERT INTO research_fingerprint (curated, version, sha256, blob, waveform)"
    " VALUES ($1, $2, $3, $4, $5)"};
constexpr Sql kFind{
    "SELECT version, sha256, blob, waveform FROM research_fingerprint WHERE curated = $1"
    " AND ($2 = 0 OR version = $2) ORDER BY version DESC LIMIT 1"};

}  // namespace

Result<bool> store_fingerprint(Tx& tx, const Fingerprint& fingerprint, const blob::Put& bytes) {
  if (fingerprint.version < 1) return Error{Errc::Invalid, "version: a number from 1 on"};
  if (fingerprint.waveform.size() > kWaveformBytesMax) {
    return over_limit("waveform", std::ssize(fingerprint.waveform), kWaveformBytesMax,
                      "research.waveform_bytes_max");
  }
  if (bytes.bytes > static_cast<std::int64_t>(kFingerprintBytesMax)) {
    return over_limit("fingerprint", bytes.bytes, kFingerprintBytesMax,
                      "research.fingerprint_bytes_max");
  }
  TRY(lock_pool(tx));  // its media does not change meanwhile
  TRY_ASSIGN(const Curated curated, load_curated(tx, fingerprint.of));
  if (curated.media != MediaState::Ready || curated.sha256 != fingerprint.sha256) {
    return Error{Errc::Conflict,
                 fmt::format("the media of {} {} is another one by now: fetch it again",
                             to_string(curated.kind), curated.id)};
  }
  TRY_ASSIGN(const auto newest, tx.value<std::int64_t>(kNewest, fingerprint.of));
  if (newest > fingerprint.version) return true;
  const blob::Put* const put = &bytes;
  TRY_ASSIGN(const std::vector<blob::Stored> stored, blob::store_blobs(tx, std::span(&put, 1)));
  TRY_ASSIGN(const Rows old, tx.query(kRemove, fingerprint.of));
  std::vector<blob::BlobId> doubtful;
  for (const Row row : old) doubtful.push_back(row.get<blob::BlobId>(0));
  TRY(blob::doubt_blobs(tx, doubtful));
  TRY(tx.exec(kAdd, fingerprint.of, fingerprint.version, fingerprint.sha256, stored[0].id,
              as_blob(fingerprint.waveform)));
  crash_point("research.fingerprint.stored");
  return stored[0].adopted;
}

Result<std::optional<StoredFingerprint>> find_fingerprint(Tx& tx, CuratedId of,
                                                          std::optional<std::int64_t> version) {
  TRY_ASSIGN(const Rows rows, tx.query(kFind, of, version.value_or(0)));
  if (rows.empty()) return std::optional<StoredFingerprint>();
  const Row row = rows[0];
  return std::optional(StoredFingerprint{row.get<std::string>(1), row.get<std::int64_t>(0),
                                         row.get<blob::BlobId>(2), row.get<std::string>(3)});
}

}  // namespace quern::research
