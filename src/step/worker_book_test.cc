#include "step/worker_book.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace quern::step {
namespace {

class WorkerBookTest : public testing::Test {
 protected:
  void pass(std::int64_t ms) { now_ += std::chrono::milliseconds(ms); }
  const WorkerKey ann_ = worker_key("ann", model::StepId::Text);

  net::Instant now_ = net::in_ms(0);
  std::string told_;
  WorkerBook book_{[this](const WorkerKey& key, WorkerState state) {
                     told_ += fmt::format("{} {} ", key.worker, to_string(state));
                   },
                   [this] { return now_; }};
};

TEST_F(WorkerBookTest, AWorkerComesIsBusyIsIdleAndGoes) {
  book_.poll_began(ann_, "3.1", "full");
  book_.poll_ended(ann_);
  book_.lent(ann_);
  book_.lent(ann_);
  EXPECT_EQ(book_.all().at(ann_).running, 2);
  book_.ended(ann_, 40);
  book_.ended(ann_, 2);
  book_.count(ann_, WorkerBook::How::Finished);
  book_.count(ann_, WorkerBook::How::Failed);
  EXPECT_EQ(book_.all().at(ann_).busy_ms, 42);
  EXPECT_EQ(book_.all().at(ann_).finished, 1);
  EXPECT_EQ(book_.all().at(ann_).failed, 1);
  EXPECT_EQ(book_.all().at(ann_).version, "3.1");
  pass(kWorkerKeptMs + 1);
  book_.forget();
  EXPECT_TRUE(book_.all().empty());
  EXPECT_EQ(told_, "ann came ann busy ann idle ann gone ");
}

TEST_F(WorkerBookTest, WhoWaitsOrWorksIsNotForgottenHoweverLongItTakes) {
  book_.poll_began(ann_, "", "");
  pass(kWorkerKeptMs * 10);
  book_.forget();
  EXPECT_EQ(book_.all().size(), 1u);
  book_.poll_ended(ann_);
  book_.lent(ann_);
  pass(kWorkerKeptMs * 10);
  book_.forget();
  EXPECT_EQ(book_.all().size(), 1u);
}

TEST_F(WorkerBookTest, OneWhoseProcessDiedIsGoneAtOnceWithAllItsSteps) {
  book_.poll_began(ann_, "", "");
  book_.poll_began(worker_key("ann", model::StepId::Detect), "", "");
  book_.poll_began(worker_key("", model::StepId::Text), "", "");
  book_.gone("ann");
  ASSERT_EQ(book_.all().size(), 1u);
  EXPECT_EQ(book_.all().begin()->first.worker, kUnnamedWorker);
  book_.poll_ended(ann_);  // its request ends after it
  book_.ended(ann_, 1);
  EXPECT_EQ(book_.all().size(), 1u);
}

TEST_F(WorkerBookTest, ThereAreNeverMoreThanTheLimit) {
  for (std::size_t i = 0; i < kWorkersKnownMax + 10; ++i) {
    const WorkerKey key = worker_key(fmt::format("worker-{}", i), model::StepId::Text);
    book_.poll_began(key, "", "");
    if (i > 0) book_.poll_ended(key);
    pass(1);
  }
  EXPECT_EQ(book_.all().size(), kWorkersKnownMax);
  EXPECT_TRUE(book_.all().contains(worker_key("worker-0", model::StepId::Text))) << "it waits";
  EXPECT_FALSE(book_.all().contains(worker_key("worker-1", model::StepId::Text)));
}

TEST_F(WorkerBookTest, WhereAllAreBusyANewOneIsNotNoted) {
  for (std::size_t i = 0; i < kWorkersKnownMax; ++i) {
    book_.poll_began(worker_key(fmt::format("worker-{}", i), model::StepId::Text), "", "");
  }
  book_.poll_began(ann_, "", "");
  book_.lent(ann_);
  book_.poll_ended(ann_);
  EXPECT_FALSE(book_.all().contains(ann_));
}

}  // namespace
}  // namespace quern::step
