// Processes of their own, which are this program in another role: owners that work on a database,
// and a handler that never answers. They live until they are killed or their parent dies.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/queue/report.h"
#include "support/program.h"

namespace quern::bench {

struct OwnerOptions {
  std::string url;
  std::size_t batch_ops_max = 512;
  std::int64_t lease_ms = 15'000;
  std::int64_t scan_ms = 1000;
  // Completes at once, or takes an item and never answers.
  enum class Work { Complete, Hang };
  Work work = Work::Complete;
};

std::unique_ptr<support::Program> start_owner(const OwnerOptions& options);
// Listens; the address of its handler.
std::unique_ptr<support::Program> start_handler(std::string& address);
// When the child was given its first item, by the clock that all processes share.
Instant first_call(support::Program& child);

// Runs the role that the arguments name; absent where they name none.
std::optional<int> run_child(const std::vector<std::string>& arguments);

}  // namespace quern::bench
