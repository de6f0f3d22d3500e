// The check of all blobs: reads every one and compares. Blocks, for as long as that takes.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace quern::blob {

class BlobStore;

// Beyond these, one more line says that there are others.
inline constexpr std::size_t kFindingsMax = 1000;

// A sentence for each blob whose bytes are missing or differ from its row.
Result<std::vector<std::string>> check_blobs(BlobStore& store);
// Places that nothing names, of sessions that are not alive: no harm but the space; a warning.
Result<std::vector<std::string>> find_orphans(BlobStore& store);

}  // namespace quern::blob
