#include "io/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

namespace quern::io {
namespace {

TEST(PoolTest, RefusesBeyondItsQueueAndLeavesTheJobWithTheCaller) {
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
  release.set_value();
  pool.stop();
  ASSERT_EQ(calls.size(), 1U) << "each job that was taken is called once";
  EXPECT_FALSE(pool.try_push(second));
}

TEST(PoolTest, WhatIsQueuedWhenItStopsIsToldSo) {
  Pool pool({.threads = 1, .queue_max = 1'000'000});
  std::promise<void> begun;
  std::promise<void> release;
  Pool::Job blocking = [&](Pool::Call) {
    begun.set_value();
    release.get_future().wait();
  };
  ASSERT_TRUE(pool.try_push(blocking));
  begun.get_future().wait();
  std::atomic<int> ran = 0;
  std::atomic<int> told = 0;
  const Pool::Job queued = [&](Pool::Call call) { ++(call == Pool::Call::Run ? ran : told); };
  std::thread stopping([&] { pool.stop(); });
  // There is room, so the first refusal means that the pool has begun to stop.
  int taken = 0;
  for (Pool::Job job = queued; pool.try_push(job); job = queued) ++taken;
  ASSERT_LT(taken, 1'000'000);
  release.set_value();
  stopping.join();
  EXPECT_EQ(ran, 0);
  EXPECT_EQ(told, taken);
}

}  // namespace
}  // namespace quern::io
