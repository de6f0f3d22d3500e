// The file system that a box sees: /usr and a few settings read-only, an empty folder of its own to
// write in, and nothing else.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>

namespace quern::worker {

inline constexpr std::string_view kScratchFolder = "/scratch";

// What libraries need beside /usr: which fonts there are, and how an office is set up.
inline constexpr const char* kSettings[] = {"/etc/fonts", "/etc/libreoffice",
                                            "/var/cache/fontconfig"};
// Devices: some libraries do not start without random numbers.
inline constexpr const char* kDevices[] = {"/dev/null", "/dev/urandom"};

// The zygote could not be made.
inline constexpr int kExitNoBox = 70;

// In a mount namespace of our own, with the right to mount. 0, or the errno of what failed; then
// this process sees what it saw.
int enter_box_root(std::uint64_t scratch_bytes, uid_t owner);

// To a file of /proc; false, and errno, where it refuses.
bool write_line(const char* path, std::string_view text);

}  // namespace quern::worker
