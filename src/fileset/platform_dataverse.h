// Datasets of a Dataverse, on any host: "…?persistentId=doi:10.…".
//
// A version that the address names is the one that is asked for. Paths keep their folders. A table
// that Dataverse has rewritten is fetched as it was uploaded: that is what its checksum is of.
// Files that are restricted or under embargo are left out, and named in the message and in the
// notes of the item; where all are, the status is platform-restricted. A single file of a dataset
// is platform-scope.
#pragma once

#include <memory>

#include "fileset/platform.h"

namespace quern::fileset {

std::unique_ptr<Platform> make_dataverse(const PlatformOptions& options);

}  // namespace quern::fileset
