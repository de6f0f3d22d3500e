// Outside: how everything of this folder reaches other machines. Platforms, archives and uploads
// ask through it, so that politeness, limits, retries and address rules are in one place, and so
// that a test can answer from a script.
//
// On the loop.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "net/loop.h"
#include "net/task.h"
#include "web/fetcher.h"

namespace quern::fileset {

inline constexpr std::int64_t kAnswerBytesMax = 64LL * 1024 * 1024;  // of an API
inline constexpr int kHopsMax = 25;
inline constexpr std::int64_t kStopLookMs = 200;  // how often what waits looks for its mark

struct Ask {
  std::string url;
  std::string method = "GET";  // HEAD, POST, PUT
  web::HeaderList headers;
  std::string body;
  std::filesystem::path file;  // the body of a PUT where it is not empty
  std::int64_t bytes_max = kAnswerBytesMax;
  std::int64_t total_ms = 60'000;
  int tries = 5;       // for what may pass: no answer, 429, 500, 502, 503, 504
  bool follow = true;  // redirects; else who asks sees them
  web::StopMark stop;  // it ends soon, as Canceled
};

// `problem` None: there was an answer, whatever its status.
struct Answer {
  web::FetchProblem problem = web::FetchProblem::None;
  std::string message;  // for people
  int status = 0;
  web::HeaderList headers;
  std::string body;  // decoded
  std::string url;   // that answered, behind redirects
  int tries = 1;
  std::string request_head;
  std::string address;
  std::int64_t began_us = 0;
  web::Fetched last;  // as it came: for an archive
};

// A file of a dataset. Bytes gather in `part`, durably; a part that is there already is gone on
// with where the server still has the same (If-Range), and begun again where it has not.
struct DownloadOrder {
  std::string url;
  web::HeaderList headers;
  std::filesystem::path part;
  std::optional<std::int64_t> size;  // what the manifest says
  std::string md5;
  std::string sha1;
  std::string sha256;
  std::int64_t bytes_max = 0;  // no file is larger
  std::int64_t idle_ms = 60'000;
  std::int64_t total_ms = 24LL * 3600 * 1000;  // of this call
  int tries = 8;                               // without a byte of progress between them
  web::StopMark stop;                          // it ends soon, as canceled
};

// `status` is verified-local, or error-platform-download, canceled, mismatch-size, mismatch-sha1,
// mismatch-sha256, mismatch-md5, too-large-size. Where it is verified, `part` has exactly the
// file's bytes and is synced; where it does not match, `part` is gone; else what came is synced.
struct Downloaded {
  std::string status;
  std::string message;
  bool passing = false;  // asking again later may help
  std::int64_t size = 0;
  std::string md5;
  std::string sha1;
  std::string sha256;
  std::string terminal_url;  // behind redirects
  int http_status = 0;       // of the whole: 200
  web::HeaderList headers;   // of the first answer that gave bytes
  std::string request_head;
  std::string address;
  std::int64_t began_us = 0;
  std::int64_t wire_bytes = 0;  // that came over the network in this call
  int tries = 1;
};

class Outside {
 public:
  virtual ~Outside() = default;
  virtual net::Task<Answer> ask(Ask ask) = 0;
  virtual net::Task<Downloaded> download(DownloadOrder order) = 0;
  // False once nothing more is asked for: what waits to ask again gives up.
  virtual bool is_open() const { return true; }
};

// Waits so long, or until the outside is closed; false then.
net::Task<bool> rest(net::Loop& loop, const Outside& outside, std::int64_t ms);

// An outside that somebody can close: what is under way through it ends soon.
class MarkedOutside final : public Outside {
 public:
  MarkedOutside(Outside& outside, web::StopMark stop) : outside_(outside), stop_(std::move(stop)) {}

  net::Task<Answer> ask(Ask ask) override;
  net::Task<Downloaded> download(DownloadOrder order) override;
  bool is_open() const override { return !web::is_set(stop_) && outside_.is_open(); }

 private:
  Outside& outside_;
  const web::StopMark stop_;
};

}  // namespace quern::fileset
