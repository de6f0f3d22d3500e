#include "io/clock.h"

#include <gtest/gtest.h>

namespace quern::io {
namespace {

TEST(ClockTest, WallClockCountsFromTheEpoch) {
  const std::int64_t year_2024_us = 1'704'067'200'000'000;
  const std::int64_t year_2200_us = 7'258'118'400'000'000;
  EXPECT_GT(system_clock().now_us(), year_2024_us);
  EXPECT_LT(system_clock().now_us(), year_2200_us);
}

TEST(ClockTest, MonotonicReadingNeverGoesBack) {
  std::int64_t last_us = system_clock().monotonic_us();
  for (int i = 0; i < 10'000; ++i) {
    const std::int64_t now_us = system_clock().monotonic_us();
    ASSERT_GE(now_us, last_us);
    last_us = now_us;
  }
}

TEST(ClockTest, UtcTextIsForPeople) {
  EXPECT_EQ(utc_text(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(utc_text(1'600'000'000'999'999), "2020-09-13T12:26:40Z");
  EXPECT_EQ(utc_text(-1), "1969-12-31T23:59:59Z");
}

}  // namespace
}  // namespace quern::io
