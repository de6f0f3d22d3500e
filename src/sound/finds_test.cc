#include "sound/finds.h"

#include <gtest/gtest.h>

namespace quern::sound {
namespace {

const auto kAllWanted = [](const Found&) { return false; };

TEST(FindsTest, OfTwoThatAreNearTheBetterOneIsKept) {
  Finds finds(10);
  for (const Found& one : {Found{100, 0.7, 1}, Found{109, 0.9, 1}, Found{120, 0.8, 1},
                           Found{5, 0.6, 1}, Found{111, 0.85, 1}}) {
    finds.add(one);
  }
  const std::vector<Found> kept = finds.take(kAllWanted);
  ASSERT_EQ(kept.size(), 3U);
  EXPECT_EQ(kept[0].sample, 5);
  EXPECT_EQ(kept[1].sample, 109);
  EXPECT_EQ(kept[2].sample, 120);
  EXPECT_TRUE(finds.take(kAllWanted).empty());
}

TEST(FindsTest, WhatIsNotWantedTakesNobodysPlace) {
  Finds finds(10);
  finds.add({100, 0.9, 1});
  finds.add({105, 0.7, 1});
  const auto kept = finds.take([](const Found& found) { return found.sample == 100; });
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].sample, 105);
}

TEST(FindsTest, OfVeryManyTheBestAreKeptAndNoMoreAreHeld) {
  Finds finds(10);
  std::size_t most = 0;
  for (std::size_t i = 0; i < 3 * kFindsHeld; ++i) {
    const double score = i % 100 == 7 ? 0.95 : 0.7;
    finds.add({double(i) * 20, score, 1});
    most = std::max(most, finds.held());
  }
  EXPECT_LT(most, kFindsHeld);
  const std::vector<Found> kept = finds.take(kAllWanted);
  ASSERT_EQ(kept.size(), kOccurrencesMax);
  const auto best = std::count_if(kept.begin(), kept.end(),
                                  [](const Found& found) { return found.score == 0.95; });
  EXPECT_EQ(std::size_t(best), 3 * kFindsHeld / 100) << "each of the better ones";
}

}  // namespace
}  // namespace quern::sound
