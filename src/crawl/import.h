// Reading an archive back: a WARC, ARC or WACZ file becomes captures, pages and documents, without
// asking anybody. For what other programs have collected, and for a data folder whose database was
// lost.
//
// Guarantee: each answer of the file is archived here and has its capture, a revisit one that
// refers to the bytes of another; of each address the newest answer becomes the page, unless what
// is known of it is newer. A file that is read twice, whole or after a death, changes nothing more:
// what has its capture is not archived again. Blocks; one thread.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>

#include "blob/blob.h"
#include "crawl/crawl.h"
#include "crawl/taking.h"

namespace quern::crawl {

inline constexpr std::size_t kImportedUrlsMax = 10'000'000;  // of one file

struct ImportParts {
  store::Writer& writer;
  store::Readers& readers;
  blob::BlobStore& blobs;
  web::Archive& archive;
  std::filesystem::path spool;
  Decide decide;
  const std::atomic<bool>& stopping;
};

struct ImportCounts {
  std::int64_t captures = 0;  // new ones
  std::int64_t pages = 0;
  std::int64_t skipped = 0;  // records that are no answer of the web
};
// Into a crawl that is not seeded yet. Corrupt where the file is damaged: what came before it was
// taken.
Result<ImportCounts> import_archive(const ImportParts& parts, const Crawl& crawl,
                                    const std::filesystem::path& file);
// The first web address in the file: where its crawl began, as far as anybody knows.
Result<std::string> first_address(const std::filesystem::path& file);

}  // namespace quern::crawl
