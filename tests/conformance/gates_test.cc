// The gates of a partition, as they are listed, on every store; and who is told that one changed.
#include "queue/gates.h"

#include <fmt/format.h>

#include "conformance/engine_fixture.h"

namespace quern::queue {
namespace {

class GatesTest : public EngineTest {
 protected:
  GatePage page(PartitionId id, std::int64_t after = -1, std::size_t limit = kGatesMax) {
    auto loaded = readers_->run([&](store::Tx& tx) { return list_gates(tx, id, after, limit); });
    CHECK_OK(loaded);
    return *std::move(loaded);
  }
  // "0: 2 available 1 complete | 5: 1 failed"
  std::string show(PartitionId id) {
    std::string text;
    for (const GateCount& gate : page(id).gates) {
      text += fmt::format("{}{}:", text.empty() ? "" : " | ", gate.gate);
      if (gate.available > 0) text += fmt::format(" {} available", gate.available);
      if (gate.running > 0) text += fmt::format(" {} running", gate.running);
      if (gate.failed > 0) text += fmt::format(" {} failed", gate.failed);
      if (gate.complete > 0) text += fmt::format(" {} complete", gate.complete);
    }
    return text;
  }
};

TEST_P(GatesTest, EachGateHasItsItemsByState) {
  PartitionConfig config;
  config.max_retries = 0;
  config.concurrency = 10;
  const PartitionId id = make("p", config);
  EXPECT_EQ(show(id), "");
  ASSERT_TRUE(
      add(id, {{"good", 0, "{}"}, {"bad", 3, "{}"}, {"fine", 3, "{}"}, {"late", 7, "{}"}}).ok());
  EXPECT_EQ(show(id), "0: 1 available | 3: 2 available | 7: 1 available");
  auto processor = record([](const Work& work) {
    return work.item.name == "bad" ? Outcome::failed("no") : Outcome::complete();
  });
  start(processor);
  EXPECT_TRUE(eventually([&] {
    return show(id) == "0: 1 complete | 3: 1 failed 1 complete | 7: 1 available";
  })) << show(id);
}

TEST_P(GatesTest, RunningAndDelayedItemsAreCounted) {
  const PartitionId id = make("p");
  NewItem later{"later", 0, "{}"};
  later.delay_us = 3'600'000'000;
  ASSERT_TRUE(add(id, {later, {"now", 0, "{}"}}).ok());
  auto processor = record([](const Work&) { return Outcome::complete(); });
  processor->hold();
  start(processor);
  EXPECT_TRUE(eventually([&] { return show(id) == "0: 1 available 1 running"; })) << show(id);
  processor->release();
  EXPECT_TRUE(eventually([&] { return show(id) == "0: 1 available 1 complete"; })) << show(id);
}

TEST_P(GatesTest, APageGoesOnBehindItsLastGate) {
  const PartitionId id = make("p");
  std::vector<NewItem> items;
  for (int gate = 0; gate < 250; ++gate) items.push_back({fmt::format("i{}", gate), gate, "{}"});
  ASSERT_TRUE(add(id, items).ok());
  const GatePage first = page(id, -1, 1000);
  ASSERT_EQ(first.gates.size(), kGatesMax);
  EXPECT_TRUE(first.more);
  const GatePage rest = page(id, first.gates.back().gate, 1000);
  EXPECT_EQ(rest.gates.size(), 250 - kGatesMax);
  EXPECT_FALSE(rest.more);
  EXPECT_EQ(rest.gates.front().gate, static_cast<std::int64_t>(kGatesMax));
}

TEST_P(GatesTest, ALargeGateIsCountedUpToTheLimit) {
  const PartitionId id = make("p");
  for (int page = 0; page < 11; ++page) {
    ASSERT_TRUE(add(id, some(1000, 4, fmt::format("p{}-", page))).ok());
  }
  const GatePage gates = page(id);
  ASSERT_EQ(gates.gates.size(), 1u);
  EXPECT_EQ(gates.gates[0].available, kGateItemsMax);
  EXPECT_TRUE(gates.gates[0].at_least);
}

TEST_P(GatesTest, TheEngineTellsWhenAPartitionChanges) {
  std::mutex mutex;
  std::set<std::string> changed;
  EngineOptions options = quick();
  options.changed = [&](const std::string& partition) {
    const std::scoped_lock lock(mutex);
    changed.insert(partition);
  };
  const PartitionId id = make("p");
  make("idle");
  start(record([](const Work&) { return Outcome::complete(); }), options);
  ASSERT_TRUE(add(id, some(3)).ok());
  EXPECT_TRUE(eventually([&] { return load("p").complete_items == 3; }));
  EXPECT_TRUE(eventually([&] {
    const std::scoped_lock lock(mutex);
    return changed == std::set<std::string>{"p"};
  }));
  stop(engines_.front());
}

INSTANTIATE_TEST_SUITE_P(Stores, GatesTest,
                         testing::Values(store::StoreKind::Sqlite, store::StoreKind::Postgres),
                         store::store_name);

// Each look at a gate is one of an index.
class GatesPlanTest : public EngineTest {};
TEST_P(GatesPlanTest, EachLookIsOneOfAnIndexThatKnowsGates) {
  static constexpr store::Sql kPlans[] = {
      {"EXPLAIN QUERY PLAN SELECT min(gate) FROM item WHERE partition = 1 AND gate > 3"
       " AND status = 2 AND +status < 4"},
      {"EXPLAIN QUERY PLAN SELECT min(gate) FROM item WHERE partition = 1 AND gate > 3"
       " AND status = 4"},
      {"EXPLAIN QUERY PLAN SELECT 1 FROM item WHERE partition = 1 AND gate = 3 AND status = 3"
       " AND +status < 4 LIMIT 10"},
      {"EXPLAIN QUERY PLAN SELECT 1 FROM item WHERE partition = 1 AND gate = 3 AND status = 4"
       " LIMIT 10"},
      {"EXPLAIN QUERY PLAN SELECT 1 FROM item WHERE partition = 1 AND gate = 3 AND status = 5"
       " LIMIT 10"}};
  auto session = database_->connect_reader();
  ASSERT_TRUE(session.ok());
  for (const store::Sql& sql : kPlans) {
    std::string text;
    const Result<store::Rows> plan = (*session)->run(sql, {});
    ASSERT_TRUE(plan.ok()) << plan.error().message();
    for (const store::Row row : *plan) text += row.get<std::string>(3) + "\n";
    EXPECT_NE(text.find("INDEX item_"), std::string::npos) << text;
    EXPECT_NE(text.find("gate"), std::string::npos) << text;
    EXPECT_EQ(text.find("TEMP B-TREE"), std::string::npos) << text;
  }
}
INSTANTIATE_TEST_SUITE_P(Stores, GatesPlanTest, testing::Values(store::StoreKind::Sqlite),
                         store::store_name);

}  // namespace
}  // namespace quern::queue
