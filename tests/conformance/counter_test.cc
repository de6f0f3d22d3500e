// The counter's operation, on every store: batches in which counters and keys repeat.
#include "counter/counter.h"

#include "conformance/store_fixture.h"

namespace quern::counter {
namespace {

using store::HeldLane;
using store::push;
using store::StoreKind;
using store::Tx;

class CounterTest : public store::StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    open();
  }
  std::string show() {
    auto readers = *store::Readers::open(*database_, {});
    const auto counters = readers->run([](Tx& tx) { return list_counters(tx, "", kListMax); });
    std::string text;
    for (const Counter& counter : *counters) {
      text += fmt::format("{}={}/{} ", counter.name, counter.value, counter.entries);
    }
    return text;
  }
};

TEST_P(CounterTest, ABatchAddsInOrderAndCountsEachKeyOnce) {
  std::vector<std::future<Result<Added>>> answers;
  {
    HeldLane held(writer_->lane({}));
    const std::vector<AddToCounter> batch = {{"a", "1", 5}, {"b", "1", 7}, {"a", "2", -2},
                                             {"a", "1", 5}, {"a", "2", 9}, {"b", "2", 1}};
    for (const AddToCounter& add : batch) answers.push_back(push(writer_->lane({}), add));
  }
  EXPECT_EQ(answers[0].get()->value, 5);
  EXPECT_EQ(answers[1].get()->value, 7);
  EXPECT_EQ(answers[2].get()->value, 3);
  const Result<Added> repeated = answers[3].get();
  EXPECT_TRUE(repeated->repeated);
  EXPECT_EQ(repeated->value, 5) << "what it was told the first time";
  EXPECT_EQ(answers[4].get().error().kind(), Errc::Conflict) << "one key, another amount";
  EXPECT_EQ(answers[5].get()->value, 8);
  EXPECT_EQ(show(), "a=3/2 b=8/2 ");
}

TEST_P(CounterTest, AKeyIsRememberedOverBatches) {
  ASSERT_EQ(writer_->run({}, AddToCounter{"a", "1", 5})->value, 5);
  ASSERT_EQ(writer_->run({}, AddToCounter{"a", "2", 5})->value, 10);
  const auto again = writer_->run({}, AddToCounter{"a", "1", 5});
  EXPECT_EQ(again->value, 5);
  EXPECT_TRUE(again->repeated);
  EXPECT_EQ(show(), "a=10/2 ");
}

TEST_P(CounterTest, AValueThatWouldOverflowIsRefusedAndNothingChanges) {
  script("INSERT INTO counter (name, value, entries) VALUES ('full', 9223372036854775800, 0)");
  EXPECT_EQ(writer_->run({}, AddToCounter{"full", "1", 8}).error().kind(), Errc::TooLarge);
  EXPECT_TRUE(writer_->run({}, AddToCounter{"full", "1", 7}).ok()) << "the key was not used up";
}

TEST_P(CounterTest, NamesSortByTheirBytesOnEveryStore) {
  for (const char* name : {"b", "B", "a.b", "a-b", "a_b", "A"}) {
    ASSERT_TRUE(writer_->run({}, AddToCounter{name, "1", 1}).ok());
  }
  EXPECT_EQ(show(), "A=1/1 B=1/1 a-b=1/1 a.b=1/1 a_b=1/1 b=1/1 ");
}

INSTANTIATE_TEST_SUITE_P(Stores, CounterTest,
                         testing::Values(StoreKind::Sqlite, StoreKind::Postgres),
                         store::store_name);

}  // namespace
}  // namespace quern::counter
