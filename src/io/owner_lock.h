// OwnerLock: the right to be a data folder's only owner process.
//
// Guarantee: at most one lock is held per folder at any instant, over all processes and all objects
// of one process; with it in hand every former owner is known to be dead. How: an OFD lock on the
// file owner.lock in the folder. The kernel gives it back when the last descriptor of that opening
// is closed, so by release or by death, even SIGKILL; unlike a POSIX lock it survives somebody else
// opening and closing the file. The file itself is never removed: whoever waits for it could
// otherwise lock a file without a name.
//
// The descriptor is close-on-exec. A fork without exec shares the lock and keeps it while it lives;
// io::Process execs at once.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "io/clock.h"
#include "io/descriptor.h"
#include "io/file.h"

namespace quern::io {

inline constexpr char kOwnerLockName[] = "owner.lock";

class OwnerLock {
 public:
  // Nothing where another owner lives. The folder exists; Denied where it cannot be written to.
  static Result<std::optional<OwnerLock>> try_acquire(const Path& folder,
                                                      const Clock& clock = system_clock());

 private:
  explicit OwnerLock(Descriptor file) : file_(std::move(file)) {}

  Descriptor file_;
};

// For messages only: the owner may be gone when this is read.
struct Owner {
  pid_t pid = 0;      // 0 where it has not written it yet
  std::string since;  // UTC, as utc_text() writes it
};
// Nothing where nobody holds the lock.
Result<std::optional<Owner>> read_owner(const Path& folder);

}  // namespace quern::io
