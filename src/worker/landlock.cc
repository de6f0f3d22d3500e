#include "worker/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>

#include "io/descriptor.h"
#include "worker/box_root.h"

namespace quern::worker {
namespace {

constexpr std::uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
// Everything that the first version knows; later kernels know more, and still take this.
constexpr std::uint64_t kEverything = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;

// A folder that does not exist needs no rule.
int allow(int ruleset, const std::string& folder, std::uint64_t rights) {
  const io::Descriptor opened(::open(folder.c_str(), O_PATH | O_CLOEXEC));
  if (!opened.is_open()) return 0;
  landlock_path_beneath_attr rule{};
  rule.allowed_access = rights;
  rule.parent_fd = opened.get();
  return ::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0
             ? 0
             : errno;
}

}  // namespace

int restrict_files(std::string_view writable) {
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = kEverything;
  const io::Descriptor ruleset(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0)));
  if (!ruleset.is_open()) return errno;
  for (const char* folder : {"/usr", "/lib", "/lib64"}) {
    if (const int failed = allow(ruleset.get(), folder, kRead); failed != 0) return failed;
  }
  for (const char* folder : kSettings) {
    if (const int failed = allow(ruleset.get(), folder, kRead); failed != 0) return failed;
  }
  for (const char* device : kDevices) {
    constexpr std::uint64_t kUse = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE;
    if (const int failed = allow(ruleset.get(), device, kUse); failed != 0) return failed;
  }
  // No program can be run from there, either.
  constexpr std::uint64_t kWrite = kEverything & ~std::uint64_t{LANDLOCK_ACCESS_FS_EXECUTE};
  if (!writable.empty()) {
    const int failed = allow(ruleset.get(), std::string(writable), kWrite);
    if (failed != 0) return failed;
  }
  return ::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) == 0 ? 0 : errno;
}

}  // namespace quern::worker
