// Whether files became durable in the right order, as an io::FileRecorder saw it.
//
// The rules: a file is renamed to its name only when all that was written to it has been synced;
// nothing is written to a name afterwards; and after each rename, unlink and new folder its folder
// is synced.
#pragma once

#include <string>
#include <vector>

#include "io/fault.h"

namespace quern::support {

// What breaks a rule, in order; empty where nothing does.
std::vector<std::string> order_violations(const std::vector<io::FileOperation>& operations);

}  // namespace quern::support
