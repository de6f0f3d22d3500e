#include "io/owner_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "io/calls.h"
#include "io/system_error.h"

namespace quern::io {
namespace {

constexpr std::size_t kOwnerTextBytesMax = 4096;

calls::Place lock_place(const Path& folder) {
  const std::string path = (folder / kOwnerLockName).native();
  return {AT_FDCWD, path, path};
}

struct flock whole_file(short type) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

// What people read. Not durable: after a reboot there is no owner to tell of. Failures are let
// pass: an owner must be able to start on a full disk, to make room.
void introduce(const Descriptor& file, const std::string& path, const Clock& clock) {
  if (::ftruncate(file.get(), 0) != 0) return;
  const std::string text = fmt::format("pid {}\nsince {}\n", ::getpid(), utc_text(clock.now_us()));
  (void)calls::write(file.get(), text, 0, path);
}

std::string_view field(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + name.size());
  return text.substr(0, text.find('\n'));
}

}  // namespace

Result<std::optional<OwnerLock>> OwnerLock::try_acquire(const Path& folder, const Clock& clock) {
  const calls::Place place = lock_place(folder);
  TRY_ASSIGN(Descriptor file, calls::open(place, O_RDWR | O_CREAT, 0600));
  struct flock lock = whole_file(F_WRLCK);
  if (::fcntl(file.get(), F_OFD_SETLK, &lock) != 0) {
    if (errno == EAGAIN || errno == EACCES) return std::optional<OwnerLock>();
    return system_error(errno, "lock " + place.path);
  }
  introduce(file, place.path, clock);
  return std::optional<OwnerLock>(OwnerLock(std::move(file)));
}

Result<std::optional<Owner>> read_owner(const Path& folder) {
  const calls::Place place = lock_place(folder);
  Result<FileReader> opened = FileReader::open(place.path);
  if (!opened.ok() && opened.error().kind() == Errc::Missing) return std::optional<Owner>();
  TRY_ASSIGN(const FileReader reader, std::move(opened));

  struct flock lock = whole_file(F_WRLCK);
  // F_OFD_GETLK only looks, so it needs no right to write.
  if (::fcntl(reader.descriptor(), F_OFD_GETLK, &lock) != 0)
    return system_error(errno, "ask for the lock of " + place.path);
  if (lock.l_type == F_UNLCK) return std::optional<Owner>();

  std::string text(kOwnerTextBytesMax, '\0');
  TRY_ASSIGN(const std::size_t bytes, reader.read_at(0, text));
  text.resize(bytes);
  Owner owner;
  const std::string_view pid = field(text, "pid ");
  std::from_chars(pid.data(), pid.data() + pid.size(), owner.pid);
  owner.since = field(text, "since ");
  return std::optional<Owner>(std::move(owner));
}

}  // namespace quern::io
