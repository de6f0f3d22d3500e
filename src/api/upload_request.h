// What the headers of an upload say (tus 1.0, see model/tus.h), as values. Pure.
//
// Errors are Invalid and say which header or key is wrong; TooLarge beyond a limit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/adding.h"
#include "model/tus.h"
#include "net/http.h"

namespace quern::api {

inline constexpr char kUploadContentType[] = "application/offset+octet-stream";

// A POST that makes an upload.
struct UploadOrder {
  std::int64_t length = 0;
  std::string metadata;  // as it is told again
  RootOrder root;
  std::string collection;
  std::int64_t job = 0;  // 0: one of its own
  std::int64_t index = 0;
  std::string key;  // Idempotency-Key, or empty
};
Result<UploadOrder> parse_upload(const net::Headers& headers, std::int64_t length_max);

// A PATCH.
struct PieceOrder {
  std::int64_t offset = 0;
  std::optional<model::TusChecksum> checksum;
};
Result<PieceOrder> parse_piece(const net::Headers& headers);
// Of a POST that brings bytes, too.
Result<std::optional<model::TusChecksum>> parse_checksum(const net::Headers& headers);
bool has_upload_content_type(const net::Headers& headers);

// X-HTTP-Method-Override of a POST wins: for clients that cannot send PATCH or DELETE.
net::Method tus_method(const net::RequestHead& request);
// 128 bits in hex: nothing else becomes the name of a file.
bool is_upload_name(std::string_view text);
// "Sun, 06 Nov 1994 08:49:37 GMT"
std::string http_date(std::int64_t time_us);

}  // namespace quern::api
