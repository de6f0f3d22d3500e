// Packages of DataONE and its member nodes: "/view/{id}" on a catalogue that asks the coordinating
// node. The package is the newest resource map that has the id; metadata documents are files too.
#pragma once

#include <memory>

#include "fileset/platform.h"

namespace quern::fileset {

std::unique_ptr<Platform> make_dataone(const PlatformOptions& options);

}  // namespace quern::fileset
