// The types of files of this machine, by a boxed Detect and without a server.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "net/loop.h"
#include "net/task.h"
#include "worker/limits.h"

namespace quern::worker {

struct DetectedPath {
  std::string path;
  std::string type;
  std::string failure;  // "" where there is a type
};

struct DetectOptions {
  std::string program = "/proc/self/exe";  // understands --box
  Limits limits;
};

// In the order given.
net::Task<Result<std::vector<DetectedPath>>> detect_paths(net::Loop& loop,
                                                          std::vector<std::string> paths,
                                                          DetectOptions options);

}  // namespace quern::worker
