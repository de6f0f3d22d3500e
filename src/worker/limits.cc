#include "worker/limits.h"

#include <fmt/format.h>

namespace quern::worker {

using model::ErrorKind;

Watch::Watch(const Limits& limits, std::uint64_t input_bytes,
             std::chrono::steady_clock::time_point start)
    : limits_(limits), wall_ms_max_(limits.wall_ms_for(input_bytes)) {
  last_.at = start;
}

std::optional<Failure> Watch::look(const Sighting& now) {
  const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(now.at - last_.at);
  const bool moved = now.cpu_ms != last_.cpu_ms || now.output_bytes != last_.output_bytes;
  if (now.output_is_wanted) wall_ms_ += passed.count();
  idle_ms_ = moved || !now.output_is_wanted ? 0 : idle_ms_ + passed.count();
  last_ = now;
  if (now.output_bytes > limits_.output_bytes) {
    return Failure{ErrorKind::TooLarge, fmt::format("more than {} bytes of output (output_bytes)",
                                                    limits_.output_bytes)};
  }
  if (now.memory_bytes > limits_.memory_bytes) {
    return Failure{
        ErrorKind::OutOfMemory,
        fmt::format("more than {} bytes of memory (memory_bytes)", limits_.memory_bytes)};
  }
  if (wall_ms_ > wall_ms_max_) {
    return Failure{ErrorKind::Timeout,
                   fmt::format("not done after {} s (wall_ms)", wall_ms_max_ / 1000)};
  }
  if (idle_ms_ > limits_.idle_ms) {
    return Failure{ErrorKind::Timeout,
                   fmt::format("no progress for {} s (idle_ms)", limits_.idle_ms / 1000)};
  }
  return std::nullopt;
}

}  // namespace quern::worker
