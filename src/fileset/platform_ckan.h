// Datasets of CKAN portals, on any host: "/dataset/{name}" where the page says that it is CKAN.
// Sizes and digests are often unknown there.
#pragma once

#include <memory>

#include "fileset/platform.h"

namespace quern::fileset {

std::unique_ptr<Platform> make_ckan(const PlatformOptions& options);

}  // namespace quern::fileset
