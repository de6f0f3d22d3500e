// The named queues on every store: partitions that appear when they are needed, messages that are
// there once.
#include "queue/message.h"

#include <thread>

#include "conformance/queue_fixture.h"

namespace quern::queue {
namespace {

using store::StoreKind;
using store::Tx;

class MessageQueueTest : public QueueTest {
 protected:
  PartitionId ensure(const std::string& queue) {
    const auto partition = ensure_queue(*writer_, *readers_, queue);
    CHECK_OK(partition);
    return *partition;
  }
  Result<PutItems::Reply> post(const std::string& queue, const std::string& json,
                               const std::string& key = "") {
    TRY_ASSIGN(const Message message, parse_message(queue, json));
    const PartitionId partition = ensure(queue);
    return writer_->run(lane_of(partition), PutItems{partition, {message_item(message, key)}});
  }
  Result<std::vector<Item>> list(const std::string& queue, const ItemFilter& filter = {}) {
    return readers_->run([&](Tx& tx) { return list_messages(tx, queue, filter); });
  }
};

TEST_P(MessageQueueTest, AQueueIsAPartitionThatNeverClosesAndForgetsWhatIsDone) {
  const PartitionId id = ensure("SEARCHER-7");
  const auto partition =
      readers_->run([](Tx& tx) { return load_partition(tx, "quern:queue:SEARCHER-7"); });
  EXPECT_EQ(partition->id, id);
  EXPECT_TRUE(partition->declared);
  EXPECT_FALSE(partition->config.auto_close);
  EXPECT_EQ(partition->config.kind, "queue:SEARCHER");
  EXPECT_EQ(partition->config.retain_ms, kMessageRetainMs);
}

TEST_P(MessageQueueTest, AQueueThatExistsCostsNoWrite) {
  const PartitionId id = ensure("INDEX");
  const std::int64_t before = commits();
  EXPECT_EQ(ensure("INDEX"), id);
  EXPECT_EQ(commits(), before);
}

TEST_P(MessageQueueTest, AQueueThatManyNeedAtOnceIsMadeOnce) {
  std::vector<std::future<PartitionId>> made;
  for (int i = 0; i < 8; ++i) {
    made.push_back(std::async(std::launch::async, [this] { return ensure("PACK"); }));
  }
  std::set<PartitionId> ids;
  for (auto& one : made) ids.insert(one.get());
  EXPECT_EQ(ids.size(), 1U);
  const auto partition =
      readers_->run([](Tx& tx) { return load_partition(tx, "quern:queue:PACK"); });
  const std::int64_t version = partition->version;
  ensure("PACK");
  EXPECT_EQ(readers_->run([](Tx& tx) { return load_partition(tx, "quern:queue:PACK"); })->version,
            version);
}

TEST_P(MessageQueueTest, WhatSomebodyConfiguredStays) {
  const PartitionId id = ensure("PACK");
  PutPartition put;
  put.config.kind = kind_of_queue("PACK");
  put.config.concurrency = 3;
  ASSERT_TRUE(writer_
                  ->run(lane_of(id),
                        change_partition(id, [&](Tx& tx) { return put_partition(tx, id, put); }))
                  .ok());
  EXPECT_EQ(ensure("PACK"), id);
  EXPECT_EQ(readers_->run([](Tx& tx) { return load_partition(tx, "quern:queue:PACK"); })
                ->config.concurrency,
            3);
}

TEST_P(MessageQueueTest, AMessageThatIsRepeatedWithItsKeyIsTheSameOne) {
  const std::string index = R"({"type":"index","site":"a.org"})";
  const auto first = post("INDEX", index, "k1");
  ASSERT_TRUE(first.ok()) << first.error().message();
  EXPECT_EQ(first->at(0).put, Put::Added);
  const auto again = post("INDEX", R"({"site":"a.org","type":"index"})", "k1");
  EXPECT_EQ(again->at(0).put, Put::Same) << "the same message in other words";
  EXPECT_EQ(again->at(0).id, first->at(0).id);
  EXPECT_EQ(post("INDEX", R"({"type":"index","site":"b.org"})", "k1").error().kind(),
            Errc::Conflict);
  ASSERT_TRUE(post("INDEX", index).ok());
  ASSERT_TRUE(post("INDEX", index).ok());
  EXPECT_EQ(list("INDEX")->size(), 3U) << "without keys they are different messages";
}

TEST_P(MessageQueueTest, AQueueIsListedInPagesWithItsBodies) {
  EXPECT_TRUE(list("CRAWL")->empty()) << "nobody has posted yet";
  const std::string crawl = R"({"type":"crawl","site":"a.org","path":"/)";
  for (int i = 0; i < 5; ++i) {
    const std::string number = std::to_string(i);
    ASSERT_TRUE(post("CRAWL", crawl + number + "\"}", "k" + number).ok());
  }
  const auto page = list("CRAWL", {.after = "k1", .limit = 2});
  ASSERT_EQ(page->size(), 2U);
  EXPECT_EQ(page->at(0).name, "k2");
  EXPECT_EQ(page->at(0).data, crawl + "2\"}");
  EXPECT_EQ(page->at(1).data, crawl + "3\"}");
  EXPECT_EQ(list("CRAWL", {.status = Status::Available})->size(), 5U);
  EXPECT_TRUE(list("CRAWL", {.status = Status::Complete})->empty());
}

INSTANTIATE_TEST_SUITE_P(Stores, MessageQueueTest,
                         testing::Values(StoreKind::Sqlite, StoreKind::Postgres),
                         store::store_name);

}  // namespace
}  // namespace quern::queue
