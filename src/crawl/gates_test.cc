#include "crawl/gates.h"

#include <gtest/gtest.h>

namespace quern::crawl {
namespace {

constexpr char kSite[] = "site.example";

class GatesTest : public testing::Test {
 protected:
  static net::Task<> visit(GatesTest* self, std::int64_t gap_ms) {
    const bool entered = co_await self->gates_.enter(kSite, 1, gap_ms, {});
    ++(entered ? self->inside_ : self->refused_);
  }
  void visitors(int count, std::int64_t gap_ms) {
    for (int i = 0; i < count; ++i) loop_.spawn("visit", visit(this, gap_ms));
    settle();
  }
  static net::Task<> be_guest(GatesTest* self, std::int64_t gap_ms) {
    self->guests_ += co_await self->gates_.enter(kSite, Gates::kGuest, gap_ms, {}) ? 1 : 0;
  }
  void guest(std::int64_t gap_ms) {
    loop_.spawn("guest", be_guest(this, gap_ms));
    settle();
  }
  void leave(std::int64_t gap_ms) {
    --inside_;
    gates_.leave(kSite, gap_ms);
    settle();
  }
  // Everything that can go on has gone on.
  void settle() {
    auto wait = [](net::Loop* loop) -> net::Task<bool> {
      for (int i = 0; i < 100; ++i) co_await loop->yield();
      co_return true;
    };
    EXPECT_TRUE(loop_.run_until(wait(&loop_)));
  }

  net::Loop loop_;
  Gates gates_{loop_};
  std::int64_t inside_ = 0;
  std::int64_t refused_ = 0;
  int guests_ = 0;
};

TEST_F(GatesTest, WithoutAGapSoManyAreInAndTheOthersComeWhenOneLeaves) {
  visitors(3 * kRequestsWithoutGap, 0);
  EXPECT_EQ(inside_, kRequestsWithoutGap);
  for (int left = 0; left < 2 * kRequestsWithoutGap; ++left) {
    leave(0);
    EXPECT_EQ(inside_, kRequestsWithoutGap);
  }
  while (inside_ > 0) leave(0);
  EXPECT_EQ(gates_.size(), 1u);
}

TEST_F(GatesTest, WithAGapTheyComeOneByOne) {
  visitors(3, 1);
  EXPECT_EQ(inside_, 1);
  for (int others = 2; others > 0; --others) {
    leave(1);
    while (inside_ == 0) settle();  // until the gap has passed
    EXPECT_EQ(inside_, 1);
  }
}

TEST_F(GatesTest, NobodyWaitsAtClosedGates) {
  visitors(2 * kRequestsWithoutGap, 0);
  gates_.close();
  settle();
  EXPECT_EQ(inside_, kRequestsWithoutGap);
  EXPECT_EQ(refused_, kRequestsWithoutGap);
  visitors(1, 0);
  EXPECT_EQ(refused_, kRequestsWithoutGap + 1);
}

// Whoever follows a robots.txt to a site that others of this process ask keeps their gap.
TEST_F(GatesTest, AGuestComesAGapAfterTheOthersAndTheyAfterIt) {
  visitors(1, 1);
  ASSERT_EQ(inside_, 1);
  guest(1);
  EXPECT_EQ(guests_, 0) << "one at a time";
  leave(1);
  while (guests_ == 0) settle();
  visitors(1, 1);
  EXPECT_EQ(inside_, 0);
  gates_.leave(kSite, 1);
  while (inside_ == 0) settle();
}

TEST_F(GatesTest, AGuestAtAGateWhereNobodyWasWaitsAGap) {
  const net::Instant before = net::in_ms(0);
  guest(30);
  EXPECT_EQ(guests_, 0);
  while (guests_ == 0) settle();
  EXPECT_GE(net::in_ms(0) - before, std::chrono::milliseconds(30));
}

// Those that are open are forgotten, and made again: whoever waits, or must not come yet, stays.
TEST(GatesBoundTest, OnlyGatesThatNobodyNeedsAreForgotten) {
  net::Loop loop;
  Gates gates(loop, 3);
  int inside = 0;
  const auto enter = [](Gates* all, std::string site, int* count) -> net::Task<> {
    *count += co_await all->enter(std::move(site), 1, 3'600'000, {}) ? 1 : 0;
  };
  const auto settle = [&loop] {
    auto wait = [](net::Loop* on) -> net::Task<bool> {
      for (int i = 0; i < 100; ++i) co_await on->yield();
      co_return true;
    };
    EXPECT_TRUE(loop.run_until(wait(&loop)));
  };
  for (const char* site : {"a", "b", "c", "d"}) loop.spawn("enter", enter(&gates, site, &inside));
  settle();
  EXPECT_EQ(inside, 4);
  EXPECT_EQ(gates.size(), 4u) << "all of them are in use";
  gates.leave("a", 3'600'000);
  for (const char* site : {"b", "c", "d"}) gates.leave(site, 0);
  settle();
  loop.spawn("enter", enter(&gates, "e", &inside));
  settle();
  EXPECT_EQ(inside, 5);
  EXPECT_EQ(gates.size(), 2u) << "a, whose gap has not passed, and e";
  loop.spawn("enter", enter(&gates, "a", &inside));
  settle();
  EXPECT_EQ(inside, 5) << "a keeps its gap";
  gates.close();
  settle();
}

}  // namespace
}  // namespace quern::crawl
