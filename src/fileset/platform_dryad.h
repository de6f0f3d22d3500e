// Datasets of Dryad, by their DOI: the latest version with all the pages of its files. With a token
// where the options have one: since 2025 downloads ask for it.
#pragma once

#include <memory>

#include "fileset/platform.h"

namespace quern::fileset {

std::unique_ptr<Platform> make_dryad(const PlatformOptions& options);

}  // namespace quern::fileset
