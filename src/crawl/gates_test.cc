#include "crawl/gates.h"

#include <gtest/gtest.h>

namespace quern::crawl {
namespace {

constexpr SiteId kSite{7};

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

}  // namespace
}  // namespace quern::crawl
