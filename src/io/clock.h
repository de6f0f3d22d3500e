// Clock: the only source of time outside the database.
//
// now_us() is the wall clock and may jump in either direction: for people and for files, never for
// a lease or a deadline. monotonic_us() never goes back, counts from an arbitrary instant, and
// means nothing to another process: for deadlines and measurements. Safe from any thread. Tests use
// support/fake_clock.h.
#pragma once

#include <cstdint>
#include <string>

namespace quern::io {

class Clock {
 public:
  virtual ~Clock() = default;

  // Microseconds since 1970-01-01T00:00:00Z.
  virtual std::int64_t now_us() const = 0;
  virtual std::int64_t monotonic_us() const = 0;

 protected:
  Clock() = default;
  Clock(const Clock&) = default;
  Clock& operator=(const Clock&) = default;
};

class SystemClock final : public Clock {
 public:
  std::int64_t now_us() const override;
  std::int64_t monotonic_us() const override;
};

// The one of this process; lives for ever.
const Clock& system_clock();

// "2026-03-01T12:00:00Z", for people.
std::string utc_text(std::int64_t time_us);

}  // namespace quern::io
