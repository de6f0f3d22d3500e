// Goal: items are put once, deleted wholly and found without looking at others. Method: operations
// on both stores; the plan of the hot statement on SQLite, where it went wrong once.
#include "conformance/engine_fixture.h"
#include "queue/check.h"

namespace quern::queue {
namespace {

using store::Tx;

class QueueItemTest : public EngineTest {};

TEST_P(QueueItemTest, ADifferentItemIsFoundAlsoBesideAnEqualOne) {
  const PartitionId id = make("p");
  ASSERT_TRUE(add(id, {{"y", 0, "a"}}).ok());
  EXPECT_EQ(add(id, {{"y", 0, "a"}, {"y", 0, "b"}}).error().kind(), Errc::Conflict);
  EXPECT_EQ(add(id, {{"z", 0, "a"}, {"z", 0, "a"}, {"z", 0, "lost"}}).error().kind(),
            Errc::Conflict);
  EXPECT_EQ(load("p").items, 1) << "all of a put or nothing";
  const auto twice = add(id, {{"z", 0, "a"}, {"z", 0, "a"}});
  ASSERT_TRUE(twice.ok());
  EXPECT_EQ((*twice)[0].put, Put::Added);
  EXPECT_EQ((*twice)[1].put, Put::Same);
  EXPECT_EQ(*check_queue(*readers_), std::vector<std::string>());
}

TEST_P(QueueItemTest, APutThatConflictsHarmsNoNeighbourInItsBatch) {
  const PartitionId id = make("p");
  ASSERT_TRUE(add(id, {{"taken", 0, "a"}}).ok());
  store::Lane& lane = writer_->lane(lane_of(id));
  store::HeldLane held(lane);
  auto good = store::push(lane, PutItems{id, {{"one", 0, ""}}});
  auto bad = store::push(lane, PutItems{id, {{"two", 0, ""}, {"taken", 0, "b"}}});
  auto better = store::push(lane, PutItems{id, {{"three", 0, ""}}});
  held.release();
  EXPECT_TRUE(good.get().ok());
  EXPECT_EQ(bad.get().error().kind(), Errc::Conflict);
  EXPECT_TRUE(better.get().ok());
  EXPECT_EQ(load("p").items, 3);
  EXPECT_EQ(*check_queue(*readers_), std::vector<std::string>());
}

TEST_P(QueueItemTest, AUniqueKeyAdmitsOneItemOfAllPartitions) {
  const PartitionId one = make("one");
  const PartitionId two = make("two");
  const NewItem first{"a", 0, "", 0, 0, "https://example.org/"};
  const NewItem second{"b", 0, "", 0, 0, "https://example.org/"};
  EXPECT_EQ(add(one, {first})->at(0).put, Put::Added);
  EXPECT_EQ(add(one, {first})->at(0).put, Put::Same);
  EXPECT_EQ(add(two, {second})->at(0).put, Put::Taken);
  EXPECT_EQ(load("two").items, 0);
}

// Handlers know an item by its id: another one must not be taken for it.
TEST_P(QueueItemTest, TheIdOfADeletedItemIsNotGivenAgain) {
  const PartitionId id = make("p");
  const ItemId first = add(id, {{"a", 0, "one"}})->at(0).id;
  ASSERT_TRUE(change(id, [id](Tx& tx) -> Result<bool> {
                TRY(delete_item(tx, id, "a", {}));
                return true;
              }).ok());
  EXPECT_GT(add(id, {{"a", 0, "two"}})->at(0).id, first);
}

TEST_P(QueueItemTest, ADeletionThatWasInterruptedIsFinishedByWhoeverScans) {
  const PartitionId id = make("p");
  ASSERT_TRUE(add(id, some(static_cast<int>(kItemsPerDelete) + 10)).ok());
  ASSERT_FALSE(*change(id, [id](Tx& tx) { return delete_some(tx, id); })) << "a first step";
  EXPECT_EQ(readers_->run([](Tx& tx) { return load_partition(tx, "p"); }).error().kind(),
            Errc::Missing);
  EXPECT_EQ(add(id, {{"late", 0, ""}}).error().kind(), Errc::Conflict);
  EXPECT_EQ(put(id, {.kind = "test"}).error().kind(), Errc::Conflict);
  EXPECT_EQ(*check_queue(*readers_), std::vector<std::string>());
  start(record([](const Work&) { return Outcome::complete(); }));
  EXPECT_TRUE(eventually(
      [&] { return !readers_->run([](Tx& tx) { return find_partition(tx, "p"); })->has_value(); }));
  EXPECT_EQ(*check_queue(*readers_), std::vector<std::string>());
}

TEST_P(QueueItemTest, CompleteItemsGoWhenTheyNeedNotBeKept) {
  const PartitionId id = make("p", {.retain_ms = 0});
  auto processor = record([](const Work& work) {
    return work.item.name == "bad" ? Outcome{.kind = Outcome::Kind::Failed, .no_retry = true}
                                   : Outcome::complete();
  });
  start(processor);
  ASSERT_TRUE(add(id, some(20)).ok());
  ASSERT_TRUE(add(id, {{"later", 0, "", 0, 3600 * 1'000'000LL}}).ok());
  EXPECT_TRUE(eventually([&] { return load("p").items == 1; })) << "one waits for an hour";
  EXPECT_EQ(processor->total(), 20);
  EXPECT_EQ(*check_queue(*readers_), std::vector<std::string>());
}

TEST_P(QueueItemTest, ItemsMayBePutBeforeTheirPartition) {
  const PartitionId id = *ensure_partition(*writer_, *readers_, "p");
  EXPECT_EQ(readers_->run([](Tx& tx) { return load_partition(tx, "p"); }).error().kind(),
            Errc::Missing);
  auto processor = record([](const Work&) { return Outcome::complete(); });
  start(processor);
  ASSERT_TRUE(add(id, some(3)).ok());
  for (int i = 0; i < 5; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(processor->total(), 0) << "nobody declared it";
  make("p", {.auto_close = true});
  engines_[0]->poke(id);
  ASSERT_TRUE(reaches("p", Status::Complete));
  EXPECT_EQ(processor->total(), 3);
}

INSTANTIATE_TEST_SUITE_P(Stores, QueueItemTest,
                         testing::Values(store::StoreKind::Sqlite, store::StoreKind::Postgres),
                         store::store_name);

class QueuePlanTest : public EngineTest {};

// Without statistics SQLite once answered this by the range of its partial index, and sorted all.
TEST_P(QueuePlanTest, ATakeVisitsOnlyWhatItTakes) {
  static constexpr store::Sql kPlan{
      "EXPLAIN QUERY PLAN SELECT id FROM item WHERE partition = 1 AND status = 1 AND +status < 4"
      " AND gate = 0 ORDER BY priority DESC, due_us, id LIMIT 10"};
  auto session = database_->connect_reader();
  ASSERT_TRUE(session.ok());
  const Result<store::Rows> plan = (*session)->run(kPlan, {});
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  std::string text;
  for (const store::Row row : *plan) text += row.get<std::string>(3) + "\n";
  EXPECT_NE(text.find("item_open (partition=? AND status=? AND gate=?)"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("TEMP B-TREE"), std::string::npos) << text;
}

INSTANTIATE_TEST_SUITE_P(Stores, QueuePlanTest, testing::Values(store::StoreKind::Sqlite),
                         store::store_name);

}  // namespace
}  // namespace quern::queue
