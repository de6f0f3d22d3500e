// What the work engine's conformance tests share: a store of either kind whose writer has the
// partitions' guard, and the database's time in the test's hand.
//
// On SQLite the time stands still until it is moved. On PostgreSQL it goes on by itself too: a test
// leaves some seconds between what it tells apart.
#pragma once

#include <atomic>

#include "conformance/store_fixture.h"
#include "queue/locked_partitions.h"

namespace quern::queue {

inline constexpr std::int64_t kSecondUs = 1'000'000;

class QueueTest : public store::StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    ASSERT_NO_FATAL_FAILURE(open_queue());
  }
  void TearDown() override {
    readers_.reset();
    close();
  }

  void open_queue(store::WriterOptions options = {}) {
    options.guard = std::make_shared<PartitionGuard>();
    store::DatabaseOptions database_options;
    database_options.clock = &fake_clock_;
    database_options.postgres.offset_us = &offset_us_;
    ASSERT_NO_FATAL_FAILURE(open(options, database_options));
    auto readers = store::Readers::open(*database_, {});
    ASSERT_TRUE(readers.ok()) << readers.error().message();
    readers_ = *std::move(readers);
  }
  // Time passes for the database.
  void pass(std::int64_t seconds) {
    fake_clock_.advance_us(seconds * kSecondUs);
    offset_us_ += seconds * kSecondUs;
  }
  std::int64_t now_us() {
    return *readers_->run([](store::Tx& tx) { return tx.now_us(); });
  }

  std::atomic<std::int64_t> offset_us_{0};
  std::unique_ptr<store::Readers> readers_;
};

}  // namespace quern::queue
