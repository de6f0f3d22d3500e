#include "blob/s3_sign.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cstdlib>

#include "base/check.h"
#include "blob/digest.h"
#include "net/target.h"

namespace quern::blob {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string hmac(std::string_view key, std::string_view text) {
  unsigned char raw[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(), raw,
             &size) != nullptr);
  return std::string(reinterpret_cast<const char*>(raw), size);
}

std::string escaped_path(std::string_view path) {
  std::string escaped;
  while (true) {
    const std::size_t slash = path.find('/');
    escaped += net::percent_encoded(path.substr(0, slash));
    if (slash == std::string_view::npos) return escaped;
    escaped += '/';
    path.remove_prefix(slash + 1);
  }
}

std::string escaped_query(const Pairs& query) {
  Pairs escaped;
  for (const auto& [name, value] : query) {
    escaped.emplace_back(net::percent_encoded(name), net::percent_encoded(value));
  }
  std::sort(escaped.begin(), escaped.end());
  std::string text;
  for (const auto& [name, value] : escaped) {
    text += fmt::format("{}{}={}", text.empty() ? "" : "&", name, value);
  }
  return text;
}

// The key of a day, a region and the service: nobody learns the secret from it.
std::string signing_key(const std::string& secret, std::string_view day, std::string_view region) {
  return hmac(hmac(hmac(hmac("AWS4" + secret, day), region), "s3"), "aws4_request");
}

}  // namespace

Result<S3Credentials> S3Credentials::from_environment() {
  S3Credentials credentials{variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"),
                            variable("AWS_SESSION_TOKEN")};
  if (credentials.access_key.empty() || credentials.secret_key.empty()) {
    return Error{Errc::Invalid,
                 "blobs in S3 need AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment"};
  }
  return credentials;
}

std::string s3_target(const S3Request& request) {
  const std::string query = escaped_query(request.query);
  return escaped_path(request.path) + (query.empty() ? "" : "?" + query);
}

Pairs s3_signed_headers(const S3Request& request, const S3Credentials& credentials,
                        std::string_view region, std::int64_t now_us) {
  const std::tm utc = fmt::gmtime(static_cast<std::time_t>(now_us / 1'000'000));
  const std::string time = fmt::format("{:%Y%m%dT%H%M%SZ}", utc);
  const std::string day = time.substr(0, 8);

  Pairs headers = request.headers;
  headers.emplace_back("x-amz-content-sha256", request.payload_sha256);
  headers.emplace_back("x-amz-date", time);
  if (!credentials.session_token.empty()) {
    headers.emplace_back("x-amz-security-token", credentials.session_token);
  }
  std::sort(headers.begin(), headers.end());
  std::string names;
  std::string canonical = fmt::format("{}\n{}\n{}\n", request.method, escaped_path(request.path),
                                      escaped_query(request.query));
  for (const auto& [name, value] : headers) {
    canonical += fmt::format("{}:{}\n", name, value);
    names += (names.empty() ? "" : ";") + name;
  }
  canonical += fmt::format("\n{}\n{}", names, request.payload_sha256);

  const std::string scope = fmt::format("{}/{}/s3/aws4_request", day, region);
  const std::string to_sign =
      fmt::format("{}\n{}\n{}\n{}", kAlgorithm, time, scope, hex_of(sha256_of(canonical)));
  const std::string signature =
      hex_of(hmac(signing_key(credentials.secret_key, day, region), to_sign));
  headers.emplace_back("authorization",
                       fmt::format("{} Credential={}/{}, SignedHeaders={}, Signature={}",
                                   kAlgorithm, credentials.access_key, scope, names, signature));
  return headers;
}

}  // namespace quern::blob
