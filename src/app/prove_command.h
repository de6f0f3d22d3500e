// quern prove: the promise of design section 2 on a user's own files. Imports a folder calmly, then
// again and again, killed at each durable write, and demands the same documents, errors and files.
#pragma once

#include <optional>
#include <string>

#include "app/command.h"

namespace quern::app {

struct ProveOrder {
  std::string path;
  std::optional<double> minutes;
  std::int64_t writes_max = 500;
};
net::Task<Result<int>> prove(Command command, ProveOrder order);

}  // namespace quern::app
