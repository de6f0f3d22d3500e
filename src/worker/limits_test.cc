#include "worker/limits.h"

#include <gtest/gtest.h>

namespace quern::worker {
namespace {

using model::ErrorKind;
using std::chrono::milliseconds;

class WatchTest : public ::testing::Test {
 protected:
  WatchTest() {
    limits_.wall_ms = 10'000;
    limits_.wall_ms_per_mib = 1'000;
    limits_.idle_ms = 3'000;
    limits_.memory_bytes = 1'000;
    limits_.output_bytes = 500;
  }

  Sighting at(std::int64_t ms) const {
    Sighting sighting;
    sighting.at = start_ + milliseconds(ms);
    sighting.cpu_ms = ms;  // busy
    return sighting;
  }
  Sighting idle_at(std::int64_t ms) const {
    Sighting sighting = at(ms);
    sighting.cpu_ms = 7;
    return sighting;
  }

  Limits limits_;
  std::chrono::steady_clock::time_point start_{};
};

TEST_F(WatchTest, ABusyTaskMayGoOnUntilItsTimeIsOver) {
  Watch watch(limits_, 0, start_);
  for (int ms = 500; ms <= 10'000; ms += 500) EXPECT_FALSE(watch.look(at(ms)));
  const auto beyond = watch.look(at(10'500));
  ASSERT_TRUE(beyond.has_value());
  EXPECT_EQ(beyond->kind, ErrorKind::Timeout);
}

TEST_F(WatchTest, ALargerInputHasMoreTime) {
  Watch watch(limits_, 5 << 20, start_);
  EXPECT_FALSE(watch.look(at(14'900)));
  EXPECT_TRUE(watch.look(at(15'100)));
}

TEST_F(WatchTest, NoProgressIsToldFromSlowProgress) {
  Watch watch(limits_, 0, start_);
  EXPECT_FALSE(watch.look(idle_at(1'000)));
  EXPECT_FALSE(watch.look(idle_at(3'900)));
  EXPECT_TRUE(watch.look(idle_at(4'100)));

  Watch slow(limits_, 0, start_);
  for (int ms = 1'000; ms <= 9'000; ms += 2'000) {
    Sighting sighting = idle_at(ms);
    sighting.output_bytes = static_cast<std::uint64_t>(ms) / 100;
    EXPECT_FALSE(slow.look(sighting));
  }
}

TEST_F(WatchTest, TimeInWhichNobodyTakesItsOutputCountsForNothing) {
  Watch watch(limits_, 0, start_);
  for (int ms = 1'000; ms <= 100'000; ms += 1'000) {
    Sighting sighting = idle_at(ms);
    sighting.output_is_wanted = false;
    EXPECT_FALSE(watch.look(sighting));
  }
  EXPECT_FALSE(watch.look(idle_at(102'000)));
}

TEST_F(WatchTest, MemoryAndOutputAreBounded) {
  Watch watch(limits_, 0, start_);
  Sighting sighting = at(100);
  sighting.memory_bytes = 1'000;
  sighting.output_bytes = 500;
  EXPECT_FALSE(watch.look(sighting));
  sighting.memory_bytes = 1'001;
  EXPECT_EQ(watch.look(sighting)->kind, ErrorKind::OutOfMemory);
  sighting.memory_bytes = 0;
  sighting.output_bytes = 501;
  EXPECT_EQ(watch.look(sighting)->kind, ErrorKind::TooLarge);
}

}  // namespace
}  // namespace quern::worker
