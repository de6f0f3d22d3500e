#include "tree/error_groups.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace quern::tree {
namespace {

ErrorRow error(std::int64_t file, std::string kind, std::string message) {
  ErrorRow row;
  row.file = {file};
  row.place.filename = fmt::format("{}.txt", file);
  row.kind = std::move(kind);
  row.message = std::move(message);
  return row;
}

TEST(ErrorGroupsTest, TheLargestComeFirstWithAFewExamples) {
  ErrorGroups groups;
  groups.look_at({error(1, "crash", "signal 11")}, {});
  for (int i = 2; i <= 6; ++i) groups.look_at({error(i, "encrypted", "a password is needed")}, {});
  ErrorRow mended = error(7, "encrypted", "a password is needed");
  mended.superseded = true;
  groups.look_at({mended}, {});
  const std::vector<ErrorGroup> largest = groups.largest();
  ASSERT_EQ(largest.size(), 2u);
  EXPECT_EQ(largest[0].kind, "encrypted");
  EXPECT_EQ(largest[0].count, 6);
  EXPECT_EQ(largest[0].superseded, 1);
  ASSERT_EQ(largest[0].examples.size(), kGroupExamplesMax);
  EXPECT_EQ(largest[0].examples[0].second, "2.txt");
  EXPECT_EQ(largest[1].message, "signal 11");
  EXPECT_EQ(groups.counted(), 7);
}

TEST(ErrorGroupsTest, OneKindWithTwoMessagesIsTwoGroups) {
  ErrorGroups groups;
  groups.look_at({error(1, "crash", "signal 11")}, {});
  groups.look_at({error(2, "crash", "signal 6")}, {});
  EXPECT_EQ(groups.largest().size(), 2u);
}

TEST(ErrorGroupsTest, AMillionMessagesAreNoMillionGroups) {
  ErrorGroups groups;
  groups.look_at({error(1, "internal", "twice")}, {});
  for (std::size_t i = 0; i < kGroupsHeldMax + 10; ++i) {
    groups.look_at({error(100, "internal", fmt::format("{:06}", i))}, {});
  }
  groups.look_at({error(2, "internal", "twice")}, {});
  const std::vector<ErrorGroup> largest = groups.largest();
  EXPECT_EQ(largest.size(), kGroupsMax);
  EXPECT_EQ(largest[0].message, "twice");
  EXPECT_EQ(groups.counted(), static_cast<std::int64_t>(kGroupsHeldMax) + 12);
}

TEST(ErrorGroupsTest, OnlySoManyErrorsAreLookedAtWhoseverTheyAre) {
  ErrorGroups groups;
  std::vector<ErrorRow> rows(kErrorsPerRead, error(1, "crash", "signal 11"));
  rows.front().job = JobId{7};
  std::int64_t reads = 0;
  for (; groups.has_room(); ++reads) groups.look_at(rows, JobId{7});
  EXPECT_EQ(reads * static_cast<std::int64_t>(kErrorsPerRead), kGroupedErrorsMax);
  EXPECT_EQ(groups.counted(), reads) << "one of each read was of that job";
}

}  // namespace
}  // namespace quern::tree
