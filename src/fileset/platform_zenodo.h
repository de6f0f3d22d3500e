// Records of Zenodo and of every other InvenioRDM: "/record/{id}" and "/records/{id}".
//
// Both shapes of answers are read. The id of a concept leads to its latest version, and is then the
// id of that. A deleted record is platform-restricted, one under embargo too.
#pragma once

#include <memory>

#include "fileset/platform.h"

namespace quern::fileset {

std::unique_ptr<Platform> make_zenodo(const PlatformOptions& options);

}  // namespace quern::fileset
