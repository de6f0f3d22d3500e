#include "fileset/bag_path.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/utf8.h"

namespace quern::fileset {
namespace {

TEST(BagPathTest, KeepsWhatAFileSystemCanBear) {
  EXPECT_EQ(bag_path("a/b c/50%.csv"), "a/b c/50%.csv");
  EXPECT_EQ(bag_path("Grüße/日本.txt"), "Grüße/日本.txt");
  EXPECT_EQ(bag_path("line\nend"), "line\nend");
  EXPECT_EQ(bag_path("back\\slash"), "back\\slash");
}

TEST(BagPathTest, NeverLeavesItsFolder) {
  EXPECT_EQ(bag_path("/etc/passwd"), "etc/passwd");
  EXPECT_EQ(bag_path("../../a"), "%2E%2E/%2E%2E/a");
  EXPECT_EQ(bag_path("a//./b/"), "a/b");
  EXPECT_EQ(bag_path(""), "unnamed");
  EXPECT_EQ(bag_path("./"), "unnamed");
}

TEST(BagPathTest, EncodesWhatIsNoText) {
  EXPECT_EQ(bag_path(std::string_view("a\0b", 3)), "a%00b");
  EXPECT_EQ(bag_path("caf\xe9.txt"), "caf%E9.txt");
  EXPECT_EQ(bag_path(".quern-tmp-1"), "%2Equern-tmp-1");
}

TEST(BagPathTest, CutsWhatIsTooLongAndKeepsItsEnding) {
  const std::string one = bag_path(fmt::format("{:a>300}.csv", 1));
  const std::string two = bag_path(fmt::format("{:a>300}.csv", 2));
  EXPECT_LE(one.size(), kBagNameBytesMax);
  EXPECT_TRUE(one.ends_with(".csv"));
  EXPECT_NE(one, two);
  std::string umlauts;
  for (int i = 0; i < 200; ++i) umlauts += "ü";
  EXPECT_TRUE(is_valid_utf8(bag_path(umlauts)));
  EXPECT_LE(bag_path(umlauts).size(), kBagNameBytesMax);

  std::string deep;
  for (std::size_t i = 0; i <= kBagDepthMax; ++i) deep += "d/";
  EXPECT_TRUE(bag_path(deep + "x.txt").starts_with("long/"));
  EXPECT_TRUE(bag_path(deep + "x.txt").ends_with(".txt"));
  std::string wide;
  for (int i = 0; i < 20; ++i) wide += fmt::format("{:w>200}/", i);
  EXPECT_LE(bag_path(wide).size(), kBagPathBytesMax);
}

TEST(BagPathTest, ManifestsEncodeThreeCharacters) {
  EXPECT_EQ(manifest_path("a b/50%.csv"), "a b/50%25.csv");
  EXPECT_EQ(manifest_path("a\r\nb"), "a%0D%0Ab");
  EXPECT_EQ(manifest_path("ü"), "ü");
}

TEST(BagPathTest, CratesNameFilesAsAddressesDo) {
  EXPECT_EQ(crate_path("a b/50%.csv"), "a%20b/50%25.csv");
  EXPECT_EQ(crate_path("ü#?"), "%C3%BC%23%3F");
}

TEST(BagPathsTest, NoTwoFilesHaveOneName) {
  BagPaths paths;
  EXPECT_EQ(*paths.take("files", "a.csv"), "files/a.csv");
  EXPECT_EQ(*paths.take("files", "a.csv"), "files/a~2.csv");
  EXPECT_EQ(*paths.take("files", "./a.csv"), "files/a~3.csv");
  EXPECT_EQ(*paths.take("files", "a~4.csv"), "files/a~4.csv");
  EXPECT_EQ(*paths.take("files", "a.csv"), "files/a~5.csv");
  EXPECT_EQ(*paths.take("other", "a.csv"), "other/a.csv");
}

TEST(BagPathsTest, NoFileIsCalledLikeAFolder) {
  BagPaths paths;
  EXPECT_EQ(*paths.take("", "a"), "a");
  EXPECT_EQ(*paths.take("", "a/b"), "a~2/b");
  EXPECT_EQ(*paths.take("", "a/c"), "a~2/c");
  EXPECT_EQ(*paths.take("", "d/e"), "d/e");
  EXPECT_EQ(*paths.take("", "d"), "d~2");
}

}  // namespace
}  // namespace quern::fileset
