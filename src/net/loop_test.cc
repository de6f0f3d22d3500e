// Loop, Event and await_callback: what coroutines of one thread stand on.
#include "net/loop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "net/async.h"
#include "net/event.h"

namespace quern::net {
namespace {

Task<int> plus_one(Loop* loop, int value) {
  co_await loop->yield();
  co_return value + 1;
}

TEST(LoopTest, RunsUntilATaskHasEndedAndAgain) {
  Loop loop;
  EXPECT_EQ(loop.run_until(plus_one(&loop, 1)), 2);
  EXPECT_EQ(loop.run_until(plus_one(&loop, 2)), 3);
}

TEST(LoopTest, AStopBeforeRunCounts) {
  Loop loop;
  loop.stop();
  loop.run();
}

TEST(LoopTest, PostedFunctionsRunInOrderOnTheLoopsThread) {
  Loop loop;
  std::vector<int> order;
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) loop.post([&order, i] { order.push_back(i); });
    loop.stop();
  });
  loop.run();
  other.join();
  ASSERT_EQ(order.size(), 1000u);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(LoopTest, ARemoteOutlivesItsLoop) {
  auto loop = std::make_unique<Loop>();
  const Loop::Remote remote = loop->remote();
  const auto alive = std::make_shared<int>(0);
  EXPECT_TRUE(remote.post([alive] {}));
  loop.reset();
  EXPECT_EQ(alive.use_count(), 1) << "what was posted went with the loop";
  EXPECT_FALSE(remote.post([alive] {}));
}

Task<> throwing() {
  throw std::runtime_error("nobody catches this");
  co_return;
}

TEST(LoopDeathTest, ASpawnedCoroutineThatThrowsEndsTheProcess) {
  EXPECT_DEATH(
      {
        Loop loop;
        loop.spawn("careless", throwing());
        loop.run();
      },
      "careless.*nobody catches this");
}

Task<> note_end(Event* event, Instant deadline, std::vector<WaitEnd>* ends) {
  const WaitEnd end = co_await event->wait(deadline);
  ends->push_back(end);
}

Task<> note_number(Event* event, int number, std::vector<int>* order) {
  (void)co_await event->wait();
  order->push_back(number);
}

TEST(EventTest, NotifiesInTheOrderOfWaiting) {
  Loop loop;
  Event event(loop);
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) loop.spawn("waiter", note_number(&event, i, &order));
  loop.post([&] {
    EXPECT_EQ(event.waiters(), 3u);
    EXPECT_TRUE(event.notify_one());
    EXPECT_EQ(event.waiters(), 2u);
    EXPECT_EQ(event.notify_all(), 2u);
    EXPECT_FALSE(event.notify_one());
    loop.post([&] { loop.stop(); });
  });
  loop.run();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
}

TEST(EventTest, AWaitEndsAtItsDeadline) {
  Loop loop;
  Event event(loop);
  EXPECT_EQ(loop.run_until(event.wait(in_ms(1))), WaitEnd::TimedOut);
  EXPECT_EQ(event.waiters(), 0u);
}

TEST(EventTest, ANotificationBeatsADeadlineThatHasPassed) {
  Loop loop;
  Event event(loop);
  std::vector<WaitEnd> ends;
  const Instant deadline = in_ms(20);
  loop.spawn("waiter", note_end(&event, deadline, &ends));
  loop.post([&] {
    // The loop is in this function, so it cannot have ended the wait when the deadline passes.
    while (std::chrono::steady_clock::now() <= deadline) std::this_thread::yield();
    event.notify_one();
    loop.post([&] { loop.stop(); });
  });
  loop.run();
  EXPECT_EQ(ends, (std::vector<WaitEnd>{WaitEnd::Notified}));
}

TEST(EventTest, AnEventThatGoesEndsItsWaits) {
  Loop loop;
  auto event = std::make_unique<Event>(loop);
  std::vector<WaitEnd> ends;
  loop.spawn("waiter", note_end(event.get(), kNever, &ends));
  loop.post([&] {
    event.reset();
    loop.post([&] { loop.stop(); });
  });
  loop.run();
  EXPECT_EQ(ends, (std::vector<WaitEnd>{WaitEnd::Stopping}));
}

TEST(EventTest, ALoopThatGoesTakesItsWaitersAlong) {
  std::vector<WaitEnd> ends;
  auto loop = std::make_unique<Loop>();
  auto event = std::make_unique<Event>(*loop);
  loop->spawn("waiter", note_end(event.get(), kNever, &ends));
  loop->post([&] { loop->stop(); });
  loop->run();
  EXPECT_EQ(event->waiters(), 1u);
  loop.reset();
  EXPECT_EQ(event->waiters(), 0u);
  EXPECT_TRUE(ends.empty());
}

// A stand-in for the writer: answers on a thread of its own, many at a time.
class Answering {
 public:
  Answering() : thread_([this] { run(); }) {}
  ~Answering() {
    submit(nullptr);
    thread_.join();
  }
  void submit(std::function<void()> answer) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(answer));
    changed_.notify_one();
  }

 private:
  void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !waiting_.empty(); });
      auto batch = std::exchange(waiting_, {});
      lock.unlock();
      for (const auto& answer : batch) {
        if (!answer) return;
        answer();
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  std::thread thread_;
};

Task<> await_many(Loop* loop, Answering* answering, int count, std::int64_t* sum, int* running) {
  for (int i = 1; i <= count; ++i) {
    auto submit = [&](Callback<int> callback) {
      answering->submit([callback, i] { callback(i); });
    };
    *sum += co_await await_callback<int>(*loop, submit);
  }
  if (--*running == 0) loop->stop();
}

TEST(AwaitCallbackTest, AHundredThousandCallbacksFromAnotherThreadArriveOnce) {
  Loop loop;
  Answering answering;
  constexpr int kCoroutines = 100;
  constexpr int kEach = 1000;
  std::int64_t sum = 0;
  int running = kCoroutines;
  for (int i = 0; i < kCoroutines; ++i) {
    loop.spawn("caller", await_many(&loop, &answering, kEach, &sum, &running));
  }
  loop.run();
  EXPECT_EQ(sum, std::int64_t{kCoroutines} * kEach * (kEach + 1) / 2);
}

Task<int> await_immediate(Loop* loop) {
  co_return co_await await_callback<int>(*loop, [](Callback<int> callback) { callback(7); });
}

TEST(AwaitCallbackTest, MayCallBackBeforeTheCoroutineSuspends) {
  Loop loop;
  EXPECT_EQ(loop.run_until(await_immediate(&loop)), 7);
}

Task<> await_kept(Loop* loop, std::optional<Callback<std::shared_ptr<int>>>* kept) {
  (void)co_await await_callback<std::shared_ptr<int>>(
      *loop, [&](Callback<std::shared_ptr<int>> callback) { *kept = std::move(callback); });
  ADD_FAILURE() << "resumed after its loop had gone";
}

TEST(AwaitCallbackTest, ACallbackAfterTheLoopHasGoneOnlyDropsItsValue) {
  std::optional<Callback<std::shared_ptr<int>>> kept;
  auto loop = std::make_unique<Loop>();
  loop->spawn("caller", await_kept(loop.get(), &kept));
  loop->post([&] { loop->stop(); });
  loop->run();
  ASSERT_TRUE(kept.has_value());
  loop.reset();
  const auto value = std::make_shared<int>(1);
  std::thread([&] { (*kept)(value); }).join();
  kept.reset();
  EXPECT_EQ(value.use_count(), 1);
}

TEST(AwaitCallbackDeathTest, CallingBackTwiceIsABrokenInvariant) {
  Loop loop;
  std::optional<Callback<std::shared_ptr<int>>> kept;
  loop.spawn("caller", await_kept(&loop, &kept));
  loop.post([&] { loop.stop(); });
  loop.run();
  EXPECT_DEATH(
      {
        (*kept)(nullptr);
        (*kept)(nullptr);
      },
      "called_");
}

}  // namespace
}  // namespace quern::net
