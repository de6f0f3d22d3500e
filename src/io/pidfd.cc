#include "io/pidfd.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "io/system_error.h"

namespace quern::io {

Result<Descriptor> open_pidfd(pid_t pid) {
  const long number = ::syscall(SYS_pidfd_open, pid, 0);
  if (number >= 0) return Descriptor(static_cast<int>(number));
  if (errno == ESRCH) return Error{Errc::Missing, fmt::format("no process {}", pid)};
  return system_error(errno, fmt::format("open a pidfd of process {}", pid));
}

Result<> send_signal(const Descriptor& pidfd, int signal) {
  if (::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0) == 0) return {};
  if (errno == ESRCH) return {};
  return system_error(errno, fmt::format("send signal {}", signal));
}

}  // namespace quern::io
