// Releases of GitHub: "/releases/tag/{tag}" and "/releases/latest". The files are the assets. The
// archive of the source is no bundle of them, since it has none of them in it; it is the file of a
// release that has no assets.
#pragma once

#include <memory>

#include "fileset/platform.h"

namespace quern::fileset {

std::unique_ptr<Platform> make_github(const PlatformOptions& options);

}  // namespace quern::fileset
