// Timers on every store: what start and reset do, and that a firing posts one message, whoever
// fires and whatever fails.
#include "queue/timer.h"

#include <boost/json.hpp>
#include <chrono>
#include <thread>

#include "conformance/queue_fixture.h"
#include "queue/message.h"
#include "queue/timer_processor.h"
#include "queue/timer_service.h"

namespace quern::queue {
namespace {

using store::HeldLane;
using store::push;
using store::StoreKind;
using store::Tx;
using How = SetTimer::How;

constexpr std::chrono::seconds kPatience{60};
// PostgreSQL's time goes on between two steps of a test; this is more than any machine needs.
constexpr std::int64_t kSlackUs = 30 * kSecondUs;

std::string pack(const std::string& type, const std::string& site) {
  return R"({"type":")" + type + R"(","site":")" + site + "\"}";
}
SetTimer start(const std::string& site, std::int64_t seconds, const std::string& type) {
  return {How::Start, site, seconds * kSecondUs, "PACK", pack(type, site)};
}
SetTimer reset(const std::string& site) {
  return {How::Reset, site};
}

// A loop with services, on a thread of its own.
class Services {
 public:
  Services() : thread_([this] { loop_.run(); }) {}
  ~Services() {
    for (auto& service : services_) {
      std::promise<void> stopped;
      loop_.post([&] { loop_.spawn("stop", stop(service.get(), &stopped)); });
      stopped.get_future().wait();
    }
    loop_.stop();
    thread_.join();
  }
  TimerService& start(store::Writer& writer, store::Readers& readers) {
    const auto posted = [this](PartitionId) { ++posts_; };
    services_.push_back(std::make_unique<TimerService>(loop_, writer, readers, posted,
                                                       TimerServiceOptions{.tick_ms = 5}));
    TimerService* service = services_.back().get();
    loop_.post([service] { service->start(); });
    return *service;
  }
  int posts() const { return posts_; }

 private:
  static net::Task<> stop(TimerService* service, std::promise<void>* stopped) {
    co_await service->stop();
    stopped->set_value();
  }

  std::atomic<int> posts_{0};
  net::Loop loop_;
  std::vector<std::unique_ptr<TimerService>> services_;
  std::thread thread_;
};

class TimerTest : public QueueTest {
 protected:
  Result<std::int64_t> set(const SetTimer& timer) { return writer_->run({}, timer); }

  // One pass of a service: everything that is due, on this thread.
  std::int64_t fire() {
    std::int64_t fired = 0;
    while (true) {
      const auto due = readers_->run([](Tx& tx) { return find_due(tx); });
      if (!due.ok() || due->queues.empty()) return fired;
      for (const std::string& queue : due->queues) fired += fire_one(queue);
    }
  }
  std::int64_t fire_one(const std::string& queue) {
    const auto partition = ensure_queue(*writer_, *readers_, queue);
    CHECK_OK(partition);
    const auto fired = writer_->run(lane_of(*partition), change_partition(*partition, [&](Tx& tx) {
                                      return fire_timers(tx, queue, *partition);
                                    }));
    CHECK_OK(fired);
    return *fired;
  }
  std::vector<Item> messages(const std::string& queue = "PACK") {
    std::vector<Item> all;
    while (true) {
      ItemFilter filter{.after = all.empty() ? "" : all.back().name};
      filter.limit = kMessagesListedMax;
      auto page = readers_->run([&](Tx& tx) { return list_messages(tx, queue, filter); });
      CHECK_OK(page);
      all.insert(all.end(), page->begin(), page->end());
      if (page->size() < kMessagesListedMax) return all;
    }
  }
  // "pack_full a, pack_full b": what is in the queue, in the order in which it was put.
  std::string posted(const std::string& queue = "PACK") {
    std::vector<Item> items = messages(queue);
    std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.id < b.id; });
    std::string text;
    for (const Item& item : items) {
      const auto body = boost::json::parse(item.data).as_object();
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", body.at("type").as_string().c_str(),
                          body.at("site").as_string().c_str());
    }
    return text;
  }
  Result<Timer> timer(const std::string& key) {
    return readers_->run([&](Tx& tx) { return load_timer(tx, key); });
  }
  template <class Condition>
  bool eventually(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  }
};

TEST_P(TimerTest, A1_AStartAndTwoResetsFireOnceAtTheEnd) {
  const std::int64_t begin_us = now_us();
  ASSERT_TRUE(set(start("a.gov", 300, "pack_full")).ok());
  pass(100);
  ASSERT_TRUE(set(reset("a.gov")).ok());
  pass(150);
  const auto due_us = set(reset("a.gov"));
  EXPECT_GE(*due_us, begin_us + 550 * kSecondUs);
  EXPECT_LT(*due_us, begin_us + 550 * kSecondUs + kSlackUs);
  if (GetParam() == StoreKind::Sqlite) EXPECT_EQ(*due_us, begin_us + 550 * kSecondUs);
  for (const int seconds : {50, 100, 100, 20}) {  // 300, 400, 500, 520: it was due at the first two
    pass(seconds);
    EXPECT_EQ(fire(), 0) << (now_us() - begin_us) / kSecondUs;
  }
  EXPECT_EQ(posted(), "");
  pass(30 + kSlackUs / kSecondUs);
  EXPECT_EQ(fire(), 1);
  EXPECT_EQ(posted(), "pack_full a.gov");
  pass(10'000);
  EXPECT_EQ(fire(), 0);
  EXPECT_EQ(posted(), "pack_full a.gov");
}

TEST_P(TimerTest, A2_AResetWithoutATimerMakesTheIncrementalOne) {
  const std::int64_t begin_us = now_us();
  const auto due_us = set(reset("a.gov"));
  EXPECT_GE(*due_us, begin_us + kDefaultTimeoutUs);
  EXPECT_LT(*due_us, begin_us + kDefaultTimeoutUs + kSlackUs);
  pass(200);
  EXPECT_EQ(fire(), 0);
  pass(130);
  EXPECT_EQ(fire(), 1);
  EXPECT_EQ(posted(), "pack_incremental a.gov");
  EXPECT_EQ(timer("a.gov").error().kind(), Errc::Missing);
}

TEST_P(TimerTest, A2_AResetMayCarryTheTimeoutAndTheCallbackOfANewTimer) {
  ASSERT_TRUE(set({How::Reset, "a.gov", 7 * kSecondUs, "INDEX", pack("index", "b.gov")}).ok());
  EXPECT_EQ(timer("a.gov")->timeout_us, 7 * kSecondUs);
  pass(60);
  EXPECT_EQ(fire(), 1);
  EXPECT_EQ(posted("INDEX"), "index b.gov");
  EXPECT_EQ(posted(), "");
}

TEST_P(TimerTest, A3_ResetsThatCarryAnIncrementalCallbackLeaveTheFullOne) {
  ASSERT_TRUE(set(start("a.gov", 300, "pack_full")).ok());
  SetTimer carrying{How::Reset, "a.gov", kSecondUs, "PACK", pack("pack_incremental", "a.gov")};
  ASSERT_TRUE(set(carrying).ok());
  ASSERT_TRUE(set(carrying).ok());
  EXPECT_EQ(timer("a.gov")->timeout_us, 300 * kSecondUs) << "the stored timeout counts";
  pass(330);
  EXPECT_EQ(fire(), 1);
  EXPECT_EQ(posted(), "pack_full a.gov");
}

TEST_P(TimerTest, A3_AStartReplacesAllButAWaitingPackFull) {
  ASSERT_TRUE(set(start("a.gov", 300, "pack_incremental")).ok());
  ASSERT_TRUE(set(start("a.gov", 200, "pack_full")).ok());
  EXPECT_EQ(timer("a.gov")->callback_msg, pack("pack_full", "a.gov"));
  ASSERT_TRUE(set(start("a.gov", 100, "pack_incremental")).ok());
  EXPECT_EQ(timer("a.gov")->callback_msg, pack("pack_full", "a.gov"));
  EXPECT_EQ(timer("a.gov")->timeout_us, 100 * kSecondUs);
  SetTimer other{How::Start, "a.gov", 50 * kSecondUs, "CRAWL", pack("crawl", "a.gov")};
  ASSERT_TRUE(set(other).ok());
  EXPECT_EQ(timer("a.gov")->callback_queue, "CRAWL") << "only the incremental one is lower";
  ASSERT_TRUE(set(reset("a.gov")).ok());
  EXPECT_EQ(timer("a.gov")->callback_queue, "CRAWL") << "a reset keeps whatever is stored";
  pass(130);
  EXPECT_EQ(fire(), 1);
  EXPECT_EQ(posted("CRAWL"), "crawl a.gov");
  ASSERT_TRUE(set(start("a.gov", 1, "pack_incremental")).ok());
  EXPECT_EQ(timer("a.gov")->callback_msg, pack("pack_incremental", "a.gov")) << "it had fired";
}

TEST_P(TimerTest, A4_ABusySiteDelaysNoOther) {
  Services services;
  TimerService& service = services.start(*writer_, *readers_);
  ASSERT_TRUE(set(start("x.gov", 60, "pack_full")).ok());
  ASSERT_TRUE(set(start("y.gov", 60, "pack_full")).ok());
  for (int second = 1; second <= 90; ++second) {
    if (second == 30) EXPECT_EQ(posted(), "");
    pass(1);
    ASSERT_TRUE(set(reset("y.gov")).ok());
    service.poke();
  }
  // Nothing more happens to the time: X is due, and that is enough.
  ASSERT_TRUE(eventually([&] { return !posted().empty(); }));
  EXPECT_EQ(posted(), "pack_full x.gov");
  EXPECT_TRUE(timer("y.gov").ok());
  EXPECT_GE(services.posts(), 1);
}

TEST_P(TimerTest, A5_WhatFellDueWhileNobodyRanFiresOnceAtTheRestart) {
  {
    Services services;
    services.start(*writer_, *readers_);
    ASSERT_TRUE(set(start("a.gov", 300, "pack_full")).ok());
  }
  readers_.reset();
  close();
  pass(1000);
  ASSERT_NO_FATAL_FAILURE(open_queue());
  EXPECT_EQ(posted(), "");
  Services services;
  services.start(*writer_, *readers_);
  ASSERT_TRUE(eventually([&] { return !posted().empty(); }));
  EXPECT_EQ(posted(), "pack_full a.gov");
  EXPECT_EQ(fire(), 0);
}

TEST_P(TimerTest, A6_APostThatIsNotCommittedLeavesTheTimer) {
  ASSERT_TRUE(set(start("a.gov", 1, "pack_full")).ok());
  pass(60);
  const PartitionId partition = *ensure_queue(*writer_, *readers_, "PACK");
  const auto failed =
      writer_->run(lane_of(partition), change_partition(partition, [&](Tx& tx) -> Result<int> {
                     const auto fired = fire_timers(tx, "PACK", partition);
                     EXPECT_EQ(*fired, 1);
                     return Error{Errc::Internal, "here it dies"};
                   }));
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(posted(), "");
  EXPECT_TRUE(timer("a.gov").ok());
  EXPECT_EQ(fire(), 1);
  EXPECT_EQ(posted(), "pack_full a.gov");
  EXPECT_FALSE(timer("a.gov").ok());
}

TEST_P(TimerTest, A6_SeveralServicesPostEachCallbackOnce) {
  constexpr int kTimers = 3 * static_cast<int>(kFiredAtOnceMax) + 7;
  std::vector<std::future<Result<std::int64_t>>> answers;
  {
    HeldLane held(writer_->lane({}));
    for (int i = 0; i < kTimers; ++i) {
      answers.push_back(
          push(writer_->lane({}), start(fmt::format("s{:03}.gov", i), 10, "pack_full")));
    }
  }
  for (auto& answer : answers) ASSERT_TRUE(answer.get().ok());
  Services services;
  for (int i = 0; i < 3; ++i) services.start(*writer_, *readers_);
  pass(60);
  ASSERT_TRUE(eventually([&] { return messages().size() >= kTimers; }));
  EXPECT_EQ(fire(), 0);
  std::set<std::string> bodies;
  for (const Item& item : messages()) bodies.insert(item.data);
  EXPECT_EQ(messages().size(), static_cast<std::size_t>(kTimers));
  EXPECT_EQ(bodies.size(), static_cast<std::size_t>(kTimers));
}

TEST_P(TimerTest, SetsOfOneBatchHaveTheirEffectsInOrder) {
  const auto begin_us = now_us();
  std::vector<std::future<Result<std::int64_t>>> answers;
  {
    HeldLane held(writer_->lane({}));
    const std::vector<SetTimer> batch = {
        reset("a.gov"),                          // incremental, 300
        start("b.gov", 10, "pack_full"),         //
        start("a.gov", 20, "pack_full"),         // raised
        start("a.gov", 30, "pack_incremental"),  // not lowered, but 30
        {How::Start, "c.gov", 0, "PACK", pack("pack_full", "c.gov")},
        reset("a.gov"),  // still 30
        {How::Start, "d.gov", kSecondUs, "PACK", pack("crawl", "d.gov")},
        {How::Start, "", kSecondUs, "PACK", pack("pack_full", "d.gov")},
    };
    for (const SetTimer& one : batch) answers.push_back(push(writer_->lane({}), one));
  }
  std::vector<Result<std::int64_t>> results;
  for (auto& answer : answers) results.push_back(answer.get());
  const auto expect_due = [&](std::size_t i, std::int64_t seconds) {
    EXPECT_GE(*results[i], begin_us + seconds * kSecondUs) << i;
    EXPECT_LT(*results[i], begin_us + seconds * kSecondUs + kSlackUs) << i;
  };
  expect_due(0, 300);
  expect_due(1, 10);
  expect_due(2, 20);
  expect_due(3, 30);
  expect_due(5, 30);
  for (const std::size_t i : {4, 6, 7}) EXPECT_EQ(results[i].error().kind(), Errc::Invalid) << i;
  EXPECT_EQ(timer("a.gov")->due_us, *results[5]);
  EXPECT_EQ(timer("a.gov")->callback_msg, pack("pack_full", "a.gov"));
  const auto all = readers_->run([](Tx& tx) { return list_timers(tx, "", kListMax); });
  ASSERT_EQ(all->size(), 2U) << "those that were refused left nothing";
  EXPECT_EQ((*all)[1].key, "b.gov");
  EXPECT_EQ(readers_->run([](Tx& tx) { return list_timers(tx, "a.gov", 1); })->at(0).key, "b.gov");
}

TEST_P(TimerTest, CallbacksArePostedInTheOrderInWhichTheyWereDue) {
  for (const auto& [site, seconds] : {std::pair{"b", 100}, {"c", 200}, {"a", 300}}) {
    ASSERT_TRUE(set(start(site, seconds, "pack_full")).ok());
  }
  pass(400);
  EXPECT_EQ(fire(), 3);
  EXPECT_EQ(posted(), "pack_full b, pack_full c, pack_full a");
}

TEST_P(TimerTest, ASiteCanFireAgainAndAgainAlsoWithTheLongestName) {
  const std::string site(kSiteBytesMax, 's');
  for (int i = 1; i <= 3; ++i) {
    ASSERT_TRUE(set(start(site, 1, "pack_full")).ok());
    pass(60);
    EXPECT_EQ(fire(), 1);
    EXPECT_EQ(messages().size(), static_cast<std::size_t>(i));
  }
}

TEST_P(TimerTest, WhatIsDueNextIsKnown) {
  const auto due = [&] { return *readers_->run([](Tx& tx) { return find_due(tx); }); };
  EXPECT_EQ(due().next_us, kNeverUs);
  EXPECT_TRUE(due().queues.empty());
  ASSERT_TRUE(set(start("a", 500, "pack_full")).ok());
  SetTimer crawl{How::Start, "b", 100 * kSecondUs, "CRAWL", pack("crawl", "b")};
  const auto crawl_us = set(crawl);
  EXPECT_EQ(due().next_us, *crawl_us);
  pass(150);
  EXPECT_EQ(due().queues, std::vector<std::string>{"CRAWL"});
  EXPECT_EQ(due().next_us, timer("a")->due_us);
  pass(500);
  EXPECT_EQ(due().queues, (std::vector<std::string>{"CRAWL", "PACK"}));
  EXPECT_EQ(due().next_us, kNeverUs);
  EXPECT_GE(due().now_us, *crawl_us);
}

TEST_P(TimerTest, AMessageOfQueueTimerSetsItsTimerInTheTransactionThatCompletesIt) {
  const auto processor = make_timer_processor([] {});
  Work work;
  work.item.data = R"({"type":"reset_timer","site":"a.gov"})";
  Outcome outcome;
  processor->process(work, [&](Outcome made) { outcome = std::move(made); });
  ASSERT_TRUE(outcome.effect);
  const auto effect = outcome.effect;
  const auto undone = writer_->run({}, [effect](Tx& tx) -> Result<int> {
    TRY(effect(tx));
    return Error{Errc::Internal, "not stored"};
  });
  ASSERT_FALSE(undone.ok());
  EXPECT_FALSE(timer("a.gov").ok());
  ASSERT_TRUE(writer_->run({}, effect).ok());
  EXPECT_TRUE(timer("a.gov").ok());
}

INSTANTIATE_TEST_SUITE_P(Stores, TimerTest, testing::Values(StoreKind::Sqlite, StoreKind::Postgres),
                         store::store_name);

// What needs a time that stands still.
class TimerInstantTest : public TimerTest {};

TEST_P(TimerInstantTest, A1_ATimerFiresAtItsDueTimeAndNotAnInstantBefore) {
  ASSERT_TRUE(set(start("a.gov", 300, "pack_full")).ok());
  fake_clock_.advance_us(300 * kSecondUs - 1);
  EXPECT_EQ(fire(), 0);
  fake_clock_.advance_us(1);
  EXPECT_EQ(fire(), 1);
}

INSTANTIATE_TEST_SUITE_P(Stores, TimerInstantTest, testing::Values(StoreKind::Sqlite),
                         store::store_name);

// What only several connections at once can show.
class TimerLockTest : public TimerTest {};

TEST_P(TimerLockTest, ATimerThatIsBeingSetHoldsUpNoOther) {
  ASSERT_TRUE(set(start("x.gov", 1, "pack_full")).ok());
  ASSERT_TRUE(set(start("y.gov", 1, "pack_full")).ok());
  pass(60);
  std::promise<void> locked;
  std::promise<void> released;
  auto setting = push(writer_->control(), [&](Tx& tx) -> Result<int> {
    const SetTimer again = reset("y.gov");
    TRY(std::move(apply(tx, std::span<const SetTimer>(&again, 1))[0]));
    locked.set_value();
    released.get_future().wait();
    return 0;
  });
  locked.get_future().wait();
  EXPECT_EQ(fire_one("PACK"), 1);
  EXPECT_EQ(posted(), "pack_full x.gov");
  released.set_value();
  ASSERT_TRUE(setting.get().ok());
  EXPECT_EQ(fire(), 0) << "Y was reset";
}

TEST_P(TimerLockTest, AFullStartAndAResetThatRaceForANewSiteLeaveTheFullOne) {
  for (int round = 0; round < 30; ++round) {
    const std::string site = fmt::format("r{}.gov", round);
    auto one = push(writer_->control(), start(site, 10, "pack_full"));
    auto two = push(writer_->lane({}), reset(site));
    ASSERT_TRUE(one.get().ok());
    ASSERT_TRUE(two.get().ok());
    ASSERT_EQ(timer(site)->callback_msg, pack("pack_full", site)) << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, TimerLockTest, testing::Values(StoreKind::Postgres),
                         store::store_name);

}  // namespace
}  // namespace quern::queue
