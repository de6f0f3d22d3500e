// Goal: of two owners, one has a partition, and the other writes nothing for it. Method: owners are
// played by hand, statement by statement, on both stores; their rows are expired instead of waited
// for.
#include "conformance/engine_fixture.h"
#include "queue/check.h"

namespace quern::queue {
namespace {

using store::Tx;

constexpr std::int64_t kLeaseUs = 60'000'000;

class OwnerTest : public EngineTest {
 protected:
  OwnerId enroll(const std::string& name) {
    const auto owner = writer_->run(
        writer_->control(), [name](Tx& tx) { return register_owner(tx, name, "test", kLeaseUs); });
    CHECK_OK(owner);
    return owner->id;
  }
  Scanned scan(OwnerId owner, std::int64_t held = 0) {
    const Scan scan{owner, {"test"}, held, 1000, kLeaseUs};
    auto scanned = writer_->run(writer_->control(),
                                store::Alone{[scan](Tx& tx) { return scan_partitions(tx, scan); }});
    CHECK_OK(scanned);
    return *std::move(scanned);
  }
  // As if it had been silent for too long.
  void expire(OwnerId owner) {
    static constexpr store::Sql kExpire{"UPDATE owner SET until_us = 1 WHERE id = $1"};
    CHECK_OK(writer_->run(writer_->control(), [owner](Tx& tx) { return tx.exec(kExpire, owner); }));
  }
  Result<Turned> turn(const Turn& turn) { return writer_->run(lane_of(turn.partition), turn); }
  Result<std::int64_t> renew(OwnerId owner) {
    return writer_->run(writer_->control(), RenewOwner{owner, kLeaseUs});
  }
};

Finished done(const Taken& taken) {
  Finished finished;
  finished.id = taken.id;
  finished.version = taken.version;
  finished.status = Status::Complete;
  return finished;
}

TEST_P(OwnerTest, C5_WhatAnOwnerWritesAfterItWasReplacedIsRejected) {
  const PartitionId id = make("p");
  ASSERT_TRUE(add(id, some(2)).ok());
  const OwnerId a = enroll("a");
  const OwnerId b = enroll("b");
  const Scanned claimed = scan(a);
  ASSERT_EQ(claimed.claimed.size(), 1u);
  const std::int64_t token_a = claimed.claimed[0].token;
  const Result<Turned> taken = turn({id, token_a, {}, 1, 0});
  ASSERT_TRUE(taken.ok()) << taken.error().message();
  ASSERT_EQ(taken->taken.size(), 1u);
  EXPECT_TRUE(scan(b).claimed.empty()) << "it is not taken before the lease ends";

  expire(a);
  const Scanned stolen = scan(b);
  ASSERT_EQ(stolen.claimed.size(), 1u);
  EXPECT_GT(stolen.claimed[0].token, token_a);

  const std::int64_t events_before = load("p").event_number;
  EXPECT_EQ(turn({id, token_a, {done(taken->taken[0])}, 1, 0}).error().kind(), Errc::Stale);
  EXPECT_EQ(turn({id, token_a, {}, 1, 0}).error().kind(), Errc::Stale);
  EXPECT_EQ(writer_->run(lane_of(id), ReleasePartition{id, token_a}).error().kind(), Errc::Stale);
  EXPECT_EQ(load("p").owner_name, "b");
  EXPECT_EQ(load("p").event_number, events_before);
  EXPECT_EQ(load_one(id, "i0").status, Status::Available) << "interrupted, for b to do";
  EXPECT_EQ(load_one(id, "i0").interruptions, 1);

  const Result<Turned> again = turn({id, stolen.claimed[0].token, {}, 2, 0});
  ASSERT_TRUE(again.ok());
  ASSERT_EQ(again->taken.size(), 2u);
  ASSERT_TRUE(
      turn({id, stolen.claimed[0].token, {done(again->taken[0]), done(again->taken[1])}, 0, 0})
          .ok());
  EXPECT_EQ(load("p").complete_items, 2);
}

TEST_P(OwnerTest, AStaleNeighbourInABatchHarmsNobody) {
  const PartitionId one = make("one");
  const PartitionId two = make("two");
  ASSERT_TRUE(add(one, some(1)).ok());
  ASSERT_TRUE(add(two, some(1)).ok());
  const Scanned claimed = scan(enroll("a"));
  ASSERT_EQ(claimed.claimed.size(), 2u);
  // On PostgreSQL both must be in one lane to be in one batch.
  store::Lane& lane = writer_->lane({0});
  store::HeldLane held(lane);
  auto stale = store::push(lane, Turn{one, 999, {}, 1, 0});
  auto good = store::push(lane, Turn{two, claimed.claimed[1].token, {}, 1, 0});
  held.release();
  EXPECT_EQ(stale.get().error().kind(), Errc::Stale);
  const Result<Turned> taken = good.get();
  ASSERT_TRUE(taken.ok()) << taken.error().message();
  EXPECT_EQ(taken->taken.size(), 1u);
}

// A claim changes rows that a put has locked and read, where both are in one lane.
TEST_P(OwnerTest, APutBesideAClaimDoesNotUndoIt) {
  const PartitionId id = make("p");
  const OwnerId a = enroll("a");
  store::Lane& lane = writer_->control();
  store::HeldLane held(lane);
  auto first = store::push(lane, PutItems{id, some(1, 0, "x")});
  const Scan scan{a, {"test"}, 0, 1000, kLeaseUs};
  auto claimed =
      store::push(lane, store::Alone{[scan](Tx& tx) { return scan_partitions(tx, scan); }});
  auto second = store::push(lane, PutItems{id, some(1, 0, "y")});
  held.release();
  ASSERT_TRUE(first.get().ok());
  const Result<Scanned> scanned = claimed.get();
  ASSERT_TRUE(scanned.ok());
  ASSERT_TRUE(second.get().ok());
  ASSERT_EQ(scanned->claimed.size(), 1u);
  EXPECT_EQ(load("p").owner_name, "a");
  EXPECT_EQ(load("p").token, scanned->claimed[0].token);
  EXPECT_EQ(load("p").items, 2);
}

TEST_P(OwnerTest, AnOwnerThatWasSilentMayRenewWhileNobodyTookOver) {
  const PartitionId id = make("p");
  ASSERT_TRUE(add(id, some(1)).ok());
  const OwnerId a = enroll("a");
  const Scanned claimed = scan(a);
  expire(a);
  ASSERT_TRUE(renew(a).ok());
  EXPECT_TRUE(turn({id, claimed.claimed[0].token, {}, 1, 0}).ok());
  EXPECT_TRUE(scan(enroll("b")).claimed.empty());
  expire(a);
  scan(enroll("c"));  // takes it away and forgets the row
  EXPECT_EQ(renew(a).error().kind(), Errc::Missing);
}

// As when the answer to a turn was lost and it is sent again.
TEST_P(OwnerTest, AResultThatIsSentTwiceIsStoredOnce) {
  const PartitionId id = make("p");
  ASSERT_TRUE(add(id, some(1)).ok());
  const std::int64_t token = scan(enroll("a")).claimed.at(0).token;
  const Taken first = turn({id, token, {}, 1, 0})->taken.at(0);
  int effects = 0;
  Finished moved = done(first);
  moved.status = Status::Available;
  moved.gate = first.gate;
  moved.data = "once";
  moved.effect = [&effects](Tx&) -> Result<> {
    ++effects;
    return {};
  };
  ASSERT_EQ(turn({id, token, {moved}, 1, 0})->taken.size(), 1u) << "and it was taken again";
  moved.data = "twice";
  ASSERT_TRUE(turn({id, token, {moved}, 0, 0}).ok());
  EXPECT_EQ(effects, 1);
  EXPECT_EQ(load_one(id, "i0").data, "once");
  EXPECT_EQ(load_one(id, "i0").status, Status::Running);
}

TEST_P(OwnerTest, APartitionThatAnOwnerHasWithoutKnowingIsFreed) {
  const PartitionId id = make("p");
  ASSERT_TRUE(add(id, some(1)).ok());
  const OwnerId a = enroll("a");
  ASSERT_EQ(scan(a).claimed.size(), 1u);
  const Scanned scanned = scan(a, 1);
  ASSERT_EQ(scanned.ready.size(), 1u) << "a may have missed the answer";
  const Held held = scanned.ready[0];
  EXPECT_TRUE(*change(id, [&](Tx& tx) { return release_unknown(tx, held, a); }));
  EXPECT_FALSE(*change(id, [&](Tx& tx) { return release_unknown(tx, held, a); }));
  EXPECT_EQ(scan(a).claimed.size(), 1u);
}

TEST_P(OwnerTest, APartitionCanBeClaimedInItsOwnLane) {
  const PartitionId id = make("p");
  ASSERT_TRUE(add(id, some(1)).ok());
  const OwnerId a = enroll("a");
  const OwnerId b = enroll("b");
  const auto claim = [&](OwnerId owner) {
    return *writer_->run(lane_of(id), ClaimPartition{id, owner, {"test"}});
  };
  const auto claimed = claim(a);
  ASSERT_TRUE(claimed.has_value());
  ASSERT_EQ(turn({id, claimed->token, {}, 1, 0})->taken.size(), 1u);
  EXPECT_FALSE(claim(b).has_value()) << "a is alive";
  expire(a);
  const auto taken_over = claim(b);
  ASSERT_TRUE(taken_over.has_value());
  EXPECT_GT(taken_over->token, claimed->token);
  EXPECT_EQ(load_one(id, "i0").interruptions, 1);
  EXPECT_EQ(turn({id, claimed->token, {}, 1, 0}).error().kind(), Errc::Stale);
}

// The claim of an owner whose row another one forgets in the same instant.
TEST_P(OwnerTest, AnOwnerWithoutARowCannotClaim) {
  make("p");
  const OwnerId a = enroll("a");
  expire(a);
  scan(enroll("b"));
  static constexpr store::Sql kClaim{"UPDATE partition SET owner = $1"};
  const auto claimed = writer_->run(writer_->control(), [a](Tx& tx) { return tx.exec(kClaim, a); });
  ASSERT_FALSE(claimed.ok());
  EXPECT_EQ(claimed.error().kind(), Errc::Conflict);
}

TEST_P(OwnerTest, AnItemWhoseOwnersKeepDyingFailsInTheEnd) {
  const PartitionId id = make("p");
  ASSERT_TRUE(add(id, some(1)).ok());
  for (int death = 0; death < kInterruptionsMax; ++death) {
    const OwnerId owner = enroll("o" + std::to_string(death));
    const Scanned claimed = scan(owner);
    ASSERT_EQ(claimed.claimed.size(), 1u) << death;
    const Result<Turned> taken = turn({id, claimed.claimed[0].token, {}, 1, 0});
    ASSERT_TRUE(taken.ok());
    ASSERT_EQ(taken->taken.size(), 1u) << death;
    expire(owner);
  }
  scan(enroll("last"));
  EXPECT_EQ(load_one(id, "i0").status, Status::Failed);
  EXPECT_NE(load_one(id, "i0").errors.find("died"), std::string::npos);
  EXPECT_EQ(load("p").status, Status::Failed);
  EXPECT_EQ(*check_queue(*readers_), std::vector<std::string>());
}

TEST_P(OwnerTest, FormerOwnersOfAFolderEndAtOnce) {
  const PartitionId id = make("p");
  ASSERT_TRUE(add(id, some(1)).ok());
  ASSERT_EQ(scan(enroll("a")).claimed.size(), 1u);
  bool done = false;
  while (!done) done = *writer_->run(writer_->control(), end_all_owners);
  EXPECT_EQ(scan(enroll("b")).claimed.size(), 1u);
}

std::int64_t all_operations(const store::Writer& writer) {
  std::int64_t operations = 0;
  for (const store::LaneStats& lane : writer.stats()) operations += lane.operations;
  return operations;
}

TEST_P(OwnerTest, C20_AHundredThousandIdlePartitionsCostNothing) {
  // A hundred, then a hundred thousand: the same number of operations for the same number of scans.
  const auto idle_operations = [&] {
    Engine& engine = start(record([](const Work&) { return Outcome::complete(); }),
                           {.lease_ms = 10'000, .scan_ms = 20, .held_max = 50});
    EXPECT_TRUE(eventually([&] { return engine.stats().held == 50; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // first turns are over
    const std::int64_t before = all_operations(*writer_);
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const std::int64_t operations = all_operations(*writer_) - before;
    EXPECT_LE(engine.stats().held, 50) << "the cap";
    stop(engines_.back());
    engines_.pop_back();
    return operations;
  };
  for (int i = 0; i < 100; ++i) make("few" + std::to_string(i));
  const std::int64_t few = idle_operations();
  for (int from = 0; from < 100'000; from += 5000) {
    ASSERT_NO_FATAL_FAILURE(script(fmt::format(
        "INSERT INTO partition (name, version, kind, handler, declared, auto_close,"
        " manual_checkpoint, sealed, refuse_when_closed, max_retries, priority, concurrency,"
        " backoff_ms, backoff_ms_max, retain_ms, gate, status, token, ready_us, delayed_us,"
        " item_bytes_max, items, complete_items, failed_items, event_number, created_us,"
        " updated_us) WITH RECURSIVE n (i) AS (SELECT {} UNION ALL SELECT i + 1 FROM n WHERE i < "
        "{})"
        " SELECT 'idle' || i, 1, kind, handler, declared, auto_close, manual_checkpoint, sealed,"
        " refuse_when_closed, max_retries, priority, concurrency, backoff_ms, backoff_ms_max,"
        " retain_ms, gate, status, 0, 9223372036854775807, delayed_us, 0, 0, 0, 0, 0, created_us,"
        " updated_us FROM n, (SELECT * FROM partition WHERE name = 'few0') AS like_this",
        from + 1, from + 5000)));
  }
  const std::int64_t many = idle_operations();
  // A scan every 20 ms at most, renewals, and on a slow machine some first turns: nothing that
  // grows with the partitions.
  EXPECT_LE(few, 1000);
  EXPECT_LE(many, 1000);
  EXPECT_GT(many, 0);
}

TEST_P(OwnerTest, CheckFindsWhatDoesNotAddUp) {
  const PartitionId id = make("p", {.auto_close = true});
  ASSERT_TRUE(add(id, some(3)).ok());
  start(record([](const Work&) { return Outcome::complete(); }));
  ASSERT_TRUE(reaches("p", Status::Complete));
  stop(engines_[0]);
  ASSERT_EQ(*check_queue(*readers_), std::vector<std::string>());
  const auto broken_by = [&](const std::string& sql, const std::string& repair) {
    script(sql);
    const std::size_t problems = check_queue(*readers_)->size();
    script(repair);
    EXPECT_TRUE(check_queue(*readers_)->empty()) << repair;
    return problems > 0;
  };
  EXPECT_TRUE(broken_by("UPDATE partition SET complete_items = 2",
                        "UPDATE partition SET complete_items = 3"));
  EXPECT_TRUE(broken_by("UPDATE item SET status = 1 WHERE name = 'i0'",
                        "UPDATE item SET status = 4 WHERE name = 'i0'"));
  EXPECT_TRUE(broken_by("UPDATE partition SET event_number = event_number + 1",
                        "UPDATE partition SET event_number = event_number - 1"));
  EXPECT_TRUE(
      broken_by("UPDATE item SET partition = 77 WHERE name = 'i0'",
                "UPDATE item SET partition = " + std::to_string(id.value) + " WHERE name = 'i0'"));
  EXPECT_TRUE(broken_by("UPDATE partition SET status = 1", "UPDATE partition SET status = 4"));
}

INSTANTIATE_TEST_SUITE_P(Stores, OwnerTest,
                         testing::Values(store::StoreKind::Sqlite, store::StoreKind::Postgres),
                         store::store_name);

}  // namespace
}  // namespace quern::queue
