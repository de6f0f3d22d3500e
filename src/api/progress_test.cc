#include "api/progress.h"

#include <gtest/gtest.h>

namespace quern::api {
namespace {

TEST(EstimateTest, SaysNothingBeforeItHasSeenEnough) {
  Estimate estimate;
  EXPECT_FALSE(estimate.rate());
  estimate.add(0, 0, 0);
  estimate.add(1, 0.1, 10);
  EXPECT_FALSE(estimate.rate());
  EXPECT_FALSE(estimate.seconds_left());
  estimate.add(2, 0.2, 20);
  EXPECT_DOUBLE_EQ(*estimate.rate(), 10);
  EXPECT_DOUBLE_EQ(*estimate.seconds_left(), 8);
}

TEST(EstimateTest, SaysNothingOfAJobThatStandsStill) {
  Estimate estimate;
  for (int i = 0; i < 10; ++i) estimate.add(i, 0.5, 7);
  EXPECT_DOUBLE_EQ(*estimate.rate(), 0);
  EXPECT_FALSE(estimate.seconds_left());
}

TEST(EstimateTest, OnlyTheTimeJustPastCounts) {
  Estimate estimate;
  for (int i = 0; i <= 10; ++i) estimate.add(i, i * 0.05, i * 100);
  // Then it comes to a large file.
  for (int i = 11; i <= 100; ++i) estimate.add(i, 0.5 + (i - 10) * 0.001, 1000 + (i - 10));
  EXPECT_NEAR(*estimate.rate(), 1, 0.1);
  EXPECT_NEAR(*estimate.seconds_left(), 410, 20);
}

TEST(EstimateTest, AJobThatFallsBackBeginsAnew) {
  Estimate estimate;
  estimate.add(0, 0.1, 10);
  estimate.add(5, 0.6, 60);
  estimate.add(6, 0.3, 30);
  EXPECT_FALSE(estimate.seconds_left());
  estimate.add(8, 0.5, 50);
  EXPECT_DOUBLE_EQ(*estimate.seconds_left(), 5);
}

}  // namespace
}  // namespace quern::api
