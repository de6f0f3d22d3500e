#include "base/check.h"

#include <gtest/gtest.h>

#include "base/result.h"

namespace quern {
namespace {

TEST(CheckDeathTest, FailedOneSaysWhatAndWhere) {
  EXPECT_DEATH(CHECK(1 + 1 == 3), "check_test.cc:[0-9]+: 1 \\+ 1 == 3");
  EXPECT_DEATH(CHECK_OK(Result<int>(Error{Errc::Full, "no room"})), "no room");
}

TEST(CheckTest, ExpressionIsEvaluatedOnce) {
  int calls = 0;
  const auto count = [&]() -> Result<int> { return ++calls; };
  CHECK_OK(count());
  EXPECT_EQ(calls, 1);
  CHECK(++calls == 2);
  EXPECT_EQ(calls, 2);
}

TEST(CheckDeathTest, FailingExpressionIsNotTriedAgain) {
  int calls = 0;
  // A second call would succeed, and hide the first one's error.
  const auto fail_once = [&]() -> Result<> {
    if (++calls == 1) return Error{Errc::Unavailable, "the first time"};
    return {};
  };
  EXPECT_DEATH(CHECK_OK(fail_once()), "the first time");
}

}  // namespace
}  // namespace quern
