// The file system that a box sees: /usr read-only, an empty folder of its own to write in, and
// nothing else.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>

namespace quern::worker {

inline constexpr std::string_view kScratchFolder = "/scratch";

// The zygote could not be made.
inline constexpr int kExitNoBox = 70;

// In a mount namespace of our own, with the right to mount. 0, or the errno of what failed; then
// this process sees what it saw.
int enter_box_root(std::uint64_t scratch_bytes, uid_t owner);

// To a file of /proc; false, and errno, where it refuses.
bool write_line(const char* path, std::string_view text);

}  // namespace quern::worker
