#include "base/result.h"

#include <gtest/gtest.h>

#include <set>

namespace quern {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return Error{Errc::Invalid, "odd"};
  return n / 2;
}

Result<int> quarter(int n) {
  TRY_ASSIGN(const int once, half(n));
  TRY_ASSIGN(const int twice, half(once));
  return twice;
}

Result<> even(int n) {
  TRY(half(n));
  return {};
}

TEST(ResultTest, TryAssignGivesTheValueOrReturnsTheFirstError) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(6).error().message(), "odd");
  EXPECT_TRUE(even(2).ok());
  EXPECT_EQ(even(3).error().kind(), Errc::Invalid);
}

TEST(ResultTest, ContextIsPutBeforeTheMessageAndKeepsTheKind) {
  const Result<int> result = half(1).with_context("while halving");
  EXPECT_EQ(result.error().message(), "while halving: odd");
  EXPECT_EQ(result.error().kind(), Errc::Invalid);
}

TEST(ResultTest, HoldsMoveOnlyValues) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 5);
}

TEST(ResultDeathTest, AskingAnErrorForItsValueAborts) {
  Result<int> result = half(1);
  EXPECT_DEATH((void)result.value(), "odd");
}

TEST(ErrcTest, EveryKindHasItsOwnNameAndAnErrorStatus) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(Errc::Internal); ++i) {
    const auto kind = static_cast<Errc>(i);
    EXPECT_TRUE(names.insert(to_string(kind)).second) << to_string(kind);
    EXPECT_GE(http_status(kind), 400) << to_string(kind);
    EXPECT_LT(http_status(kind), 600) << to_string(kind);
    // What a client may repeat unchanged is the server's trouble, never the client's.
    EXPECT_TRUE(!is_retryable(kind) || http_status(kind) >= 500) << to_string(kind);
  }
}

}  // namespace
}  // namespace quern
