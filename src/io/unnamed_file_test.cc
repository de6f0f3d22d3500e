#include "io/unnamed_file.h"

#include <gtest/gtest.h>

#include "support/temp_folder.h"

namespace quern::io {
namespace {

TEST(UnnamedFileTest, BytesAreReadBackAndNoNameIsSeen) {
  const support::TempFolder folder;
  const auto file = make_unnamed_file(folder.path());
  ASSERT_TRUE(file.ok()) << file.error().message();
  ASSERT_TRUE(write_unnamed(*file, 0, "hello ").ok());
  ASSERT_TRUE(write_unnamed(*file, 6, "world").ok());
  EXPECT_TRUE(list_folder(folder.path(), 10)->empty());
  std::string bytes(20, '\0');
  EXPECT_EQ(*read_unnamed(*file, 4, bytes), 7U);
  EXPECT_EQ(bytes.substr(0, 7), "o world");
  EXPECT_EQ(*read_unnamed(*file, 11, bytes), 0U);
}

TEST(UnnamedFileTest, AFolderThatIsMissingIsAnError) {
  const support::TempFolder folder;
  EXPECT_EQ(make_unnamed_file(folder / "none").error().kind(), Errc::Missing);
}

}  // namespace
}  // namespace quern::io
