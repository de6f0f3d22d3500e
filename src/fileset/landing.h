// What both kinds of web archive do with a landing page once they have its bytes.
#pragma once

#include <string>
#include <string_view>

#include "fileset/blocklist.h"
#include "fileset/keeping.h"
#include "web/fetcher.h"

namespace quern::fileset {

inline constexpr std::int64_t kPageBytesMax = 128LL * 1024 * 1024;

// A resource that is none: with where it ended, as far as that is known.
Resource failed_page(std::string status, std::string message, std::string_view url = {});
// Takes a gzip coding off that the archive left on, and fills in what the body is. The status turns
// to empty-blob, body-too-large or bad-gzip-encoding where it must.
void finish_page(Resource& page, std::string_view cdx_mimetype);

// Why there is no answer: invalid-host-resolution, connection-error, read-timeout, …
struct FetchFailure {
  std::string status;
  bool passing = false;
};
FetchFailure failure_of(web::FetchProblem problem);

// Whether bytes are the file of the manifest. Empty: they are. Strict: a size that is unknown is a
// mismatch, and SHA-256 is not looked at.
std::string mismatch_of(const ManifestFile& file, const FileMeta& meta, Compat compat);

}  // namespace quern::fileset
