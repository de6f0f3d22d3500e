// SavePageNow: asks the Wayback Machine to capture an address now (the protocol of "SPN2"), and
// waits for it, a bounded time.
//
// On the loop.
#pragma once

#include <boost/json.hpp>
#include <string>

#include "fileset/outside.h"
#include "net/loop.h"

namespace quern::fileset {

struct SpnOptions {
  std::string save = "https://web.archive.org/save";
  std::string access_key;
  std::string secret_key;
  int polls_max = 60;
  std::int64_t poll_ms = 3'000;
};

// `status`: success, or one of the result's documentation (spn2-…, invalid-url, forbidden, …).
struct SpnAnswer {
  std::string status;
  std::string message;
  bool passing = false;
  std::string url;       // that was captured, behind redirects
  std::string datetime;  // 14 digits
};

// What an end of a job means, by its `status_ext`: "error:not-found" is not-found, and so on.
SpnAnswer spn_failure(std::string_view status_ext, std::string message);

class SavePageNow {
 public:
  SavePageNow(net::Loop& loop, Outside& outside, SpnOptions options)
      : loop_(loop), outside_(outside), options_(std::move(options)) {}

  net::Task<SpnAnswer> save(std::string url);

 private:
  web::HeaderList headers() const;
  net::Task<SpnAnswer> check_room();
  net::Task<SpnAnswer> begin(std::string url, std::string* job);
  net::Task<SpnAnswer> wait_for(std::string job);

  net::Loop& loop_;
  Outside& outside_;
  SpnOptions options_;
};

}  // namespace quern::fileset
