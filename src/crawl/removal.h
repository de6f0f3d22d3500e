// Removal: what goes with a crawl's job, and with a collection.
//
// Guarantee: a removal that has begun goes on where it was, whoever dies on the way; nothing that
// another crawl has wanted since goes with it, and nobody writes for the crawl any more when it is
// done. How: the crawl ends first, so that it takes no more pages; then pages go behind the lock of
// their site, like all that writes to them, in bounded transactions that look again at what they
// remove.
//
// On the loop. Errors are those of the store; whoever gets one may call again.
#pragma once

#include <string>

#include "crawl/site.h"
#include "net/loop.h"
#include "store/readers.h"
#include "store/writer.h"
#include "tree/job.h"

namespace quern::crawl {

inline constexpr std::int64_t kRemovedAtOnce = 500;  // rows of a transaction

struct RemovalParts {
  net::Loop& loop;
  store::Writer& writer;
  store::Readers& readers;
};

// A crawl's own rows, and pages that nobody has wanted since; what another crawl found unchanged
// since is out, for its document goes, too, and is fetched anew by the next one. Then its archive.
// Changes nothing where the job is no crawl.
net::Task<Result<>> remove_crawl(RemovalParts parts, tree::JobId job);

// All captures in WARC files with that prefix (web/archive_name.h), which nobody adds to any more,
// and the crawl's row where the job is one. Then the files are noted as gone: sweep_archive()
// (crawl/archive_sweep.h) removes them, on each server those of its own folder. The note stays for
// ever (a row of `removed_archive`), for nobody knows which servers there are.
net::Task<Result<>> remove_archive(RemovalParts parts, std::string prefix);

// Of collections that are gone: their captures, pages and plans.
net::Task<Result<>> remove_gone_collections(RemovalParts parts);

}  // namespace quern::crawl
