#include "worker/box_root.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "io/descriptor.h"

namespace quern::worker {
namespace {

// Something is mounted over it, so it only has to exist.
constexpr char kBase[] = "/tmp";
constexpr unsigned long kPlain = MS_NOSUID | MS_NODEV;

std::string in_base(std::string_view path) {
  return fmt::format("{}{}", kBase, path);
}

bool make_folder(std::string_view path) {
  return ::mkdir(in_base(path).c_str(), 0755) == 0;
}

// With everything mounted below it. A kernel before 5.12 leaves what is below as it was.
bool make_read_only(const std::string& path) {
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
  if (::syscall(SYS_mount_setattr, AT_FDCWD, path.c_str(), AT_RECURSIVE, &attributes,
                sizeof attributes) == 0) {
    return true;
  }
  struct statvfs now {};
  ::statvfs(path.c_str(), &now);
  // What the mount had must be said again, or a user namespace is refused.
  const unsigned long kept = now.f_flag & (ST_NOEXEC | ST_NOATIME | ST_NODIRATIME | ST_RELATIME);
  const unsigned long flags = MS_BIND | MS_REMOUNT | MS_RDONLY | kPlain | kept;
  return ::mount(nullptr, path.c_str(), nullptr, flags, nullptr) == 0;
}

bool bind_read_only(const char* path) {
  const std::string to = in_base(path);
  return make_folder(path) && ::mount(path, to.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0 &&
         make_read_only(to);
}

// What an administrator put beside the system's own files is nobody's business in here.
bool hide(const char* path) {
  const std::string hidden = in_base(path);
  if (::access(hidden.c_str(), F_OK) != 0) return true;
  return ::mount("tmpfs", hidden.c_str(), "tmpfs", kPlain | MS_RDONLY, "size=4k,mode=755") == 0;
}

// Mostly links into /usr.
bool add_library_folder(const char* path) {
  char target[PATH_MAX];
  const ssize_t length = ::readlink(path, target, sizeof target - 1);
  if (length > 0) {
    target[length] = '\0';
    return ::symlink(target, in_base(path).c_str()) == 0;
  }
  return ::access(path, F_OK) != 0 || bind_read_only(path);
}

// Settings that libraries look for outside of /usr. What is not there is not needed.
bool add_settings() {
  if (!make_folder("/etc") || !make_folder("/var") || !make_folder("/var/cache")) return false;
  for (const char* path : kSettings) {
    if (::access(path, F_OK) == 0 && !bind_read_only(path)) return false;
  }
  return true;
}

bool add_devices() {
  if (!make_folder("/dev")) return false;
  for (const char* path : kDevices) {
    const std::string to = in_base(path);
    const io::Descriptor file(::open(to.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0444));
    if (!file.is_open() || ::mount(path, to.c_str(), nullptr, MS_BIND, nullptr) != 0) return false;
  }
  return true;
}

bool add_scratch(std::uint64_t bytes, uid_t owner) {
  const std::string path = in_base(kScratchFolder);
  const std::string options = fmt::format("size={},nr_inodes=65536,mode=700", bytes);
  if (!make_folder(kScratchFolder)) return false;
  if (::mount("tmpfs", path.c_str(), "tmpfs", kPlain, options.c_str()) != 0) return false;
  // In a user namespace it is ours already, and nobody else is known there.
  return ::geteuid() != 0 || ::chown(path.c_str(), owner, owner) == 0;
}

bool build(std::uint64_t scratch_bytes, uid_t owner) {
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("tmpfs", kBase, "tmpfs", kPlain, "size=64k,mode=755") == 0 &&
         bind_read_only("/usr") && hide("/usr/local") && hide("/usr/src") &&
         add_library_folder("/lib") && add_library_folder("/lib64") && add_settings() &&
         add_devices() && add_scratch(scratch_bytes, owner) &&
         ::mount(nullptr, kBase, nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY | kPlain, nullptr) == 0;
}

bool move_in() {
  return ::chdir(kBase) == 0 && ::syscall(SYS_pivot_root, ".", ".") == 0 &&
         ::umount2(".", MNT_DETACH) == 0 && ::chdir(kScratchFolder.data()) == 0;
}

}  // namespace

int enter_box_root(std::uint64_t scratch_bytes, uid_t owner) {
  if (!build(scratch_bytes, owner)) return errno != 0 ? errno : EPERM;
  return move_in() ? 0 : errno;
}

bool write_line(const char* path, std::string_view text) {
  const io::Descriptor file(::open(path, O_WRONLY | O_CLOEXEC));
  return file.is_open() &&
         ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace quern::worker
