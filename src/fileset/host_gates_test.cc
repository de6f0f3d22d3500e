#include "fileset/host_gates.h"

#include <gtest/gtest.h>

namespace quern::fileset {
namespace {

using Entered = HostGates::Entered;

class HostGatesTest : public testing::Test {
 protected:
  static net::Task<> visit(HostGates* gates, std::string host, std::vector<Entered>* log) {
    log->push_back(co_await gates->enter(std::move(host), net::in_ms(60'000)));
  }
  static net::Task<bool> settle(net::Loop* loop) {
    for (int i = 0; i < 20; ++i) co_await loop->yield();
    co_return true;
  }
  Entered enter(const std::string& host, net::Instant deadline = net::in_ms(60'000)) {
    return loop_.run_until(gates_.enter(host, deadline));
  }
  void begin_visit(const std::string& host) { loop_.spawn("visit", visit(&gates_, host, &log_)); }
  void settle() { (void)loop_.run_until(settle(&loop_)); }

  net::Loop loop_;
  HostGates gates_{loop_, {.requests_max = 2, .wait_ms_max = 1000}};
  std::vector<Entered> log_;
};

TEST_F(HostGatesTest, AHostGetsSoManyAtOnce) {
  EXPECT_EQ(enter("a"), Entered::Yes);
  EXPECT_EQ(enter("a"), Entered::Yes);
  begin_visit("a");
  begin_visit("a");
  settle();
  EXPECT_TRUE(log_.empty());
  EXPECT_EQ(enter("b"), Entered::Yes) << "another host is not concerned";
  gates_.leave("a");
  settle();
  EXPECT_EQ(log_.size(), 1U);
  gates_.leave("a");
  settle();
  EXPECT_EQ(log_, (std::vector{Entered::Yes, Entered::Yes}));
}

TEST_F(HostGatesTest, WhoHasNoTimeLeftGivesUpAndLosesNobodysPlace) {
  EXPECT_EQ(enter("a"), Entered::Yes);
  EXPECT_EQ(enter("a"), Entered::Yes);
  EXPECT_EQ(enter("a", net::in_ms(5)), Entered::TimedOut);
  begin_visit("a");
  gates_.leave("a");
  settle();
  EXPECT_EQ(log_, std::vector{Entered::Yes});
}

TEST_F(HostGatesTest, AHostThatIsHeldIsWaitedForUpToALimit) {
  gates_.hold("a", 30);
  EXPECT_GT(gates_.held_ms("a"), 0);
  EXPECT_EQ(enter("a"), Entered::Yes);
  EXPECT_EQ(gates_.held_ms("a"), 0);
  gates_.hold("a", 10'000);
  EXPECT_EQ(enter("a"), Entered::TooLong);
  EXPECT_EQ(gates_.held_ms("never seen"), 0);
}

TEST_F(HostGatesTest, AHoldThatGrowsIsSeenByThoseWhoWait) {
  gates_.hold("a", 500);
  begin_visit("a");
  settle();
  gates_.hold("a", 10'000);
  settle();
  EXPECT_EQ(log_, std::vector{Entered::TooLong});
}

TEST_F(HostGatesTest, ClosedGatesLetNobodyIn) {
  EXPECT_EQ(enter("a"), Entered::Yes);
  EXPECT_EQ(enter("a"), Entered::Yes);
  begin_visit("a");
  settle();
  gates_.close();
  settle();
  EXPECT_EQ(log_, std::vector{Entered::Closed});
  EXPECT_EQ(enter("b"), Entered::Closed);
}

TEST_F(HostGatesTest, OldGatesAreForgotten) {
  for (std::size_t i = 0; i < kGatesKept + 100; ++i) {
    const std::string host = "h" + std::to_string(i);
    EXPECT_EQ(enter(host), Entered::Yes);
    gates_.leave(host);
  }
  EXPECT_LE(gates_.size(), kGatesKept + 1);
}

TEST(AskedWaitTest, HostsSayHowLongInManyWays) {
  const std::int64_t now = 1'794'808'800;  // 2026-11-16T06:00:00Z
  const auto wait = [now](int status, const web::HeaderList& headers) {
    return asked_wait_ms(status, headers, now);
  };
  EXPECT_EQ(wait(429, {{"Retry-After", "7"}}), 7000);
  EXPECT_EQ(wait(503, {{"retry-after", "Mon, 16 Nov 2026 06:01:00 GMT"}}), 60'000);
  EXPECT_EQ(wait(503, {{"Retry-After", "Mon, 16 Nov 2026 05:00:00 GMT"}}), 0);
  EXPECT_EQ(wait(429, {{"Retry-After", "soon"}}), 0);
  EXPECT_EQ(wait(429, {{"Retry-After", "-5"}}), 0);
  EXPECT_EQ(wait(429, {{"Retry-After", "999999999999"}}), kAskedWaitMsMax);
  EXPECT_EQ(wait(200, {{"Retry-After", "7"}}), 0);
  EXPECT_EQ(wait(200, {{"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", "9"}}), 9000);
  EXPECT_EQ(
      wait(200, {{"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", std::to_string(now + 30)}}),
      30'000);
  EXPECT_EQ(wait(200, {{"RateLimit-Remaining", "0"}, {"RateLimit-Reset", "3"}}), 3000);
  EXPECT_EQ(wait(200, {{"X-RateLimit-Remaining", "5"}, {"X-RateLimit-Reset", "9"}}), 0);
  EXPECT_EQ(wait(403, {{"X-RateLimit-Remaining", "0"}}), 0);
}

}  // namespace
}  // namespace quern::fileset
