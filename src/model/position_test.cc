#include "model/position.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace quern::model {
namespace {

std::string position_of(const std::vector<std::int64_t>& path) {
  std::string position;
  for (const std::int64_t number : path) append_position(position, number);
  return position;
}

// Numbers of every length, the small ones more often.
std::int64_t random_number(std::mt19937_64& random) {
  return static_cast<std::int64_t>(random() >> (1 + random() % 63));
}

std::vector<std::int64_t> random_path(std::mt19937_64& random) {
  std::vector<std::int64_t> path(random() % 5);
  for (std::int64_t& number : path) number = random_number(random) % (random() % 2 == 0 ? 3 : 1000);
  if (!path.empty() && random() % 8 == 0) path.back() = random_number(random);
  return path;
}

TEST(PositionTest, IsWrittenAsSaid) {
  EXPECT_EQ(position_of({0}), "a0");
  EXPECT_EQ(position_of({15}), "af");
  EXPECT_EQ(position_of({16}), "b10");
  EXPECT_EQ(position_of({1'000'000}), "ef4240");
  EXPECT_EQ(position_of({std::numeric_limits<std::int64_t>::max()}), "p7fffffffffffffff");
  EXPECT_EQ(child_position("a0", 17), "a0b11");
  EXPECT_EQ(child_position("", 1), "a1");
}

TEST(PositionTest, SortsLikeTheTree) {
  std::mt19937_64 random(3);  // NOLINT: the same pairs every time
  for (int i = 0; i < 200'000; ++i) {
    const std::vector<std::int64_t> a = random_path(random);
    std::vector<std::int64_t> b = random_path(random);
    if (random() % 2 == 0) {  // relatives: a common beginning
      b.insert(b.begin(), a.begin(),
               a.begin() + static_cast<std::ptrdiff_t>(random() % (a.size() + 1)));
    }
    // Comparing the paths number by number, a parent before its children, is the order of the tree.
    ASSERT_EQ(position_of(a) <=> position_of(b), a <=> b);
  }
}

TEST(PositionTest, NoNumberIsTheBeginningOfAnother) {
  std::mt19937_64 random(5);  // NOLINT: the same pairs every time
  for (int i = 0; i < 100'000; ++i) {
    const std::int64_t a = random_number(random);
    const std::int64_t b = random_number(random);
    if (a != b) ASSERT_FALSE(position_of({a}).starts_with(position_of({b}))) << a << ", " << b;
  }
}

TEST(PositionTest, TheNumbersComeBack) {
  std::mt19937_64 random(9);  // NOLINT: the same paths every time
  for (int i = 0; i < 20'000; ++i) {
    const std::vector<std::int64_t> path = random_path(random);
    ASSERT_EQ(parse_position(position_of(path)), path);
  }
  for (const char* text :
       {"a", "0", "b01", "b1", "aF", "ag", "a00", "q0", "`", "pffffffffffffffff", "a0 ", "a-"}) {
    EXPECT_EQ(parse_position(text), std::nullopt) << text;
  }
}

TEST(PositionTest, TheEndIsAboveAllDescendantsAndBelowTheNextSibling) {
  std::mt19937_64 random(13);  // NOLINT: the same paths every time
  for (int i = 0; i < 50'000; ++i) {
    std::vector<std::int64_t> path = random_path(random);
    path.push_back(random_number(random) / 2);
    std::vector<std::int64_t> below = path;
    below.push_back(random_number(random));
    std::vector<std::int64_t> sibling = path;
    ++sibling.back();
    const std::string end = position_end(position_of(path));
    ASSERT_LT(position_of(path), end);
    ASSERT_LT(position_of(below), end);
    ASSERT_LT(end, position_of(sibling));
  }
}

}  // namespace
}  // namespace quern::model
