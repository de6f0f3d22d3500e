// What /proc tells of a child: CPU time and memory of its own.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace quern::worker {

struct ChildUsage {
  std::int64_t cpu_ms = 0;         // in steps of the system's clock tick
  std::uint64_t memory_bytes = 0;  // anonymous and shared, not views of files
};

// Nothing where it has gone.
std::optional<ChildUsage> read_child_usage(pid_t pid);

// Of /proc/PID/stat and /proc/PID/status.
std::optional<std::int64_t> cpu_ticks_of(std::string_view stat);
std::uint64_t memory_bytes_of(std::string_view status);

}  // namespace quern::worker
