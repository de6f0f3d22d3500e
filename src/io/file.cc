#include "io/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "io/calls.h"
#include "io/system_error.h"

namespace quern::io {
namespace {

constexpr std::size_t kReadChunkBytes = 64 * 1024;

calls::Place whole(const Path& path) {
  return {AT_FDCWD, path.native(), path.native()};
}

Error failed(std::string_view doing, const Path& path) {
  return system_error(errno, fmt::format("{} {}", doing, path.native()));
}

EntryKind kind_of_mode(mode_t mode) {
  if (S_ISREG(mode)) return EntryKind::File;
  if (S_ISDIR(mode)) return EntryKind::Folder;
  if (S_ISLNK(mode)) return EntryKind::Link;
  return EntryKind::Other;
}

// Some file systems do not tell the kind in the folder itself.
Result<EntryKind> kind_of(int folder, const dirent& entry, const Path& path) {
  if (entry.d_type != DT_UNKNOWN) return kind_of_mode(DTTOIF(entry.d_type));
  struct stat found;
  if (::fstatat(folder, entry.d_name, &found, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return EntryKind::Other;  // removed while we list
    return failed("stat an entry of", path);
  }
  return kind_of_mode(found.st_mode);
}

}  // namespace

Result<FileReader> FileReader::open(const Path& path) {
  // O_NONBLOCK: opening a pipe that nobody writes to would wait for ever.
  TRY_ASSIGN(Descriptor file, calls::open(whole(path), O_RDONLY | O_NONBLOCK | O_NOCTTY));
  struct stat found;
  if (::fstat(file.get(), &found) != 0) return failed("stat", path);
  if (!S_ISREG(found.st_mode))
    return Error{Errc::Invalid, fmt::format("{} is not a regular file", path.native())};
  return FileReader(std::move(file), path.native(), found.st_size);
}

Result<std::size_t> FileReader::read_at(std::int64_t offset, std::span<char> into) const {
  CHECK(offset >= 0);
  std::size_t filled = 0;
  while (filled < into.size()) {
    TRY_ASSIGN(const std::size_t got,
               calls::read(file_.get(), into.subspan(filled),
                           offset + static_cast<std::int64_t>(filled), path_));
    if (got == 0) break;
    filled += got;
  }
  return filled;
}

Result<std::string> read_file(const Path& path, std::size_t bytes_max) {
  TRY_ASSIGN(const FileReader reader, FileReader::open(path));
  // The size is only a hint: files grow, and those of /proc say 0.
  const auto hint = std::min(static_cast<std::size_t>(reader.size_bytes()), bytes_max);
  std::string bytes;
  std::size_t filled = 0;
  while (true) {
    const std::size_t room = std::min(std::max(hint, filled + kReadChunkBytes), bytes_max) + 1;
    bytes.resize(room);
    TRY_ASSIGN(const std::size_t got,
               reader.read_at(static_cast<std::int64_t>(filled), std::span(bytes).subspan(filled)));
    filled += got;
    if (filled < room) break;
    if (filled > bytes_max)
      return over_limit(path.native(), reader.size_bytes(), static_cast<std::int64_t>(bytes_max),
                        "bytes_max of the reader");
  }
  bytes.resize(filled);
  return bytes;
}

Result<FreeSpace> free_space(const Path& path) {
  struct statvfs found;
  if (::statvfs(path.c_str(), &found) != 0) return failed("statvfs", path);
  const auto block_bytes = static_cast<std::int64_t>(found.f_frsize);
  return FreeSpace{static_cast<std::int64_t>(found.f_bavail) * block_bytes,
                   static_cast<std::int64_t>(found.f_blocks) * block_bytes};
}

Result<std::vector<FolderEntry>> list_folder(const Path& path, std::size_t entries_max) {
  TRY_ASSIGN(Descriptor descriptor, calls::open(whole(path), O_RDONLY | O_DIRECTORY));
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::fdopendir(descriptor.get()), ::closedir);
  if (!folder) return failed("list", path);
  const int number = descriptor.release();  // closedir closes it

  std::vector<FolderEntry> entries;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(folder.get());
    if (entry == nullptr && errno != 0) return failed("list", path);
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (entries.size() == entries_max)
      return Error{Errc::TooLarge, fmt::format("{} has more than {} entries (entries_max)",
                                               path.native(), entries_max)};
    TRY_ASSIGN(const EntryKind kind, kind_of(number, *entry, path));
    entries.push_back({std::string(name), kind});
  }
  std::sort(entries.begin(), entries.end(),
            [](const FolderEntry& a, const FolderEntry& b) { return a.name < b.name; });
  return entries;
}

Result<> make_private_file(const Path& path) {
  const std::string name = path.native();
  TRY(calls::open({AT_FDCWD, name, name}, O_RDWR | O_CREAT, 0600));
  return {};
}

Result<bool> path_exists(const Path& path) {
  struct stat found;
  if (::stat(path.c_str(), &found) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return failed("stat", path);
}

}  // namespace quern::io
