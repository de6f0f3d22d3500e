#include "api/throttle.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "net/event.h"

namespace quern::api {
namespace {

namespace json = boost::json;

class ThrottleTest : public testing::Test {
 protected:
  void say(const std::string& of, int number) {
    throttle_.say(of, json::object{{"of", of}, {"n", number}});
  }
  net::Task<bool> wait_until_idle() {
    while (throttle_.size() > 0) co_await loop_.sleep_until(net::in_ms(1));
    co_return true;
  }

  net::Loop loop_;
  std::string said_;
  Throttle throttle_{loop_,
                     [this](const json::object& data) {
                       said_ += std::string(data.at("of").as_string()) +
                                std::to_string(data.at("n").as_int64()) + " ";
                     },
                     20};
};

TEST_F(ThrottleTest, TheFirstAndTheLastAreSaidAndWhatCameBetweenIsNot) {
  for (int i = 1; i <= 100; ++i) say("a", i);
  EXPECT_EQ(said_, "a1 ");
  EXPECT_TRUE(loop_.run_until(wait_until_idle()));
  EXPECT_EQ(said_, "a1 a100 ");
  say("a", 101);
  EXPECT_EQ(said_, "a1 a100 a101 ") << "the pause is over";
  EXPECT_TRUE(loop_.run_until(wait_until_idle()));
}

TEST_F(ThrottleTest, EachThingHasItsOwnPause) {
  say("a", 1);
  say("b", 1);
  say("a", 2);
  EXPECT_EQ(said_, "a1 b1 ");
  EXPECT_TRUE(loop_.run_until(wait_until_idle()));
  EXPECT_EQ(said_, "a1 b1 a2 ");
}

TEST_F(ThrottleTest, NoMoreThingsThanTheLimitWait) {
  for (std::size_t i = 0; i < kThrottledMax + 10; ++i) say(std::to_string(i), 1);
  EXPECT_EQ(throttle_.size(), kThrottledMax);
  EXPECT_TRUE(loop_.run_until(wait_until_idle()));
}

}  // namespace
}  // namespace quern::api
