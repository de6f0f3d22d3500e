#include "io/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "io/system_error.h"

namespace quern::io {

void Descriptor::close() {
  // Not repeated on EINTR: Linux has freed the number by then, and another thread may hold it.
  if (number_ >= 0) ::close(release());
}

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error(errno, "make a pipe");
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

}  // namespace quern::io
