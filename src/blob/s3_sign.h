// AWS Signature Version 4 of requests to S3. Pure: the time is given.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace quern::blob {

struct S3Credentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token;  // may be empty

  // AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, where it is set, AWS_SESSION_TOKEN. Invalid where
  // one is missing.
  static Result<S3Credentials> from_environment();
};

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct S3Request {
  std::string method;
  std::string path;            // not escaped: "/bucket/key"
  Pairs query;                 // likewise
  Pairs headers;               // names in lower case, "host" among them
  std::string payload_sha256;  // in hexadecimal
};

// The request's target, escaped as it was signed: "/bucket/key?list-type=2".
std::string s3_target(const S3Request& request);
// The request's headers, and those that sign it.
Pairs s3_signed_headers(const S3Request& request, const S3Credentials& credentials,
                        std::string_view region, std::int64_t now_us);

}  // namespace quern::blob
