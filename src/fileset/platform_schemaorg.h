// Pages that describe a dataset in JSON-LD, as schema.org has it: what their distributions name is
// the manifest. PANGAEA is among them.
#pragma once

#include <memory>

#include "fileset/platform.h"

namespace quern::fileset {

std::unique_ptr<Platform> make_schemaorg(const PlatformOptions& options);

}  // namespace quern::fileset
