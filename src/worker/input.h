// Inputs: a lent blob becomes a descriptor that a box can read and seek in.
//
// By the shortest way: a path of this machine is opened, bytes that came along go into a file in
// memory, everything else is fetched into a file without a name (in memory where small). What is
// fetched has the length that the task named, or it is an error.
#pragma once

#include <string>

#include "io/descriptor.h"
#include "net/task.h"
#include "worker/lent_task.h"
#include "worker/line.h"

namespace quern::worker {

inline constexpr std::uint64_t kInputInMemoryMax = 1024 * 1024;
// Of a larger file, detection looks at the beginning and the end only.
inline constexpr std::uint64_t kSampleWholeMax = 4 * 1024 * 1024;
inline constexpr std::uint64_t kSampleEdgeBytes = 512 * 1024;

struct InputOptions {
  std::string temp_folder;
  bool sample = false;  // the edges of a large file will do
};

// Missing where the server does not know the task any more; Unavailable, Corrupt (another length),
// Full and what else a disk says.
net::Task<Result<io::Descriptor>> open_input(Lines& lines, LentBlob blob, InputOptions options);

}  // namespace quern::worker
