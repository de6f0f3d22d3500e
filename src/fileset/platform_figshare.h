// Articles of Figshare, of any type, with and without a version in the address; portals on domains
// of their own where the page speaks of figshare.com. Collections and projects are platform-scope.
//
// Files that are only links to elsewhere are left out, as the restricted ones of a Dataverse are.
#pragma once

#include <memory>

#include "fileset/platform.h"

namespace quern::fileset {

std::unique_ptr<Platform> make_figshare(const PlatformOptions& options);

}  // namespace quern::fileset
