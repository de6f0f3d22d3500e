// Fingerprints: of an episode or a clip, by version, with the picture of the sound's loudness. The
// bytes are a blob.
//
// Guarantee: a fingerprint is of the media that its episode or clip has; one of other bytes is not
// taken, and it goes when the media does. A newer version takes the place of the older ones.
//
// Functions run on the writer, or in a read where they only load.
#pragma once

#include <optional>
#include <string>

#include "blob/blob.h"
#include "research/curated.h"

namespace quern::research {

inline constexpr std::size_t kFingerprintBytesMax = 64 * 1024 * 1024;
inline constexpr std::size_t kWaveformBytesMax = 4096;

struct Fingerprint {
  CuratedId of = 0;
  std::string sha256;  // hexadecimal, of the media it was made of
  std::int64_t version = 0;
  std::string waveform;  // at most kWaveformBytesMax, one byte a point
};

struct StoredFingerprint {
  std::string sha256;
  std::int64_t version = 0;
  blob::BlobId blob;
  std::string waveform;
};

// `bytes` are durable and nameless (blob/row.h). Whether their place is unused now, as equal bytes
// were there, or a newer version is: then discard it. Missing; Conflict where it is of other bytes
// than the media; Stale (see blob::store_blobs); Invalid, TooLarge. Alone.
Result<bool> store_fingerprint(store::Tx& tx, const Fingerprint& fingerprint,
                               const blob::Put& bytes);
// The newest, or that of one version.
Result<std::optional<StoredFingerprint>> find_fingerprint(
    store::Tx& tx, CuratedId of, std::optional<std::int64_t> version = std::nullopt);

}  // namespace quern::research
