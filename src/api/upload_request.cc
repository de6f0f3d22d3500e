#include "api/upload_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "api/job_json.h"
#include "api/request.h"
#include "base/utf8.h"
#include "net/target.h"

namespace quern::api {
namespace {

constexpr std::size_t kNameDigits = 32;
constexpr std::int64_t kSecondUs = 1'000'000;
// Keys that mean something here; others are the client's own, and are only told again.
constexpr std::string_view kKeys[] = {"filename", "content_type",  "collection", "job",     "index",
                                      "ocr",      "split_by_page", "language",   "metadata"};

const std::string* find(const model::TusMetadata& metadata, std::string_view key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? nullptr : &found->second;
}

// The metadata in the shape of a query, so that both are read by the same rules.
Result<net::Target> as_target(const model::TusMetadata& metadata) {
  net::Target target;
  for (const std::string_view key : kKeys) {
    const std::string* value = find(metadata, key);
    // As uploaders in browsers call it.
    if (value == nullptr && key == "content_type") value = find(metadata, "filetype");
    if (value == nullptr) continue;
    if (!is_valid_utf8(*value) || value->find('\0') != std::string::npos) {
      return Error{Errc::Invalid,
                   fmt::format("Upload-Metadata: '{}' must be UTF-8 without NUL", key)};
    }
    target.parameters.emplace_back(key, *value);
  }
  return target;
}

Result<> read_metadata(const model::TusMetadata& metadata, UploadOrder& order) {
  TRY_ASSIGN(const net::Target target, as_target(metadata));
  Parameters parameters(target);
  TRY_ASSIGN(order.root, parse_root(parameters));
  order.collection = parameters.text("collection");
  if (order.collection.empty()) order.collection = kDefaultCollection;
  const std::optional<std::int64_t> job = parameters.number("job", 1);
  const std::optional<std::int64_t> index = parameters.number("index");
  TRY(parameters.finish().with_context("Upload-Metadata"));
  if (job.has_value() != index.has_value()) {
    return Error{Errc::Invalid, "Upload-Metadata: 'job' and 'index' go together"};
  }
  order.job = job.value_or(0);
  order.index = index.value_or(0);
  TRY(tree::validate_collection_name(order.collection));
  return validate(order.root);
}

}  // namespace

Result<UploadOrder> parse_upload(const net::Headers& headers, std::int64_t length_max) {
  UploadOrder order;
  TRY_ASSIGN(order.length, model::parse_tus_length(headers.find("Upload-Length"),
                                                   headers.find("Upload-Defer-Length")));
  if (order.length > length_max) {
    return over_limit("Upload-Length", order.length, length_max, "Tus-Max-Size");
  }
  const std::string* given = headers.find("Upload-Metadata");
  TRY_ASSIGN(const model::TusMetadata metadata,
             model::parse_tus_metadata(given == nullptr ? "" : *given));
  order.metadata = model::format_tus_metadata(metadata);
  TRY(read_metadata(metadata, order));
  if (const std::string* key = headers.find("Idempotency-Key"); key != nullptr) order.key = *key;
  return order;
}

Result<std::optional<model::TusChecksum>> parse_checksum(const net::Headers& headers) {
  const std::string* given = headers.find("Upload-Checksum");
  if (given == nullptr) return std::optional<model::TusChecksum>();
  TRY_ASSIGN(model::TusChecksum checksum, model::parse_tus_checksum(*given));
  return std::optional(std::move(checksum));
}

Result<PieceOrder> parse_piece(const net::Headers& headers) {
  const std::string* offset = headers.find("Upload-Offset");
  if (offset == nullptr) return Error{Errc::Invalid, "Upload-Offset is missing"};
  PieceOrder order;
  TRY_ASSIGN(order.offset, model::parse_tus_number("Upload-Offset", *offset));
  TRY_ASSIGN(order.checksum, parse_checksum(headers));
  return order;
}

bool has_upload_content_type(const net::Headers& headers) {
  const std::string* type = headers.find("Content-Type");
  if (type == nullptr) return false;
  const std::string_view bare = std::string_view(*type).substr(0, type->find(';'));
  return net::equals_ignoring_case(net::trimmed(bare), kUploadContentType);
}

net::Method tus_method(const net::RequestHead& request) {
  const std::string* given = request.headers.find("X-HTTP-Method-Override");
  // Of a POST only: who may only read must not change something by a header.
  if (given == nullptr || request.method != net::Method::Post) return request.method;
  return net::method_of(net::trimmed(*given));
}

bool is_upload_name(std::string_view text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == kNameDigits && std::all_of(text.begin(), text.end(), is_digit);
}

std::string http_date(std::int64_t time_us) {
  const std::time_t seconds = time_us / kSecondUs;
  std::tm parts = {};
  CHECK(::gmtime_r(&seconds, &parts) != nullptr);
  // The program never sets a locale, so the names are English.
  char text[64];
  const std::size_t size = std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return std::string(text, size);
}

}  // namespace quern::api
