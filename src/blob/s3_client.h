// S3Client: requests to one bucket, signed, with retries. Inside blob only.
//
// What may succeed when it is asked again (no connection, a cut one, 5xx, "slow down") is asked
// again, with growing pauses, at most attempts_max times; so a call blocks for a bounded time.
// Threads: all functions from any thread; connections are kept and shared.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "blob/s3_sign.h"
#include "blob/url.h"

using CURL = void;  // as libcurl has it

namespace quern::blob {

struct S3Options {
  int attempts_max = 5;
  int backoff_ms = 100;  // doubled with each attempt
  int connect_ms_max = 5'000;
  int stalled_s_max = 30;  // without a byte in either direction
  int request_ms_max = 600'000;
};

struct S3Call {
  std::string method = "GET";
  std::string key;  // empty: the bucket itself
  Pairs query;
  Pairs headers;
  std::string_view body;
  std::size_t reply_bytes_max = 4 * 1024 * 1024;
};

struct S3Reply {
  int status = 0;
  std::string etag;
  std::int64_t content_length = -1;
  std::string body;
};

class S3Client {
 public:
  static Result<std::unique_ptr<S3Client>> open(const BlobUrl& url, S3Credentials credentials,
                                                S3Options options);
  ~S3Client();
  S3Client(const S3Client&) = delete;
  S3Client& operator=(const S3Client&) = delete;

  // A success is 2xx. Missing (404), Denied (401, 403), Conflict (409, 412), Full (a quota),
  // Invalid (other 4xx), Unavailable and Timeout when all attempts failed.
  Result<S3Reply> call(const S3Call& call);

 private:
  struct Idle;
  S3Client(BlobUrl url, S3Credentials credentials, S3Options options);
  Result<S3Reply> call_once(const S3Call& call);
  CURL* take_handle();
  void give_back(CURL* handle);

  const BlobUrl url_;
  const S3Credentials credentials_;
  const S3Options options_;
  std::string base_;  // http://host:port
  std::string host_;
  std::string path_;  // of the bucket: "/" or "/BUCKET/"
  std::mutex mutex_;
  std::vector<CURL*> idle_;  // under mutex_
};

}  // namespace quern::blob
