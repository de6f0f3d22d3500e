#include "io/clock.h"

#include <fmt/chrono.h>

#include <chrono>

namespace quern::io {
namespace {

template <class TimePoint>
std::int64_t microseconds(TimePoint at) {
  return std::chrono::duration_cast<std::chrono::microseconds>(at.time_since_epoch()).count();
}

}  // namespace

std::int64_t SystemClock::now_us() const {
  return microseconds(std::chrono::system_clock::now());
}

std::int64_t SystemClock::monotonic_us() const {
  return microseconds(std::chrono::steady_clock::now());
}

const Clock& system_clock() {
  static const SystemClock the_clock;
  return the_clock;
}

std::string utc_text(std::int64_t time_us) {
  const auto at = std::chrono::floor<std::chrono::seconds>(std::chrono::microseconds(time_us));
  return fmt::format("{:%FT%TZ}", std::chrono::sys_seconds(at));
}

}  // namespace quern::io
