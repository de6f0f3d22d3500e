// Landlock: the kernel refuses this process every file but the system's own, whoever it is.
#pragma once

#include <string_view>

namespace quern::worker {

// Libraries and their data can be read, `writable` (may be "") written. 0, or an errno; ENOSYS and
// EOPNOTSUPP where the kernel has none. Needs no right but no_new_privs.
int restrict_files(std::string_view writable);

}  // namespace quern::worker
