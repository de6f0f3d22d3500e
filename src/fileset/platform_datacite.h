// A DOI that no platform knows by its page: what DataCite has registered for it, a page of a known
// platform or the content itself. Where neither is, the status is no-platform-match.
#pragma once

#include <memory>

#include "fileset/platform.h"

namespace quern::fileset {

std::unique_ptr<Platform> make_datacite(const PlatformOptions& options);

}  // namespace quern::fileset
