// The file calls of io, one function each: errno as Result, EINTR repeated, faults and the recorder
// of io/fault.h, and the numbering of durable writes. Inside io only.
//
// A call names its file by an open folder and a name in it; `path` is the whole name, for messages.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "io/descriptor.h"

namespace quern::io::calls {

// An open folder and a name in it.
struct Place {
  int folder;
  std::string name;
  std::string path;
};

Result<Descriptor> open(const Place& place, int flags, mode_t mode = 0);
// Bytes written at the offset, at least one, perhaps fewer than given.
Result<std::size_t> write(int descriptor, std::string_view bytes, std::int64_t offset,
                          const std::string& path);
// Bytes read, 0 at the end, perhaps fewer than there is room for.
Result<std::size_t> read(int descriptor, std::span<char> into, std::int64_t offset,
                         const std::string& path);

// Durable writes. `label` names them in a crash log: what the file will be called.
Result<> fsync(int descriptor, const std::string& path, std::string_view label);
// Not on the disk before the next fsync; but a death finds it done.
Result<> truncate(int descriptor, std::int64_t size_bytes, const std::string& path,
                  std::string_view label);
Result<> sync_folder(int descriptor, const std::string& path);
Result<> rename(const Place& from, const Place& to);
Result<> unlink(const Place& place, std::string_view label);
Result<> make_folder(const Place& place, mode_t mode);
Result<> remove_folder(const Place& place);
// False where the file system cannot: another device, no links, too many of them.
Result<bool> link(const Place& from, const Place& to);

}  // namespace quern::io::calls
