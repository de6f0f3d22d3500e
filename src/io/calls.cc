#include "io/calls.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/crash.h"
#include "io/fault.h"
#include "io/system_error.h"

namespace quern::io::calls {
namespace {

// The error an armed fault orders for this call, else 0; cuts `size` where it orders that.
int ordered_error(FileCall call, std::size_t& size) {
  if (!internal::file_calls_are_watched()) [[likely]]
    return 0;
  const internal::Verdict verdict = internal::judge_file_call(call);
  size = std::min(size, verdict.bytes_max);
  return verdict.error_number;
}

void record(FileCall call, const std::string& path, const std::string& to = {},
            std::int64_t offset = 0, std::int64_t bytes = 0) {
  if (!internal::file_calls_are_watched()) [[likely]]
    return;
  internal::record_file_call({call, path, to, offset, bytes});
}

Error failed(FileCall call, const std::string& path, int error_number) {
  return system_error(error_number, fmt::format("{} {}", to_string(call), path));
}

// Makes the call, or the failure ordered in its place; again while a signal interrupts it.
// `function` takes the number of bytes.
template <class Function>
auto attempt(FileCall call, std::size_t size, Function function) {
  while (true) {
    std::size_t allowed = size;
    const int ordered = ordered_error(call, allowed);
    const auto result = ordered == 0 ? function(allowed) : -1;
    if (ordered != 0) errno = ordered;
    if (result >= 0 || errno != EINTR) return result;
  }
}

// A call without a result of its own.
template <class Function>
Result<> perform(FileCall call, const std::string& path, const std::string& to, Function function) {
  const auto without_size = [&](std::size_t) { return function(); };
  if (attempt(call, 0, without_size) != 0) return failed(call, path, errno);
  record(call, path, to);
  return {};
}

}  // namespace

Result<Descriptor> open(const Place& place, int flags, mode_t mode) {
  const int number = attempt(FileCall::Open, 0, [&](std::size_t) {
    return ::openat(place.folder, place.name.c_str(), flags | O_CLOEXEC, mode);
  });
  if (number < 0) return failed(FileCall::Open, place.path, errno);
  record(FileCall::Open, place.path);
  return Descriptor(number);
}

Result<std::size_t> write(int descriptor, std::string_view bytes, std::int64_t offset,
                          const std::string& path) {
  const ssize_t written = attempt(FileCall::Write, bytes.size(), [&](std::size_t size) {
    return ::pwrite(descriptor, bytes.data(), size, offset);
  });
  if (written < 0) return failed(FileCall::Write, path, errno);
  // A file system that takes nothing and names no reason would have us loop for ever.
  if (written == 0 && !bytes.empty()) return failed(FileCall::Write, path, EIO);
  record(FileCall::Write, path, {}, offset, written);
  return static_cast<std::size_t>(written);
}

Result<std::size_t> read(int descriptor, std::span<char> into, std::int64_t offset,
                         const std::string& path) {
  const ssize_t got = attempt(FileCall::Read, into.size(), [&](std::size_t size) {
    return ::pread(descriptor, into.data(), size, offset);
  });
  if (got < 0) return failed(FileCall::Read, path, errno);
  record(FileCall::Read, path, {}, offset, got);
  return static_cast<std::size_t>(got);
}

Result<> fsync(int descriptor, const std::string& path, std::string_view label) {
  const DurableWrite durable_write("fsync", label);
  return perform(FileCall::Fsync, path, {}, [&] { return ::fsync(descriptor); });
}

Result<> truncate(int descriptor, std::int64_t size_bytes, const std::string& path,
                  std::string_view label) {
  const DurableWrite durable_write("truncate", label);
  return perform(FileCall::Truncate, path, {}, [&] { return ::ftruncate(descriptor, size_bytes); });
}

Result<> sync_folder(int descriptor, const std::string& path) {
  const DurableWrite durable_write("sync_folder", path);
  return perform(FileCall::SyncFolder, path, {}, [&] { return ::fsync(descriptor); });
}

Result<> rename(const Place& from, const Place& to) {
  const DurableWrite durable_write("rename", to.name);
  return perform(FileCall::Rename, from.path, to.path, [&] {
    return ::renameat(from.folder, from.name.c_str(), to.folder, to.name.c_str());
  });
}

Result<> unlink(const Place& place, std::string_view label) {
  const DurableWrite durable_write("unlink", label);
  return perform(FileCall::Unlink, place.path, {},
                 [&] { return ::unlinkat(place.folder, place.name.c_str(), 0); });
}

Result<> make_folder(const Place& place, mode_t mode) {
  const DurableWrite durable_write("make_folder", place.name);
  return perform(FileCall::MakeFolder, place.path, {},
                 [&] { return ::mkdirat(place.folder, place.name.c_str(), mode); });
}

Result<> remove_folder(const Place& place) {
  const DurableWrite durable_write("remove_folder", place.name);
  return perform(FileCall::Unlink, place.path, {},
                 [&] { return ::unlinkat(place.folder, place.name.c_str(), AT_REMOVEDIR); });
}

Result<bool> link(const Place& from, const Place& to) {
  const DurableWrite durable_write("link", to.name);
  const int done = attempt(FileCall::Link, 0, [&](std::size_t) {
    return ::linkat(from.folder, from.name.c_str(), to.folder, to.name.c_str(), 0);
  });
  if (done != 0 && (errno == EXDEV || errno == EPERM || errno == EOPNOTSUPP || errno == EMLINK)) {
    return false;
  }
  if (done != 0) return failed(FileCall::Link, to.path, errno);
  record(FileCall::Link, from.path, to.path);
  return true;
}

}  // namespace quern::io::calls
