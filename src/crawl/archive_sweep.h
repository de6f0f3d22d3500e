// The sweep of the archive: WARC files of jobs that were removed go.
//
// Guarantee: a file goes only where its job was removed from this store, no capture names it and
// nobody writes it; and each such file goes, at the next sweep of the server whose folder it lies
// in. What is called otherwise (web/archive_name.h), or is of a job that this store does not know,
// is somebody's, and stays. How: a removal notes the prefix of its job's files when the last
// capture is gone (crawl/removal.h), and that note stays, so whoever dies on the way, or comes late
// with a file of such a job, is made up for by the next sweep.
//
// Blocks: for the start, or a pool. Crash point: crawl.warc.removed.
#pragma once

#include <filesystem>

#include "store/readers.h"
#include "web/archives.h"

namespace quern::crawl {

inline constexpr std::size_t kFilesSweptAtOnce = 500;  // that the store is asked about

struct SweepParts {
  store::Readers& readers;
  web::Archives& archives;  // that this process writes; those of what is gone are closed
  const std::filesystem::path& folder;
};
struct SweptArchive {
  std::int64_t removed = 0;
  std::int64_t busy = 0;  // somebody still writes them: sweep again
};
Result<SweptArchive> sweep_archive(const SweepParts& parts);

}  // namespace quern::crawl
