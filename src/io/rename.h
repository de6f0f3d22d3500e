// Renaming what is whole already, a folder for example. io/file.h tells how files get their names.
#pragma once

#include "io/file.h"

namespace quern::io {

// A file or a folder gets another name, on the same file system; returns once that is on the disk.
// Conflict where something has it.
Result<> rename_durably(const Path& from, const Path& to);

}  // namespace quern::io
