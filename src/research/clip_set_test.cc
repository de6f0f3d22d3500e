#include "research/clip_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "research/options.h"

namespace quern::research {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;

ClipSet set_of(std::initializer_list<std::int64_t> numbers) {
  ClipSet set;
  for (const std::int64_t number : numbers) set.add(number);
  return set;
}

TEST(ClipSetTest, TenThousandClipsAreThreeBytes) {
  ClipSet set;
  for (std::int64_t number = 10'000; number >= 1; --number) EXPECT_TRUE(set.add(number));
  EXPECT_EQ(set.size(), 10'000);
  EXPECT_EQ(set.encode().size(), 3U);
}

TEST(ClipSetTest, NeighboursJoinAndPart) {
  ClipSet set = set_of({1, 3});
  EXPECT_TRUE(set.add(2));
  EXPECT_FALSE(set.add(2));
  EXPECT_THAT(set.numbers(), ElementsAre(1, 2, 3));
  EXPECT_EQ(set.encode(), std::string("\0\2", 2));
  EXPECT_TRUE(set.remove(2));
  EXPECT_FALSE(set.remove(2));
  EXPECT_THAT(set.numbers(), ElementsAre(1, 3));
  EXPECT_TRUE(set.remove(1));
  EXPECT_TRUE(set.remove(3));
  EXPECT_TRUE(set.empty());
  EXPECT_EQ(set.encode(), "");
}

TEST(ClipSetTest, TwoSetsBecomeOne) {
  ClipSet set = set_of({1, 2, 7, 9});
  set.add_all(set_of({3, 8, 20}));
  EXPECT_THAT(set.numbers(), ElementsAre(1, 2, 3, 7, 8, 9, 20));
  EXPECT_EQ(set.last(), 20);
}

TEST(ClipSetTest, TheLargestNumberIsKept) {
  const ClipSet set = set_of({1, kClipNumberMax});
  const auto again = ClipSet::decode(set.encode());
  ASSERT_TRUE(again.ok());
  EXPECT_THAT(again->numbers(), ElementsAre(1, kClipNumberMax));
}

TEST(ClipSetTest, OtherBytesAreRefused) {
  const std::string no_sets[] = {
      std::string("\0", 1),                    // a gap without a length
      std::string("\x80", 1),                  // a number without an end
      std::string("\x80\0\0", 3),              // a number in more bytes than it needs
      std::string("\xff\xff\xff\xff\1\0", 6),  // too many bytes
      std::string("\xff\xff\xff\x7f\0", 5),    // beyond the largest
  };
  for (const std::string& bytes : no_sets) {
    const auto set = ClipSet::decode(bytes);
    ASSERT_FALSE(set.ok());
    EXPECT_EQ(set.error().kind(), Errc::Invalid);
  }
}

TEST(ClipSetTest, IsASetWhateverIsDoneToIt) {
  std::mt19937 random(7);
  ClipSet set;
  std::set<std::int64_t> model;
  for (int turn = 0; turn < 5000; ++turn) {
    const std::int64_t number = 1 + static_cast<std::int64_t>(random() % 60);
    if (random() % 2 == 0) {
      EXPECT_EQ(set.add(number), model.insert(number).second);
    } else {
      EXPECT_EQ(set.remove(number), model.erase(number) == 1);
    }
    EXPECT_EQ(set.contains(number), model.contains(number));
  }
  EXPECT_THAT(set.numbers(), ElementsAreArray(model));
  const auto again = ClipSet::decode(set.encode());
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(*again == set);
  EXPECT_EQ(set.size(), static_cast<std::int64_t>(model.size()));
}

}  // namespace
}  // namespace quern::research
