#include "io/part_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>

#include "io/calls.h"
#include "io/system_error.h"

namespace quern::io {
namespace {

constexpr mode_t kFileMode = 0600;
// In a crash log: names of parts are random, and two runs should look alike.
constexpr std::string_view kLabel = "part";

Result<> hold(const Descriptor& file, const std::string& path) {
  struct flock whole = {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (::fcntl(file.get(), F_OFD_SETLK, &whole) == 0) return {};
  if (errno == EAGAIN || errno == EACCES) {
    return Error{Errc::Busy, fmt::format("{} is being written by somebody else", path)};
  }
  return system_error(errno, "lock " + path);
}

}  // namespace

Result<PartFile> PartFile::open(const Path& path) {
  const calls::Place place{AT_FDCWD, path.native(), path.native()};
  TRY_ASSIGN(Descriptor file, calls::open(place, O_RDWR | O_CREAT, kFileMode));
  TRY(hold(file, path.native()));
  struct stat found = {};
  if (::fstat(file.get(), &found) != 0) return system_error(errno, "look at " + path.native());
  // Whoever made it may have died before its name was durable; with the first byte it is.
  if (found.st_size == 0) TRY(sync_folder(path.parent_path()));
  return PartFile(std::move(file), path.native(), found.st_size);
}

Result<> PartFile::write_at(std::int64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    TRY_ASSIGN(const std::size_t written, calls::write(file_.get(), bytes, offset, path_));
    offset += static_cast<std::int64_t>(written);
    bytes.remove_prefix(written);
  }
  return {};
}

Result<> PartFile::cut(std::int64_t size_bytes) {
  return calls::truncate(file_.get(), size_bytes, path_, kLabel);
}

Result<> PartFile::sync() {
  return calls::fsync(file_.get(), path_, kLabel);
}

}  // namespace quern::io
