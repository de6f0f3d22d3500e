// Projects and registrations of the Open Science Framework: their own storage, with its folders,
// page by page. Files in other storages (GitHub, Dropbox, …) and in components of the project are
// not part of it.
#pragma once

#include <memory>

#include "fileset/platform.h"

namespace quern::fileset {

std::unique_ptr<Platform> make_osf(const PlatformOptions& options);

}  // namespace quern::fileset
