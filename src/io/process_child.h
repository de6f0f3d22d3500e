// What a child does between fork and exec. Inside io only.
//
// Only async-signal-safe calls: another thread of the parent may have held any lock at the fork. So
// everything is laid out here by the parent, before.
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include "io/process.h"

namespace quern::io::internal {

struct ChildPlan {
  const char* program = nullptr;
  std::vector<char*> argv;     // ends with null
  std::vector<char*> environ;  // ends with null
  const char* folder = nullptr;
  struct Move {
    int from;
    int to;
    int parked = -1;
  };
  std::vector<Move> moves;  // descriptors, the standard ones included
  std::optional<std::uint64_t> open_files_max;
  std::optional<User> user;
  ProcessGroup group = ProcessGroup::Same;
  int death_signal = 0;
  pid_t parent = 0;
  int report = -1;  // write end of the pipe that tells the parent why exec did not happen
};

// The step that failed and its errno, written to the pipe.
struct ChildFailure {
  enum class Step : int { Descriptors, Folder, Limits, User, DeathSignal, Exec };
  Step step;
  int error_number;
};

[[noreturn]] void run_child(ChildPlan& plan);

}  // namespace quern::io::internal
