#include "io/pool.h"

#include <gtest/gtest.h>

#include <future>

namespace quern::io {
namespace {

TEST(PoolTest, RefusesBeyondItsQueueAndLeavesTheJobWithTheCaller) {
  Pool pool({.threads = 1, .queue_max = 1});
  std::promise<void> begun;
  std::promise<void> release;
  std::function<void()> blocking = [&] {
    begun.set_value();
    release.get_future().wait();
  };
  ASSERT_TRUE(pool.try_push(blocking));
  begun.get_future().wait();
  int ran = 0;
  std::function<void()> first = [&] { ++ran; };
  std::function<void()> second = [&] { ++ran; };
  EXPECT_TRUE(pool.try_push(first));
  EXPECT_FALSE(pool.try_push(second));
  EXPECT_TRUE(second != nullptr);
  release.set_value();
  pool.stop();
  EXPECT_EQ(ran, 1) << "stopping finishes what was taken";
  EXPECT_FALSE(pool.try_push(second));
}

}  // namespace
}  // namespace quern::io
