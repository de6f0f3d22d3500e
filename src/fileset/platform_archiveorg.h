// Items of archive.org: "/details/{item}" and "/download/{item}". What the item was made of, not
// what the archive has derived from it. Collections are platform-scope, dark items and private
// files platform-restricted. Always an archiveorg-* strategy: the files are there already.
//
// Strict: base_url alone counts, a format that the original did not know or a missing digest is
// platform-error.
#pragma once

#include <memory>

#include "fileset/platform.h"

namespace quern::fileset {

std::unique_ptr<Platform> make_archiveorg(const PlatformOptions& options);

}  // namespace quern::fileset
