#include "io/pool.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>
#include <vector>

namespace quern::io {
namespace {

TEST(PoolTest, RefusesBeyondItsQueueAndTellsWhatIsQueuedWhenItStops) {
  Pool pool({.threads = 1, .queue_max = 1});
  std::promise<void> begun;
  std::promise<void> release;
  Pool::Job blocking = [&](Pool::Call) {
    begun.set_value();
    release.get_future().wait();
  };
  ASSERT_TRUE(pool.try_push(blocking));
  begun.get_future().wait();
  std::vector<Pool::Call> calls;
  Pool::Job first = [&](Pool::Call call) { calls.push_back(call); };
  Pool::Job second = first;
  EXPECT_TRUE(pool.try_push(first));
  EXPECT_FALSE(pool.try_push(second));
  EXPECT_TRUE(second != nullptr) << "what is refused stays with the caller";
  std::thread stopping([&] { pool.stop(); });
  // A push is refused for want of room until the stop is seen, and then for that.
  release.set_value();
  stopping.join();
  ASSERT_EQ(calls.size(), 1U) << "each job that was taken is called once";
  EXPECT_FALSE(pool.try_push(second));
}

}  // namespace
}  // namespace quern::io
