#include "model/tus.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/base64.h"

namespace quern::model {
namespace {

constexpr std::size_t kSha1Bytes = 20;
constexpr std::size_t kSha256Bytes = 32;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

bool is_key(std::string_view key) {
  const auto visible = [](char c) { return c > 0x20 && c < 0x7F && c != ','; };
  return !key.empty() && std::ranges::all_of(key, visible);
}

Error bad_metadata(std::string_view why) {
  return Error{Errc::Invalid,
               fmt::format("Upload-Metadata must be keys with base64 values, separated by commas: "
                           "{}",
                           why)};
}

}  // namespace

Result<TusMetadata> parse_tus_metadata(std::string_view header) {
  if (header.size() > kTusMetadataBytesMax) {
    return over_limit("Upload-Metadata", static_cast<std::int64_t>(header.size()),
                      kTusMetadataBytesMax, "tus.metadata_bytes_max");
  }
  TusMetadata metadata;
  header = trimmed(header);
  while (!header.empty()) {
    const std::size_t comma = header.find(',');
    const std::string_view pair = trimmed(header.substr(0, comma));
    const bool is_last = comma == std::string_view::npos;
    header.remove_prefix(is_last ? header.size() : comma + 1);
    if (!is_last && trimmed(header).empty()) return bad_metadata("it ends with a comma");

    const std::string_view key = pair.substr(0, pair.find(' '));
    if (!is_key(key)) return bad_metadata("a key is empty or has characters that are not visible");
    const auto value = base64_decoded(trimmed(pair.substr(key.size())));
    if (!value) return bad_metadata(fmt::format("the value of '{}' is no base64", key));
    if (!metadata.emplace(key, *value).second) {
      return bad_metadata(fmt::format("'{}' stands twice", key));
    }
  }
  return metadata;
}

std::string format_tus_metadata(const TusMetadata& metadata) {
  std::string header;
  for (const auto& [key, value] : metadata) {
    if (!header.empty()) header += ',';
    header += key;
    if (value.empty()) continue;
    header += ' ';
    append_base64(header, value);
  }
  return header;
}

Result<std::int64_t> parse_tus_number(std::string_view name, std::string_view header) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const Error wrong{Errc::Invalid, fmt::format("{} must be a whole number of bytes", name)};
  const std::string_view digits = trimmed(header);
  if (digits.empty()) return wrong;
  std::int64_t number = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return wrong;
    const int digit = c - '0';
    if (number > (kMax - digit) / 10) return wrong;
    number = number * 10 + digit;
  }
  return number;
}

Result<std::int64_t> parse_tus_length(const std::string* length, const std::string* defer_length) {
  if (defer_length != nullptr) {
    return Error{
        Errc::Invalid,
        "Upload-Defer-Length is not supported: say Upload-Length when creating the upload"};
  }
  if (length == nullptr) return Error{Errc::Invalid, "Upload-Length is missing"};
  return parse_tus_number("Upload-Length", *length);
}

Result<TusChecksum> parse_tus_checksum(std::string_view header) {
  const std::string_view text = trimmed(header);
  const std::string_view algorithm = text.substr(0, text.find(' '));
  TusChecksum checksum;
  if (algorithm == "sha256") {
    checksum.algorithm = TusChecksum::Algorithm::Sha256;
  } else if (algorithm != "sha1") {
    return Error{Errc::Invalid,
                 fmt::format("Upload-Checksum begins with one of {}", kTusChecksums)};
  }
  auto digest = base64_decoded(trimmed(text.substr(algorithm.size())));
  const bool is_sha1 = checksum.algorithm == TusChecksum::Algorithm::Sha1;
  if (!digest || digest->size() != (is_sha1 ? kSha1Bytes : kSha256Bytes)) {
    return Error{Errc::Invalid, fmt::format("Upload-Checksum: '{}' needs its digest in base64 "
                                            "behind it",
                                            algorithm)};
  }
  checksum.digest = *std::move(digest);
  return checksum;
}

std::string format_tus_checksum(const TusChecksum& checksum) {
  const bool is_sha1 = checksum.algorithm == TusChecksum::Algorithm::Sha1;
  return fmt::format("{} {}", is_sha1 ? "sha1" : "sha256", base64_encoded(checksum.digest));
}

}  // namespace quern::model
