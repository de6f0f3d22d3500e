// pidfds: a process named by a descriptor, which no later process can take over.
//
// By bare system calls: <sys/pidfd.h> of glibc 2.36 declares them as C++ functions, which do not
// link.
#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "io/descriptor.h"

namespace quern::io {

// Readable once the process has ended. Missing where there is none of that number.
Result<Descriptor> open_pidfd(pid_t pid);
// Fine where it has ended already.
Result<> send_signal(const Descriptor& pidfd, int signal);

}  // namespace quern::io
