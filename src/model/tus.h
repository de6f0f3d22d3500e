// Headers of the tus resumable upload protocol, version 1.0: text in, values out, and back. Pure.
//
// Invalid says which header is wrong and how it should look.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace quern::model {

inline constexpr std::string_view kTusVersion = "1.0.0";
inline constexpr std::string_view kTusExtensions =
    "creation,creation-with-upload,termination,checksum,expiration";
inline constexpr std::string_view kTusChecksums = "sha1,sha256";
inline constexpr std::size_t kTusMetadataBytesMax = 64 * 1024;

// "filename d29ybGQ=,is_confidential": keys with base64 values, or none. Keys are not empty, have
// no blank or comma and stand once; a value is bytes (not always text). TooLarge beyond the limit.
using TusMetadata = std::map<std::string, std::string, std::less<>>;
Result<TusMetadata> parse_tus_metadata(std::string_view header);
std::string format_tus_metadata(const TusMetadata& metadata);

// Upload-Length and Upload-Offset: digits, within 63 bits. `name` is for the sentence.
Result<std::int64_t> parse_tus_number(std::string_view name, std::string_view header);

// How long an upload will be: of its Upload-Length and Upload-Defer-Length headers (nullptr where
// absent). Deferred lengths are refused: we do not announce that extension.
Result<std::int64_t> parse_tus_length(const std::string* length, const std::string* defer_length);

struct TusChecksum {
  enum class Algorithm { Sha1, Sha256 };
  Algorithm algorithm = Algorithm::Sha1;
  std::string digest;  // raw bytes: 20 or 32

  friend bool operator==(const TusChecksum&, const TusChecksum&) = default;
};
// "sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=". Invalid also for algorithms other than kTusChecksums.
Result<TusChecksum> parse_tus_checksum(std::string_view header);
std::string format_tus_checksum(const TusChecksum& checksum);

}  // namespace quern::model
