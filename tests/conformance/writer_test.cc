// What the writer promises, on every store: group commit, neighbours that fail, limits, order,
// stop.
#include "conformance/store_fixture.h"

namespace quern::store {
namespace {

class WriterTest : public StoreTest {
 protected:
  Lane& lane() { return writer_->lane({}); }
};

TEST_P(WriterTest, WhatWaitsTogetherIsCommittedTogether) {
  open();
  std::vector<std::future<Result<std::int64_t>>> answers;
  std::int64_t before = 0;
  {
    HeldLane held(lane());
    before = commits();
    for (int i = 1; i <= 100; ++i) answers.push_back(push(lane(), AddNote{i, "n"}));
    held.release();
  }
  for (auto& answer : answers) EXPECT_TRUE(answer.get().ok());
  EXPECT_EQ(commits() - before, 2) << "the held one, then a hundred at once";
}

TEST_P(WriterTest, AnAnswerMeansThatOthersCanSeeIt) {
  open();
  for (int i = 1; i <= 20; ++i) {
    ASSERT_TRUE(writer_->run({}, AddNote{i, "n"}).ok());
    ASSERT_THAT(notes(), testing::EndsWith(fmt::format("{}=n", i)));
  }
}

TEST_P(WriterTest, ABadBulkOperationFailsAlone) {
  open();
  std::vector<std::future<Result<std::int64_t>>> answers;
  {
    HeldLane held(lane());
    for (int i = 1; i <= 5; ++i) answers.push_back(push(lane(), AddNote{i, i == 3 ? "bad" : "ok"}));
  }
  for (int i = 1; i <= 5; ++i) {
    const Result<std::int64_t> answer = answers[i - 1].get();
    EXPECT_EQ(answer.ok(), i != 3) << i;
    if (!answer.ok()) EXPECT_EQ(answer.error().kind(), Errc::Conflict);
  }
  EXPECT_EQ(notes(), "1=ok 2=ok 4=ok 5=ok");
}

TEST_P(WriterTest, AClosureThatFailsAfterWritingIsUndoneAlone) {
  open();
  std::vector<std::future<Result<std::int64_t>>> answers;
  {
    HeldLane held(lane());
    for (int i = 1; i <= 3; ++i) {
      answers.push_back(push(lane(), [i](Tx& tx) -> Result<std::int64_t> {
        TRY(insert_note(tx, i * 10, "first"));
        if (i == 2) return Error{Errc::Stale, "changed my mind"};
        return insert_note(tx, i * 10 + 1, "second");
      }));
    }
    answers.push_back(push(lane(), AddNote{1, "bulk"}));
  }
  EXPECT_TRUE(answers[0].get().ok());
  EXPECT_EQ(answers[1].get().error().kind(), Errc::Stale);
  EXPECT_TRUE(answers[2].get().ok());
  EXPECT_TRUE(answers[3].get().ok());
  EXPECT_EQ(notes(), "1=bulk 10=first 11=second 30=first 31=second");
}

TEST_P(WriterTest, AnExpectedFailureThatWroteNothingCostsItsNeighboursNothing) {
  open();
  std::future<Result<std::int64_t>> refused;
  std::int64_t before = 0;
  {
    HeldLane held(lane());
    before = commits();
    push(lane(), AddNote{1, "a"});
    refused = push(lane(), [](Tx&) -> Result<std::int64_t> { return Error{Errc::Stale, "late"}; });
  }
  EXPECT_EQ(refused.get().error().kind(), Errc::Stale);
  EXPECT_EQ(commits() - before, 2);
  EXPECT_EQ(reruns(), 0);
}

TEST_P(WriterTest, AClosureThatIgnoresAFailedStatementIsRefused) {
  open();
  const auto answer = writer_->run({}, [](Tx& tx) -> Result<int> {
    TRY(insert_note(tx, 1, "a"));
    (void)insert_note(tx, 1, "again");
    return 0;
  });
  EXPECT_EQ(answer.error().kind(), Errc::Internal);
  EXPECT_EQ(notes(), "");
}

TEST_P(WriterTest, ManyFailuresInOneBatchHarmNobodyElse) {
  open();
  std::vector<std::future<Result<std::int64_t>>> answers;
  {
    HeldLane held(lane());
    for (int i = 1; i <= 200; ++i) {
      const std::string text = i % 3 == 0 ? "bad" : "ok";
      if (i % 2 == 0) {
        answers.push_back(push(lane(), AddNote{i, text}));
      } else {
        answers.push_back(push(lane(), [=](Tx& tx) { return insert_note(tx, i, text); }));
      }
    }
  }
  for (int i = 1; i <= 200; ++i) EXPECT_EQ(answers[i - 1].get().ok(), i % 3 != 0) << i;
}

TEST_P(WriterTest, AFullQueueRefusesAndCallsBackWhenThereIsRoom) {
  open({.lanes = 1, .queue_ops_max = 2});
  std::promise<void> room;
  HeldLane held(lane());
  auto first = push(lane(), AddNote{1, "a"});
  auto second = push(lane(), AddNote{2, "b"});
  EXPECT_EQ(lane().room(), 0u);
  auto third = make_operation(AddNote{3, "c"}, [](const Result<std::int64_t>&) {});
  EXPECT_EQ(lane().try_push(third), Lane::Push::Full);
  EXPECT_NE(third, nullptr) << "what is refused is left with the caller";
  ASSERT_TRUE(lane().when_room([&room] { room.set_value(); }));
  held.release();
  room.get_future().wait();
  EXPECT_EQ(lane().try_push(third), Lane::Push::Taken);
  EXPECT_TRUE(first.get().ok());
  EXPECT_TRUE(second.get().ok());
}

TEST_P(WriterTest, BlockingCallersWaitForRoomAndAllGetThrough) {
  open({.lanes = 2, .queue_ops_max = 3, .batch_ops_max = 2});
  std::vector<std::thread> threads;
  std::atomic<int> stored = 0;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        if (writer_->run({static_cast<std::uint64_t>(t)}, AddNote{t * 100 + i, "n"}).ok()) ++stored;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stored, 320);
}

TEST_P(WriterTest, ABatchThatHasLastedLongEnoughLeavesTheRestToTheNext) {
  open({.lanes = 1, .batch_ms_max = 50}, {.clock = &fake_clock_});
  std::vector<std::future<Result<std::int64_t>>> answers;
  std::int64_t before = 0;
  {
    HeldLane held(lane());
    before = commits();
    for (int i = 1; i <= 6; ++i) {
      answers.push_back(push(lane(), [this, i](Tx& tx) {
        fake_clock_.advance_us(30'000);
        return insert_note(tx, i, "n");
      }));
    }
  }
  for (auto& answer : answers) EXPECT_TRUE(answer.get().ok());
  EXPECT_EQ(commits() - before, 4) << "the held one, then two closures of 30 ms each time";
  EXPECT_EQ(notes(), "1=n 2=n 3=n 4=n 5=n 6=n");
}

struct Renew {
  std::vector<std::string>* order;
  static constexpr bool kGoesFirst = true;
  using Reply = int;
};
std::vector<Result<int>> apply(Tx&, std::span<const Renew> batch) {
  batch.front().order->push_back(fmt::format("{} renewals", batch.size()));
  return std::vector<Result<int>>(batch.size(), Result<int>(0));
}

TEST_P(WriterTest, KindsThatGoFirstDoAndAKindIsAppliedAsAWhole) {
  open();
  std::vector<std::string> order;
  std::vector<std::future<Result<int>>> answers;
  {
    HeldLane held(lane());
    answers.push_back(push(lane(), [&order](Tx&) -> Result<int> {
      order.push_back("closure");
      return 0;
    }));
    for (int i = 0; i < 3; ++i) answers.push_back(push(lane(), Renew{&order}));
  }
  for (auto& answer : answers) EXPECT_TRUE(answer.get().ok());
  EXPECT_THAT(order, testing::ElementsAre("3 renewals", "closure"));
}

TEST_P(WriterTest, StoppingFinishesWhatIsQueuedAndRefusesTheRest) {
  open();
  std::vector<std::future<Result<std::int64_t>>> answers;
  auto held = std::make_unique<HeldLane>(lane());
  for (int i = 1; i <= 10; ++i) answers.push_back(push(lane(), AddNote{i, "n"}));
  std::thread stopping([this] { writer_->stop(); });
  held->release();
  stopping.join();
  for (auto& answer : answers) EXPECT_TRUE(answer.get().ok());
  EXPECT_EQ(writer_->run({}, AddNote{11, "late"}).error().kind(), Errc::Canceled);
  EXPECT_THAT(notes(), testing::EndsWith("10=n"));
}

TEST_P(WriterTest, TimeNeverGoesBackEvenAcrossARestart) {
  open({.lanes = 1}, {.clock = &fake_clock_});
  const auto now = [this] { return *writer_->run({}, [](Tx& tx) { return tx.now_us(); }); };
  const std::int64_t first = now();
  EXPECT_GT(first, 0);
  fake_clock_.set_now_us(support::FakeClock::kStartUs - 3'600'000'000);
  EXPECT_GE(now(), first);
  close();
  open({.lanes = 1}, {.clock = &fake_clock_});
  EXPECT_GE(now(), first);
  auto readers = *Readers::open(*database_, {});
  EXPECT_GE(*readers->run([](Tx& tx) { return tx.now_us(); }), first);
  fake_clock_.set_now_us(support::FakeClock::kStartUs + 1'000'000);
  if (GetParam() == StoreKind::Sqlite) EXPECT_EQ(now(), support::FakeClock::kStartUs + 1'000'000);
}

INSTANTIATE_TEST_SUITE_P(Stores, WriterTest,
                         testing::Values(StoreKind::Sqlite, StoreKind::Postgres), store_name);

}  // namespace
}  // namespace quern::store
