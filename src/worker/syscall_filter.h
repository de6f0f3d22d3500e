// SyscallFilter: which system calls a boxed child may make: those that read, compute and write what
// it was given. No sockets, no processes, no programs, no signals to others, no mounts, no tracing.
//
// Made once by the zygote, applied by each child to itself, for good. What is not allowed fails
// with EPERM, as libraries expect of a machine that forbids something; clone3 with ENOSYS.
#pragma once

#include <linux/filter.h>

#include <vector>

#include "base/result.h"
#include "worker/step.h"

namespace quern::worker {

class SyscallFilter {
 public:
  static Result<SyscallFilter> make(const Step& step);

  // After no_new_privs.
  Result<> apply() const;

 private:
  explicit SyscallFilter(std::vector<sock_filter> program) : program_(std::move(program)) {}

  std::vector<sock_filter> program_;
};

}  // namespace quern::worker
