// FakeClock: time that stands still until a test moves it, in either direction.
//
// Safe from any thread. The monotonic reading follows the wall clock forwards and never goes back.
#pragma once

#include <algorithm>
#include <mutex>

#include "io/clock.h"

namespace quern::support {

class FakeClock final : public io::Clock {
 public:
  // 2020-09-13T12:26:40Z, for want of a better instant.
  static constexpr std::int64_t kStartUs = 1'600'000'000'000'000;

  explicit FakeClock(std::int64_t now_us = kStartUs) : now_us_(now_us) {}

  std::int64_t now_us() const override {
    const std::scoped_lock lock(mutex_);
    return now_us_;
  }
  std::int64_t monotonic_us() const override {
    const std::scoped_lock lock(mutex_);
    return monotonic_us_;
  }

  // The wall clock alone: somebody set the machine's time, perhaps back.
  void set_now_us(std::int64_t now_us) {
    const std::scoped_lock lock(mutex_);
    now_us_ = now_us;
  }
  // Time passes.
  void advance_us(std::int64_t by_us) {
    const std::scoped_lock lock(mutex_);
    now_us_ += by_us;
    monotonic_us_ += std::max<std::int64_t>(by_us, 0);
  }

 private:
  mutable std::mutex mutex_;
  std::int64_t now_us_;
  std::int64_t monotonic_us_ = 0;
};

}  // namespace quern::support
