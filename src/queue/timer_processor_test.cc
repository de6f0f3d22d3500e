#include "queue/timer_processor.h"

#include <gtest/gtest.h>

namespace quern::queue {
namespace {

TEST(TimerProcessorTest, MessagesSayWhichTimerIsSet) {
  const Result<SetTimer> start =
      parse_set_timer(R"({"type":"start_timer","site":"a","timeout":0.25,"callback_queue":"HEAD",)"
                      R"("callback_msg":{"type":"index","site":"b"}})");
  EXPECT_EQ(start->how, SetTimer::How::Start);
  EXPECT_EQ(start->key, "a");
  EXPECT_EQ(start->timeout_us, 250'000);
  EXPECT_EQ(start->callback_queue, "INDEX");
  EXPECT_EQ(start->callback_msg, R"({"type":"index","site":"b"})");
  const Result<SetTimer> reset = parse_set_timer(R"({"type":"reset_timer","site":"a"})");
  EXPECT_EQ(reset->how, SetTimer::How::Reset);
  EXPECT_EQ(reset->timeout_us, kDefaultTimeoutUs);
  EXPECT_EQ(reset->callback_queue, "PACK");
  EXPECT_EQ(reset->callback_msg, "");
  EXPECT_EQ(parse_set_timer(R"({"type":"reset_timer","site":"a","timeout":1e-9})")->timeout_us, 1);
  EXPECT_FALSE(parse_set_timer(R"({"type":"index","site":"a"})").ok());
}

TEST(TimerProcessorTest, AMessageThatCannotBeReadIsNotTriedAgain) {
  int pokes = 0;
  const auto processor = make_timer_processor([&pokes] { ++pokes; });
  std::vector<Outcome> outcomes;
  for (const char* data : {"nonsense", R"({"type":"reset_timer","site":"a"})"}) {
    Work work;
    work.item.data = data;
    processor->process(work, [&](Outcome outcome) { outcomes.push_back(std::move(outcome)); });
  }
  ASSERT_EQ(outcomes.size(), 2U);
  EXPECT_EQ(outcomes[0].kind, Outcome::Kind::Failed);
  EXPECT_TRUE(outcomes[0].no_retry);
  EXPECT_FALSE(outcomes[0].effect);
  EXPECT_EQ(outcomes[1].kind, Outcome::Kind::Moved);
  EXPECT_TRUE(outcomes[1].done);
  EXPECT_TRUE(outcomes[1].effect);
  EXPECT_EQ(pokes, 1);
}

}  // namespace
}  // namespace quern::queue
