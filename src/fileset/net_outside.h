// NetOutside: the outside as it is: answers and downloads over the network.
//
// Guarantee: what Hops and download.h say. A question is asked at most Ask.tries times, with
// doubling pauses between, and never after Ask.total_ms.
//
// On the loop. Lifetime: close() ends what waits; the fetcher and the pool outlive it, and so does
// it the loop's coroutines that use it.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "fileset/download.h"
#include "fileset/hops.h"
#include "fileset/outside.h"
#include "io/pool.h"

namespace quern::fileset {

inline constexpr int kWriterThreads = 2;

struct NetOutsideParts {
  net::Loop& loop;
  web::Fetcher& fetcher;
  io::Pool& pool;
};

struct NetOutsideOptions {
  web::AllowedHosts allowed;                 // beside the public ones
  std::map<std::string, std::string> bases;  // a beginning, and what is asked instead
  HostGateOptions gates;
  std::int64_t backoff_ms = kBackoffMs;
  std::int64_t part_sync_bytes = kPartSyncBytes;
  int attempts_max = kAttemptsMax;  // of one download
};

class NetOutside final : public Outside {
 public:
  NetOutside(NetOutsideParts parts, NetOutsideOptions options);
  ~NetOutside() override;
  NetOutside(const NetOutside&) = delete;
  NetOutside& operator=(const NetOutside&) = delete;

  net::Task<Answer> ask(Ask ask) override;
  net::Task<Downloaded> download(DownloadOrder order) override;
  // Nothing more is asked; what waits ends with a failure that passes.
  void close() { hops_.close(); }
  bool is_open() const override { return !hops_.is_closed(); }

 private:
  net::Task<Answer> answer_of(HopAnswer hop, std::int64_t bytes_max);

  NetOutsideParts parts_;
  NetOutsideOptions options_;
  Hops hops_;
  std::shared_ptr<io::Pool> writers_;
};

}  // namespace quern::fileset
