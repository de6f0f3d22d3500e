// Downloads: one file of a dataset, from wherever its part stands to verified bytes.
//
//   open the part -> ask (Range, If-Range) -> bytes -> synced, noted -> sums compared -> verified
//
// Guarantee: no byte that a note calls synced is asked for again while the server still has the
// same file; bytes of two versions never end as one file: what was put together from several
// answers and does not match is fetched once more as a whole. Nothing is called verified that is
// not on the disk and has every size and sum that the order names.
//
// Limits: order.tries without progress, attempts_max in all, order.total_ms, order.idle_ms,
// order.bytes_max (kFileBytesMax where it is 0). On the loop; the disk on pools.
#pragma once

#include <memory>

#include "fileset/download_part.h"
#include "fileset/download_sink.h"
#include "fileset/hops.h"
#include "fileset/outside.h"
#include "io/pool.h"

namespace quern::fileset {

inline constexpr std::int64_t kFileBytesMax = 64LL << 30;
inline constexpr int kAttemptsMax = 1000;
inline constexpr int kOddAnswersMax = 3;  // in a row
inline constexpr std::int64_t kBackoffMs = 1000;
inline constexpr std::int64_t kBackoffMsMax = 60'000;

struct DownloadParts {
  net::Loop& loop;
  web::Fetcher& fetcher;
  io::Pool& pool;
  std::shared_ptr<io::Pool> writers;
  Hops& hops;
  std::int64_t sync_bytes = kPartSyncBytes;
  std::int64_t backoff_ms = kBackoffMs;
  int attempts_max = kAttemptsMax;
};

net::Task<Downloaded> download_file(DownloadParts parts, DownloadOrder order);

// Before the second try, doubled for each further one.
std::int64_t backoff_ms(std::int64_t first_ms, int failures);
// The first of mismatch-size, mismatch-sha1, mismatch-sha256, mismatch-md5 that holds; empty where
// none does. What the order does not name is not looked at.
std::string mismatch_of(const DownloadOrder& order, std::int64_t size, const Digests& digests);

}  // namespace quern::fileset
