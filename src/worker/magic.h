// libmagic: its word on what a file is, one of several that sniffing hears.
#pragma once

#include <string>

#include "worker/step.h"

namespace quern::worker {

// Reads its database, so that no child has to.
void warm_magic();

// A type, or "". From the descriptor rather than a piece: the directory of an OLE file may lie
// anywhere.
std::string magic_type(const StepInput& input);

}  // namespace quern::worker
