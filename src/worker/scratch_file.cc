#include "worker/scratch_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "io/system_error.h"

namespace quern::worker {

Result<io::Descriptor> make_memory_file(std::string_view bytes) {
  io::Descriptor file(::memfd_create("quern-input", MFD_CLOEXEC));
  if (!file.is_open()) return io::system_error(errno, "make a file in memory");
  TRY(write_at(file, 0, bytes));
  return file;
}

Result<io::Descriptor> make_unnamed_file(const std::string& folder) {
  io::Descriptor file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file.is_open()) return file;
  // A file system without O_TMPFILE.
  std::string name = folder + "/quern-input-XXXXXX";
  file = io::Descriptor(::mkostemp(name.data(), O_CLOEXEC));
  if (!file.is_open()) return io::system_error(errno, "make a file in " + folder);
  ::unlink(name.c_str());
  return file;
}

Result<> write_at(const io::Descriptor& file, std::uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io::system_error(errno, "keep an input");
    offset += static_cast<std::uint64_t>(n);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Result<> set_size(const io::Descriptor& file, std::uint64_t bytes) {
  if (::ftruncate(file.get(), static_cast<off_t>(bytes)) == 0) return {};
  return io::system_error(errno, "keep an input");
}

Result<io::Descriptor> reopen_read_only(const io::Descriptor& file) {
  const std::string path = fmt::format("/proc/self/fd/{}", file.get());
  io::Descriptor reopened(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!reopened.is_open()) return io::system_error(errno, "open an input for reading");
  return reopened;
}

}  // namespace quern::worker
