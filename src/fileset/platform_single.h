// An address that leads to no page but to a file: that file is the dataset.
#pragma once

#include <memory>

#include "fileset/platform.h"

namespace quern::fileset {

std::unique_ptr<Platform> make_single(const PlatformOptions& options);

}  // namespace quern::fileset
