// Limits by key on every store: how many run at once, how far apart they start, and who counts.
#include "queue/limit.h"

#include "conformance/queue_fixture.h"
#include "queue/item.h"

namespace quern::queue {
namespace {

using store::HeldLane;
using store::push;
using store::StoreKind;
using store::Tx;

constexpr std::int64_t kToken = 7;

class LimitTest : public QueueTest {
 protected:
  void SetUp() override {
    QueueTest::SetUp();
    if (HasFatalFailure()) return;
    partition_ = *ensure_partition(*writer_, *readers_, "p");
    script(fmt::format("UPDATE partition SET token = {} WHERE id = {}", kToken, partition_));
  }
  // An item that runs.
  ItemId run_item(const std::string& name) {
    const auto put = writer_->run(lane_of(partition_), PutItems{partition_, {{.name = name}}});
    CHECK_OK(put);
    const ItemId id = put->at(0).id;
    script(fmt::format("UPDATE item SET status = 2 WHERE id = {}", id));
    return id;
  }
  AcquireLimit ask(const std::string& key, ItemId item) { return {key, item, partition_, kToken}; }
  AcquireLimit::Reply acquire(const std::string& key, ItemId item) {
    const auto reply = writer_->run(writer_->control(), ask(key, item));
    CHECK_OK(reply);
    return *reply;
  }
  std::vector<AcquireLimit::Reply> acquire_at_once(const std::vector<AcquireLimit>& asked) {
    std::vector<std::future<Result<AcquireLimit::Reply>>> answers;
    {
      HeldLane held(writer_->control());
      for (const AcquireLimit& one : asked) answers.push_back(push(writer_->control(), one));
    }
    std::vector<AcquireLimit::Reply> replies;
    for (auto& answer : answers) replies.push_back(*answer.get());
    return replies;
  }
  bool release(const std::string& key, ItemId item, std::int64_t token = kToken) {
    return *writer_->run(writer_->control(), ReleaseLimit{key, item, token});
  }
  Result<Limit> put(const Limit& limit, std::optional<std::int64_t> if_version = {}) {
    return writer_->run({}, [=](Tx& tx) { return put_limit(tx, limit, if_version); });
  }
  Result<Limit> load(const std::string& key) {
    return readers_->run([&](Tx& tx) { return load_limit(tx, key); });
  }

  PartitionId partition_;
};

TEST_P(LimitTest, AKeyWithoutALimitIsFree) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(acquire("host", ItemId{i + 1}).granted);
  EXPECT_FALSE(release("host", ItemId{1})) << "nothing was noted";
}

TEST_P(LimitTest, NoMoreThanTheConcurrencyRunAtOnce) {
  ASSERT_TRUE(put({.key = "host", .concurrency = 2}).ok());
  ASSERT_TRUE(put({.key = "other", .concurrency = 1}).ok());
  const ItemId a = run_item("a");
  const ItemId b = run_item("b");
  const ItemId c = run_item("c");
  EXPECT_TRUE(acquire("host", a).granted);
  EXPECT_TRUE(acquire("host", b).granted);
  const auto refused = acquire("host", c);
  EXPECT_FALSE(refused.granted);
  EXPECT_EQ(refused.wait_us, kHolderWaitUs);
  EXPECT_TRUE(acquire("other", c).granted) << "another key";
  EXPECT_TRUE(release("host", a));
  EXPECT_FALSE(release("host", a)) << "once";
  EXPECT_TRUE(acquire("host", c).granted);
  EXPECT_FALSE(acquire("host", a).granted);
}

TEST_P(LimitTest, WhoAsksAgainCountsOnce) {
  ASSERT_TRUE(put({.key = "host", .concurrency = 1}).ok());
  const ItemId a = run_item("a");
  EXPECT_TRUE(acquire("host", a).granted);
  EXPECT_TRUE(acquire("host", a).granted) << "its first answer was lost";
  EXPECT_FALSE(acquire("host", run_item("b")).granted);
}

TEST_P(LimitTest, AHolderCountsWhileItsItemRunsUnderItsToken) {
  ASSERT_TRUE(put({.key = "host", .concurrency = 1}).ok());
  const ItemId a = run_item("a");
  const ItemId b = run_item("b");
  EXPECT_TRUE(acquire("host", a).granted);
  EXPECT_FALSE(acquire("host", b).granted);
  script(fmt::format("UPDATE item SET status = 4 WHERE id = {}", a));
  EXPECT_TRUE(acquire("host", b).granted) << "A has ended without a word";
  EXPECT_FALSE(acquire("host", a).granted);
  script(fmt::format("UPDATE partition SET token = token + 1 WHERE id = {}", partition_));
  script(fmt::format("UPDATE item SET status = 2 WHERE id = {}", a));
  AcquireLimit by_next_owner = ask("host", a);
  by_next_owner.token = kToken + 1;
  EXPECT_TRUE(writer_->run(writer_->control(), by_next_owner)->granted) << "B's owner has died";
  EXPECT_FALSE(release("host", a, kToken)) << "the old owner cannot end the new one's hold";
  EXPECT_TRUE(release("host", a, kToken + 1));
}

TEST_P(LimitTest, StartsAreNeverCloserThanTheGap) {
  ASSERT_TRUE(put({.key = "host", .gap_us = 100 * kSecondUs}).ok());
  const ItemId a = run_item("a");
  const ItemId b = run_item("b");
  EXPECT_TRUE(acquire("host", a).granted);
  const auto refused = acquire("host", b);
  EXPECT_FALSE(refused.granted);
  EXPECT_GT(refused.wait_us, 70 * kSecondUs);
  EXPECT_LE(refused.wait_us, 100 * kSecondUs);
  release("host", a);
  EXPECT_FALSE(acquire("host", b).granted) << "that A has ended makes no difference";
  pass(60);
  EXPECT_FALSE(acquire("host", b).granted);
  pass(50);
  EXPECT_TRUE(acquire("host", b).granted);
  EXPECT_FALSE(acquire("host", a).granted) << "the gap counts from this start";
}

TEST_P(LimitTest, AShorterGapCountsAtOnce) {
  ASSERT_TRUE(put({.key = "host", .gap_us = 80'000 * kSecondUs}).ok());
  EXPECT_TRUE(acquire("host", run_item("a")).granted);
  ASSERT_TRUE(put({.key = "host", .gap_us = 100 * kSecondUs}).ok());
  const ItemId b = run_item("b");
  EXPECT_LE(acquire("host", b).wait_us, 100 * kSecondUs);
  pass(110);
  EXPECT_TRUE(acquire("host", b).granted);
}

TEST_P(LimitTest, OfOneBatchTheFirstAreGrantedAndTheOthersComeBackOneAfterAnother) {
  ASSERT_TRUE(put({.key = "host", .concurrency = 2}).ok());
  ASSERT_TRUE(put({.key = "slow", .gap_us = 100 * kSecondUs}).ok());
  std::vector<AcquireLimit> asked;
  for (int i = 0; i < 7; ++i) {
    asked.push_back(ask("host", run_item(fmt::format("h{}", i))));
    if (i < 3) asked.push_back(ask("slow", run_item(fmt::format("s{}", i))));
  }
  const auto replies = acquire_at_once(asked);
  std::vector<std::int64_t> host_ms;
  std::vector<std::int64_t> slow_seconds;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    EXPECT_EQ(replies[i].granted, replies[i].wait_us == 0);
    if (asked[i].key == "host") host_ms.push_back(replies[i].wait_us / 1000);
    if (asked[i].key == "slow") slow_seconds.push_back(replies[i].wait_us / kSecondUs);
  }
  EXPECT_EQ(host_ms, (std::vector<std::int64_t>{0, 0, 250, 250, 500, 500, 750}));
  EXPECT_EQ(slow_seconds, (std::vector<std::int64_t>{0, 100, 205}));
}

TEST_P(LimitTest, NobodyWaitsTooLongForAHolder) {
  ASSERT_TRUE(put({.key = "host", .concurrency = 1}).ok());
  std::vector<AcquireLimit> asked;
  const ItemId a = run_item("a");
  for (std::int64_t i = 0; i < 200; ++i) asked.push_back(ask("host", ItemId{a.value + i}));
  EXPECT_EQ(acquire_at_once(asked).back().wait_us, kHolderWaitUsMax);
}

TEST_P(LimitTest, AnItemThatStandsTwiceInABatchIsNotedOnce) {
  ASSERT_TRUE(put({.key = "host", .concurrency = 3}).ok());
  const ItemId a = run_item("a");
  const auto replies = acquire_at_once({ask("host", a), ask("host", a)});
  EXPECT_TRUE(replies[0].granted);
  EXPECT_TRUE(replies[1].granted);
  EXPECT_TRUE(release("host", a));
  EXPECT_FALSE(release("host", a));
}

TEST_P(LimitTest, LimitsAreMadeChangedListedAndTakenAway) {
  EXPECT_EQ(load("b").error().kind(), Errc::Missing);
  EXPECT_EQ(put({.key = "b", .concurrency = 1}, 3).error().kind(), Errc::Conflict);
  EXPECT_EQ(put({.key = "b", .concurrency = 1}, 0)->version, 1);
  EXPECT_EQ(put({.key = "b", .concurrency = 2}, 0).error().kind(), Errc::Conflict);
  EXPECT_EQ(put({.key = "b", .concurrency = 2, .gap_us = 5}, 1)->version, 2);
  EXPECT_EQ(put({.key = "b", .concurrency = 9}, 1).error().kind(), Errc::Conflict);
  EXPECT_EQ(load("b")->version, 2);
  EXPECT_EQ(load("b")->concurrency, 2);
  EXPECT_EQ(load("b")->gap_us, 5);
  ASSERT_TRUE(put({.key = "B"}).ok());
  ASSERT_TRUE(put({.key = "a"}).ok());
  const auto page = readers_->run([](Tx& tx) { return list_limits(tx, "B", 10); });
  ASSERT_EQ(page->size(), 2U);
  EXPECT_EQ(page->at(0).key, "a");
  EXPECT_EQ(page->at(1).key, "b");
  const auto remove = [&](std::optional<std::int64_t> version) {
    return writer_->run({}, [=](Tx& tx) { return delete_limit(tx, "b", version); });
  };
  EXPECT_EQ(remove(1).error().kind(), Errc::Conflict);
  EXPECT_TRUE(remove(2).ok());
  EXPECT_EQ(remove({}).error().kind(), Errc::Missing);
}

TEST_P(LimitTest, ALimitThatIsNoneIsRefused) {
  const Limit refused[] = {{.key = ""},
                           {.key = std::string(kKeyBytesMax + 1, 'k')},
                           {.key = "a\nb"},
                           {.key = "\xff"},
                           {.key = "k", .concurrency = -1},
                           {.key = "k", .concurrency = kConcurrencyMax + 1},
                           {.key = "k", .gap_us = -1},
                           {.key = "k", .gap_us = kGapUsMax + 1}};
  for (const Limit& limit : refused) {
    EXPECT_EQ(put(limit).error().kind(), Errc::Invalid) << limit.key;
  }
  EXPECT_TRUE(put({.key = std::string(kKeyBytesMax, 'k'),
                   .concurrency = kConcurrencyMax,
                   .gap_us = kGapUsMax})
                  .ok());
}

INSTANTIATE_TEST_SUITE_P(Stores, LimitTest, testing::Values(StoreKind::Sqlite, StoreKind::Postgres),
                         store::store_name);

// Two processes that ask at the same time, each on a connection of its own.
class LimitRaceTest : public LimitTest {};

TEST_P(LimitRaceTest, OfTwoThatAskAtOnceOneIsGranted) {
  ASSERT_TRUE(put({.key = "host", .concurrency = 1}).ok());
  const ItemId a = run_item("a");
  const ItemId b = run_item("b");
  for (int round = 0; round < 50; ++round) {
    auto one = push(writer_->control(), ask("host", a));
    auto two = push(writer_->lane({}), ask("host", b));
    const bool one_granted = one.get()->granted;
    const bool two_granted = two.get()->granted;
    ASSERT_NE(one_granted, two_granted) << round;
    ASSERT_TRUE(release("host", one_granted ? a : b));
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, LimitRaceTest, testing::Values(StoreKind::Postgres),
                         store::store_name);

}  // namespace
}  // namespace quern::queue
