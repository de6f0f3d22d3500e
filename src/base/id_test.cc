#include "base/id.h"

#include <gtest/gtest.h>

#include <type_traits>
#include <unordered_set>

namespace quern {
namespace {

using FileId = Id<struct FileTag>;
using JobId = Id<struct JobTag>;

static_assert(!std::is_convertible_v<FileId, JobId>);
static_assert(!std::is_convertible_v<std::int64_t, FileId>);
static_assert(!std::is_convertible_v<FileId, std::int64_t>);
static_assert(!std::equality_comparable_with<FileId, JobId>);

TEST(IdTest, ComparesHashesAndPrintsByValue) {
  EXPECT_EQ(FileId{3}, FileId{3});
  EXPECT_LT(FileId{3}, FileId{4});
  EXPECT_EQ(FileId{}.value, 0);
  const std::unordered_set<FileId> ids = {{1}, {2}, {1}};
  EXPECT_EQ(ids.size(), 2U);
  EXPECT_EQ(fmt::format("{} {:>4}", FileId{-7}, FileId{12}), "-7   12");
}

}  // namespace
}  // namespace quern
