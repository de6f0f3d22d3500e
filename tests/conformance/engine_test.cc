// Goal: the work engine keeps its promises on both stores: fan-out and fan-in, retries, leases,
// balance. Method: engines at work in this process, over a real store, with processors that record
// their calls. Rows of the acceptance table have their ids in the names.
#include "conformance/engine_fixture.h"

namespace quern::queue {
namespace {

using store::Tx;

// Each call has a thread of its own, and may wait.
class Threaded final : public Processor {
 public:
  explicit Threaded(std::function<Outcome(const Work&)> function)
      : function_(std::move(function)) {}
  ~Threaded() override {
    for (std::thread& thread : threads_) thread.join();
  }
  void process(Work work, Answered answered) override {
    threads_.emplace_back([this, work, answered] { answered(function_(work)); });
  }

 private:
  const std::function<Outcome(const Work&)> function_;
  std::vector<std::thread> threads_;
};

Outcome to_gate(std::int64_t gate) {
  return {.gate = gate};
}

TEST_P(EngineTest, AnItemIsTakenAndCompleted) {
  const PartitionId id = make("p");
  auto processor = record([](const Work&) { return Outcome::complete(); });
  start(processor);
  ASSERT_TRUE(add(id, some(1)).ok());
  ASSERT_TRUE(eventually([&] { return load("p").complete_items == 1; }));
  EXPECT_EQ(processor->total(), 1);
  const Item item = load_one(id, "i0");
  EXPECT_EQ(item.status, Status::Complete);
  EXPECT_EQ(item.calls, 1);
  EXPECT_EQ(load("p").status, Status::Available) << "it closes by itself only with auto_close";
}

TEST_P(EngineTest, C3_TwentyItemsTakeTwentyCalls) {
  const PartitionId id = make("p", {.auto_close = true});
  ASSERT_TRUE(add(id, some(20)).ok());
  auto processor = record([](const Work&) { return Outcome::complete(); });
  processor->hold();  // longer than many scans
  start(processor, {.lease_ms = 2000, .scan_ms = 20});
  ASSERT_TRUE(eventually([&] { return processor->total() == 10; })) << "its concurrency";
  for (int i = 0; i < 20; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(processor->total(), 10) << "what is running is not sent again";
  processor->release();
  ASSERT_TRUE(reaches("p", Status::Complete));
  EXPECT_EQ(processor->total(), 20);
  for (const Item& item : items(id)) EXPECT_EQ(item.status, Status::Complete);
}

TEST_P(EngineTest, C4_AHandlerSlowerThanTheLeaseKeepsItAndIsCalledOnce) {
  const PartitionId id = make("p");
  auto processor = record([](const Work&) { return Outcome::complete(); });
  processor->hold();
  const EngineOptions options{.lease_ms = 1500, .scan_ms = 30};
  start(processor, options);
  start(processor, options);
  ASSERT_TRUE(add(id, some(2)).ok());
  ASSERT_TRUE(eventually([&] { return processor->total() == 2; }));
  const std::int64_t token = load("p").token;
  std::this_thread::sleep_for(std::chrono::milliseconds(2 * options.lease_ms));
  EXPECT_EQ(load("p").token, token) << "nobody took it away";
  processor->release();
  ASSERT_TRUE(eventually([&] { return load("p").complete_items == 2; }));
  EXPECT_EQ(processor->total(), 2);
}

TEST_P(EngineTest, C6_FourWatchersShareAHundredPartitionsEvenly) {
  for (int i = 0; i < 100; ++i) {
    const PartitionId id = make("p" + std::to_string(i));
    ASSERT_TRUE(add(id, some(1)).ok());
  }
  auto processor = record([](const Work&) { return Outcome::complete(); });
  const EngineOptions options{.lease_ms = 2000, .scan_ms = 50};
  const auto held_by = [&] {
    std::map<std::string, int> held;
    std::vector<Partition> all =
        *readers_->run([](Tx& tx) { return list_partitions(tx, {.limit = 1000}); });
    for (const Partition& partition : all) ++held[partition.owner_name];
    return held;
  };
  for (int i = 0; i < 4; ++i) {
    start(processor, options);
    ASSERT_TRUE(eventually([&] { return !held_by().contains(""); })) << "somebody has each";
  }
  ASSERT_TRUE(eventually([&] {
    const auto held = held_by();
    return held.size() == 4 && std::all_of(held.begin(), held.end(), [](const auto& entry) {
             return entry.second >= 24 && entry.second <= 26;
           });
  })) << testing::PrintToString(held_by());
  EXPECT_TRUE(eventually([&] { return processor->total() == 100; }));
}

TEST_P(EngineTest, C9_TheGateJumpsToTheNextOneThatHasItems) {
  const PartitionId id = make("p", {.auto_close = true});
  ASSERT_TRUE(add(id, {{"a", 0, "{}"}, {"b", 0, "{}"}, {"c", 3, "{}"}}).ok());
  start(record([](const Work&) { return Outcome::complete(); }));
  ASSERT_TRUE(reaches("p", Status::Complete));
  std::vector<std::int64_t> gates;
  for (const Event& event : events(id)) {
    if (event.kind == "gate.opened") gates.push_back(event.gate);
  }
  EXPECT_EQ(gates, std::vector<std::int64_t>{3});
}

// The decision is made by turns that run at the same time as the puts, in any order.
TEST_P(EngineTest, C11_AnItemPutWhileTheGateAdvancesIsNeverSkipped) {
  auto processor = record(
      [](const Work& work) { return work.item.gate == 0 ? to_gate(1) : Outcome::complete(); });
  start(processor, {.lease_ms = 5000, .scan_ms = 20});
  constexpr int kRepeats = 1000;
  int refused = 0;
  const PartitionId id = make("p", {.concurrency = 100});
  for (int i = 0; i < kRepeats; ++i) {
    const std::string name = std::to_string(i);
    // At the gate where the partition stands just now, or is about to leave.
    const std::int64_t gate = load("p").gate;
    const auto put = add(id, {{"a" + name, gate, "{}"}});
    if (!put.ok()) {
      ASSERT_EQ(put.error().kind(), Errc::Conflict) << put.error().message();
      ++refused;
      continue;
    }
    ASSERT_TRUE(add(id, {{"b" + name, gate + 1, "{}"}}).ok());
  }
  ASSERT_TRUE(eventually([&] { return load("p").open_items() == 0; }));
  const Partition end = load("p");
  EXPECT_EQ(end.complete_items, end.items);
  EXPECT_EQ(end.items, 2 * (kRepeats - refused));
}

TEST_P(EngineTest, C12_WithoutASlotNothingIsTakenAndTheGateStays) {
  const PartitionId busy = make("busy");
  const PartitionId waiting = make("waiting");
  ASSERT_TRUE(add(busy, some(2)).ok());
  auto processor = record([](const Work&) { return Outcome::complete(); });
  processor->hold();
  start(processor, {.lease_ms = 2000, .scan_ms = 20, .in_flight_max = 2});
  ASSERT_TRUE(eventually([&] { return processor->total() == 2; }));
  ASSERT_TRUE(add(waiting, {{"x", 0, "{}"}, {"y", 1, "{}"}}).ok());
  ASSERT_TRUE(eventually([&] { return load("waiting").owner.has_value(); }));
  for (int i = 0; i < 10; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(processor->total(), 2);
  EXPECT_EQ(load("waiting").gate, 0);
  EXPECT_EQ(load_one(waiting, "x").status, Status::Available);
  processor->release();
  ASSERT_TRUE(eventually([&] { return load("waiting").complete_items == 2; }));
  EXPECT_EQ(processor->order(), (std::vector<std::string>{"i0", "i1", "x", "y"}));
}

TEST_P(EngineTest, C13_AFailedItemHoldsTheGateUntilItIsRequeued) {
  std::atomic<bool> broken{true};
  auto processor = record([&](const Work& work) {
    if (work.item.name == "i3" && broken)
      return Outcome{.kind = Outcome::Kind::Failed, .error = "no", .no_retry = true};
    return work.item.gate == 0 ? to_gate(1) : Outcome::complete();
  });
  const PartitionId id = make("p", {.auto_close = true});
  ASSERT_TRUE(add(id, some(10)).ok());
  start(processor);
  ASSERT_TRUE(reaches("p", Status::Failed));
  ASSERT_TRUE(
      eventually([&] { return items(id, {.status = Status::Available, .gate = 1}).size() == 9; }));
  ASSERT_TRUE(eventually([&] { return !load("p").owner; })) << "nobody is kept busy with it";
  EXPECT_EQ(processor->total(), 10);
  EXPECT_EQ(load("p").gate, 0);
  EXPECT_EQ(load_one(id, "i3").status, Status::Failed);
  EXPECT_NE(load_one(id, "i3").errors.find("no"), std::string::npos);

  broken = false;
  ASSERT_EQ(*change(id, [id](Tx& tx) { return requeue_items(tx, id, "i3"); }), 1);
  ASSERT_TRUE(reaches("p", Status::Complete));
  EXPECT_EQ(load("p").complete_items, 10);
  EXPECT_EQ(processor->calls("i3"), 3);
}

TEST_P(EngineTest, C14_RetriesAreCountedAsConfiguredAndWait) {
  auto processor = record([](const Work&) { return Outcome::failed("always"); });
  start(processor);
  const PartitionId none = make("none", {.max_retries = 0, .backoff_ms = 1});
  const PartitionId three = make("three", {.max_retries = 3, .backoff_ms = 20});
  const PartitionId endless =
      make("endless", {.max_retries = -1, .backoff_ms = 1, .backoff_ms_max = 2});
  ASSERT_TRUE(add(none, {{"none", 0, "keep"}}).ok());
  ASSERT_TRUE(add(three, {{"three", 0, "keep"}}).ok());
  ASSERT_TRUE(add(endless, {{"endless", 0, "keep"}}).ok());
  ASSERT_TRUE(reaches("none", Status::Failed));
  ASSERT_TRUE(reaches("three", Status::Failed));
  ASSERT_TRUE(eventually([&] { return processor->calls("endless") >= 20; }));
  EXPECT_EQ(processor->calls("none"), 1);
  EXPECT_EQ(processor->calls("three"), 4);
  EXPECT_EQ(load("endless").status, Status::Available);
  const Item failed = load_one(three, "three");
  EXPECT_EQ(failed.retry_count, 4);
  EXPECT_EQ(failed.data, "keep");
  // 20, 40 and 80 ms, each less at most half.
  EXPECT_GE(failed.updated_us - failed.created_us, 70'000);
}

TEST_P(EngineTest, C17_MissingFieldsChangeNothingAndALowerGateIsAnError) {
  auto processor = record([](const Work& work) {
    Outcome outcome;
    if (work.item.calls == 1) outcome.gate = 2;      // no data: unchanged
    if (work.item.calls == 2) outcome.data = "new";  // no gate: unchanged
    if (work.item.calls == 3) outcome.gate = 1;
    return outcome;
  });
  const PartitionId id = make("p");
  ASSERT_TRUE(add(id, {{"i", 0, "old"}}).ok());
  processor->hold();
  start(processor);
  const auto answer_call = [&](int number) {
    const bool called = eventually([&] { return processor->total() == number; });
    processor->release();
    processor->hold();
    return called;
  };
  ASSERT_TRUE(answer_call(1));
  ASSERT_TRUE(eventually([&] { return load_one(id, "i").gate == 2; }));
  EXPECT_EQ(load_one(id, "i").data, "old");
  ASSERT_TRUE(answer_call(2));
  ASSERT_TRUE(eventually([&] { return load_one(id, "i").data == "new"; }));
  EXPECT_EQ(load_one(id, "i").gate, 2);
  ASSERT_TRUE(answer_call(3));
  ASSERT_TRUE(reaches("p", Status::Failed));
  const Item item = load_one(id, "i");
  EXPECT_EQ(item.gate, 2);
  EXPECT_EQ(item.data, "new");
  EXPECT_NE(item.errors.find("below the item's gate 2"), std::string::npos) << item.errors;
}

// Somebody has everything locked for longer than the lease. tests/e2e has a PostgreSQL that is
// gone.
TEST_P(EngineTest, C23_AStoreThatDoesNotAnswerForAWhileLosesNothing) {
  const PartitionId id = make("p", {.auto_close = true});
  auto processor = record([](const Work&) { return Outcome::complete(); });
  processor->hold();
  Engine& engine = start(processor, {.lease_ms = 1000, .scan_ms = 50});
  ASSERT_TRUE(add(id, some(3)).ok());
  ASSERT_TRUE(eventually([&] { return processor->total() == 3; }));
  auto blocker = database_->connect_writer();
  ASSERT_TRUE(blocker.ok());
  const bool sqlite = GetParam() == store::StoreKind::Sqlite;
  ASSERT_TRUE((*blocker)
                  ->script(sqlite ? "BEGIN IMMEDIATE"
                                  : "SET idle_in_transaction_session_timeout = 0; BEGIN;"
                                    " LOCK TABLE owner, partition, item IN ACCESS EXCLUSIVE MODE")
                  .ok());
  processor->release();  // these results cannot be stored now
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  (*blocker)->rollback();
  ASSERT_TRUE((*blocker)->script("ROLLBACK").ok() || sqlite);
  ASSERT_TRUE(reaches("p", Status::Complete));
  EXPECT_EQ(load("p").complete_items, 3);
  EXPECT_EQ(processor->total(), 3) << "nobody else was there to take them: each was called once";
  ASSERT_TRUE(eventually([&] { return engine.stats().trouble.empty(); }));
}

TEST_P(EngineTest, C19_AWatcherNeedsNoClockOfItsOwn) {
  // Leases are compared with the database's time alone: a row that expires in five minutes of that
  // time stays its owner's, and one that expired five minutes ago is free at once.
  const PartitionId ahead = make("ahead");
  const PartitionId behind = make("behind");
  const auto own = [&](PartitionId id, std::int64_t until_from_now_s) {
    const auto done = writer_->run(writer_->control(), [&](Tx& tx) -> Result<bool> {
      static constexpr store::Sql kOwn{"UPDATE partition SET owner = $2 WHERE id = $1"};
      TRY_ASSIGN(const Owner owner, register_owner(tx, "o" + std::to_string(until_from_now_s),
                                                   "other", until_from_now_s * 1'000'000));
      TRY(tx.exec(kOwn, id, owner.id));
      return true;
    });
    CHECK_OK(done);
  };
  own(ahead, 300);
  own(behind, -300);
  auto processor = record([](const Work&) { return Outcome::complete(); });
  start(processor);
  ASSERT_TRUE(add(ahead, {{"a", 0, ""}}).ok());
  ASSERT_TRUE(add(behind, {{"b", 0, ""}}).ok());
  ASSERT_TRUE(eventually([&] { return load("behind").complete_items == 1; }));
  EXPECT_EQ(load("ahead").complete_items, 0);
  EXPECT_EQ(load("ahead").owner_name, "o300");
}

TEST_P(EngineTest, C22_AProcessorThatThrowsHasFailedOneAttempt) {
  std::atomic<int> throws{2};
  auto processor = record([&](const Work&) {
    if (throws-- > 0) throw std::runtime_error("boom");
    return Outcome::complete();
  });
  start(processor);
  const PartitionId id = make("p", {.backoff_ms = 1});
  ASSERT_TRUE(add(id, some(1)).ok());
  ASSERT_TRUE(eventually([&] { return load("p").complete_items == 1; }));
  const Item item = load_one(id, "i0");
  EXPECT_EQ(item.calls, 3);
  EXPECT_NE(item.errors.find("boom"), std::string::npos);
}

TEST_P(EngineTest, AHandlerThatHangsDoesNotHoldUpAnother) {
  auto processor = record([](const Work&) { return Outcome::complete(); });
  processor->hold();
  start(processor,
        {.lease_ms = 5000, .scan_ms = 20, .in_flight_max = 6, .in_flight_per_handler_max = 4});
  for (const char* name : {"hangs1", "hangs2", "hangs3"}) {
    ASSERT_TRUE(add(make(name, {.handler = "http://hangs/"}), some(4, 0, name)).ok());
  }
  ASSERT_TRUE(eventually([&] { return processor->total() == 4; }));
  const PartitionId id = make("fine", {.handler = "http://fine/"});
  ASSERT_TRUE(add(id, some(2, 0, "fine")).ok());
  ASSERT_TRUE(eventually([&] { return processor->total() == 6; }));
  EXPECT_EQ(processor->calls("fine0") + processor->calls("fine1"), 2);
  processor->release();
  ASSERT_TRUE(eventually([&] { return processor->total() == 14; }));
}

TEST_P(EngineTest, ARetryDoesNotWaitForAnItemThatRunsLong) {
  std::promise<void> end;
  auto ended = end.get_future().share();
  auto processor = std::make_shared<Threaded>([&](const Work& work) {
    if (work.item.name == "long") ended.wait();
    return work.item.name == "twice" && work.item.calls == 1 ? Outcome::failed("once")
                                                             : Outcome::complete();
  });
  start(processor);
  const PartitionId id = make("p", {.backoff_ms = 100});
  ASSERT_TRUE(add(id, {{"long", 0, ""}, {"twice", 0, ""}}).ok());
  EXPECT_TRUE(eventually([&] { return load("p").complete_items == 1; }));
  EXPECT_EQ(load_one(id, "long").status, Status::Running);
  end.set_value();
  ASSERT_TRUE(eventually([&] { return load("p").complete_items == 2; }));
}

TEST_P(EngineTest, ABusyPartitionLeavesSlotsToOneThatWaits) {
  auto processor = std::make_shared<Threaded>([](const Work&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return Outcome::complete();
  });
  start(processor, {.lease_ms = 5000, .scan_ms = 20, .in_flight_max = 4});
  const PartitionId busy = make("busy");
  ASSERT_TRUE(add(busy, some(2000)).ok());
  ASSERT_TRUE(eventually([&] { return load("busy").complete_items > 20; }));
  const PartitionId small = make("small");
  ASSERT_TRUE(add(small, some(2, 0, "s")).ok());
  ASSERT_TRUE(eventually([&] { return load("small").complete_items == 2; }));
  EXPECT_GT(load("busy").open_items(), 0) << "it did not wait for the big one to end";
}

TEST_P(EngineTest, MorePartitionsThanCanBeHeldAreAllWorkedOn) {
  auto processor = record([](const Work&) { return Outcome::complete(); });
  std::vector<PartitionId> ids;
  for (int i = 0; i < 40; ++i) ids.push_back(make("p" + std::to_string(i)));
  for (const PartitionId id : ids) ASSERT_TRUE(add(id, some(1)).ok());
  start(processor, {.lease_ms = 5000, .scan_ms = 50, .held_max = 4});
  EXPECT_TRUE(eventually([&] { return processor->total() == 40; }));
}

// What came back is stored though the first attempt to store it failed.
TEST_P(EngineTest, AResultThatCannotBeStoredAtOnceIsStoredBeforeTheEnd) {
  const PartitionId id = make("p");
  auto processor = record([](const Work&) { return Outcome::complete(); });
  processor->hold();
  start(processor, {.lease_ms = 10'000, .scan_ms = 50});
  ASSERT_TRUE(add(id, some(1)).ok());
  ASSERT_TRUE(eventually([&] { return processor->total() == 1; }));
  auto blocker = database_->connect_writer();
  ASSERT_TRUE(blocker.ok());
  const bool sqlite = GetParam() == store::StoreKind::Sqlite;
  ASSERT_TRUE((*blocker)
                  ->script(sqlite ? "BEGIN IMMEDIATE"
                                  : "SET idle_in_transaction_session_timeout = 0; BEGIN;"
                                    " LOCK TABLE partition IN ACCESS EXCLUSIVE MODE")
                  .ok());
  std::thread unblock([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(4000));  // over the lock's limit
    (void)(*blocker)->script("ROLLBACK");
  });
  processor->release();
  stop(engines_[0], 20'000);
  unblock.join();
  EXPECT_EQ(load("p").complete_items, 1);
}

TEST_P(EngineTest, AStoppedEngineFinishesWhatRunsAndGivesEverythingBack) {
  const PartitionId id = make("p");
  auto processor = record([](const Work&) { return Outcome::complete(); });
  processor->hold();
  Engine& engine = start(processor);
  ASSERT_TRUE(add(id, some(3)).ok());
  ASSERT_TRUE(eventually([&] { return processor->total() == 3; }));
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    processor->release();
  });
  stop(engines_[0]);
  later.join();
  (void)engine;
  EXPECT_EQ(load("p").complete_items, 3);
  EXPECT_FALSE(load("p").owner);
  EXPECT_FALSE(processor->canceled());
}

TEST_P(EngineTest, WhatDoesNotFinishInTimeIsInterruptedAndDoneByTheNextOwner) {
  const PartitionId id = make("p");
  auto stuck = record([](const Work&) { return Outcome::complete(); });
  stuck->hold();
  start(stuck);
  ASSERT_TRUE(add(id, some(1)).ok());
  ASSERT_TRUE(eventually([&] { return stuck->total() == 1; }));
  stop(engines_[0], 10);
  EXPECT_TRUE(stuck->canceled());
  auto next = record([](const Work&) { return Outcome::complete(); });
  start(next);
  ASSERT_TRUE(eventually([&] { return load("p").complete_items == 1; }));
  EXPECT_EQ(load_one(id, "i0").interruptions, 1);
  EXPECT_EQ(load_one(id, "i0").calls, 2);
}

TEST_P(EngineTest, HigherPrioritiesGoFirstAndDelayedItemsWait) {
  const PartitionId id = make("p", {.concurrency = 1});
  ASSERT_TRUE(
      add(id, {{"low", 0, "", -1}, {"late", 0, "", 9, 50'000}, {"high", 0, "", 5}, {"mid", 0, ""}})
          .ok());
  auto processor = record([](const Work&) { return Outcome::complete(); });
  start(processor);
  ASSERT_TRUE(eventually([&] { return load("p").complete_items == 4; }));
  const auto order = processor->order();
  const auto at = [&](const std::string& name) {
    return std::find(order.begin(), order.end(), name) - order.begin();
  };
  EXPECT_LT(at("high"), at("mid"));
  EXPECT_LT(at("mid"), at("low"));
  const Item late = load_one(id, "late");
  EXPECT_GE(late.updated_us - late.created_us, 50'000);
}

TEST_P(EngineTest, AnEffectIsWrittenWithItsResultOrNotAtAll) {
  ASSERT_NO_FATAL_FAILURE(script("CREATE TABLE seen (name TEXT PRIMARY KEY)"));
  static constexpr store::Sql kSee{"INSERT INTO seen (name) VALUES ($1)"};
  static constexpr store::Sql kSeen{"SELECT count(*) FROM seen"};
  auto processor = record([](const Work& work) {
    Outcome outcome = Outcome::complete();
    // Two items claim the same row: the second can never be stored, and fails as an attempt.
    const std::string name = work.item.name == "twin" ? "i0" : work.item.name;
    outcome.effect = [name](Tx& tx) -> Result<> {
      TRY(tx.exec(kSee, name));
      return {};
    };
    return outcome;
  });
  start(processor);
  const PartitionId id = make("p", {.max_retries = 1, .backoff_ms = 1});
  ASSERT_TRUE(add(id, some(5)).ok());
  ASSERT_TRUE(eventually([&] { return load("p").complete_items == 5; }));
  ASSERT_TRUE(add(id, {{"twin", 0, ""}, {"other", 0, ""}}).ok());
  ASSERT_TRUE(eventually([&] { return load("p").open_items() == 0; }));
  EXPECT_EQ(load("p").complete_items, 6);
  EXPECT_EQ(load_one(id, "twin").status, Status::Failed);
  EXPECT_EQ(*readers_->run([](Tx& tx) { return tx.value<int>(kSeen); }), 6);
}

TEST_P(EngineTest, EventsAreNumberedWithoutGapsAndTellTheStory) {
  const PartitionId id = make("p", {.auto_close = true});
  ASSERT_TRUE(add(id, some(3)).ok());
  ASSERT_TRUE(change(id, [id](Tx& tx) { return seal_partition(tx, id); }).ok());
  start(record([](const Work&) { return Outcome::complete(); }));
  ASSERT_TRUE(reaches("p", Status::Complete));
  const std::vector<Event> told = events(id);
  for (std::size_t i = 0; i < told.size(); ++i) {
    EXPECT_EQ(told[i].number, static_cast<std::int64_t>(i) + 1);
  }
  EXPECT_EQ(told.front().kind, "partition.opened");
  EXPECT_EQ(told.back().kind, "partition.closed");
  EXPECT_EQ(std::count_if(told.begin(), told.end(),
                          [](const Event& event) { return event.kind == "item.complete"; }),
            3);
}

INSTANTIATE_TEST_SUITE_P(Stores, EngineTest,
                         testing::Values(store::StoreKind::Sqlite, store::StoreKind::Postgres),
                         store::store_name);

}  // namespace
}  // namespace quern::queue
