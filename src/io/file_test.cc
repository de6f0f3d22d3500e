#include "io/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "io/fault.h"
#include "support/temp_folder.h"

namespace quern::io {
namespace {

using support::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FileTest : public ::testing::Test {
 protected:
  Path make(std::string_view name, std::string_view contents) {
    std::ofstream(folder_ / name, std::ios::binary) << contents;
    return folder_ / name;
  }

  TempFolder folder_;
};

TEST_F(FileTest, ReadsUpToTheLimitAndNotAByteMore) {
  const Path path = make("a", "12345");
  EXPECT_EQ(*read_file(path, 5), "12345");
  EXPECT_EQ(*read_file(path, 5'000'000), "12345");
  EXPECT_EQ(read_file(path, 4).error().kind(), Errc::TooLarge);
  EXPECT_EQ(*read_file(make("empty", ""), 0), "");
  EXPECT_EQ(read_file(path, 0).error().kind(), Errc::TooLarge);
}

TEST_F(FileTest, ReadsFilesOfManyChunksAndFilesWithoutASize) {
  std::string big(1'000'003, 'x');
  big[999'999] = 'y';
  EXPECT_EQ(*read_file(make("big", big), 2'000'000), big);
  EXPECT_THAT(*read_file("/proc/self/status", 1 << 20), HasSubstr("RssAnon"));
}

TEST_F(FileTest, ReadErrorsHaveKindAndPath) {
  const Result<std::string> missing = read_file(folder_ / "nothing", 10);
  EXPECT_EQ(missing.error().kind(), Errc::Missing);
  EXPECT_THAT(missing.error().message(), HasSubstr((folder_ / "nothing").native()));
  EXPECT_EQ(read_file(folder_.path(), 10).error().kind(), Errc::Invalid);
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_file(folder_ / "pipe", 10).error().kind(), Errc::Invalid);
}

TEST_F(FileTest, ReaderReadsAnywhere) {
  const FileReader reader = *FileReader::open(make("a", "0123456789"));
  EXPECT_EQ(reader.size_bytes(), 10);
  std::string four(4, ' ');
  EXPECT_EQ(*reader.read_at(3, four), 4U);
  EXPECT_EQ(four, "3456");
  EXPECT_EQ(*reader.read_at(8, four), 2U);
  EXPECT_EQ(four.substr(0, 2), "89");
  EXPECT_EQ(*reader.read_at(10, four), 0U);
  EXPECT_EQ(*reader.read_at(1'000, four), 0U);
}

TEST_F(FileTest, ReaderGoesOnAfterShortReads) {
  const FileReader reader = *FileReader::open(make("a", "0123456789"));
  const ScopedFault short_reads({.call = FileCall::Read, .nth = 1, .times = 100, .bytes_max = 3});
  std::string all(10, ' ');
  EXPECT_EQ(*reader.read_at(0, all), 10U);
  EXPECT_EQ(all, "0123456789");
}

TEST_F(FileTest, DeviceThatDoesNotAnswerIsUnavailable) {
  const Path path = make("a", "1");
  const ScopedFault fault({.call = FileCall::Read, .error_number = EIO});
  EXPECT_EQ(read_file(path, 10).error().kind(), Errc::Unavailable);
}

TEST_F(FileTest, ListsSortedWithKindsAndRefusesMoreThanTheLimit) {
  make("b", "");
  make("B", "");
  ASSERT_EQ(::mkdir((folder_ / "a").c_str(), 0700), 0);
  ASSERT_EQ(::symlink("nowhere", (folder_ / ".link").c_str()), 0);
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  const std::vector<FolderEntry> entries = *list_folder(folder_.path(), 5);
  std::vector<std::string> names;
  std::vector<EntryKind> kinds;
  for (const FolderEntry& entry : entries) {
    names.push_back(entry.name);
    kinds.push_back(entry.kind);
  }
  EXPECT_THAT(names, ElementsAre(".link", "B", "a", "b", "pipe"));
  EXPECT_THAT(kinds, ElementsAre(EntryKind::Link, EntryKind::File, EntryKind::Folder,
                                 EntryKind::File, EntryKind::Other));
  EXPECT_EQ(list_folder(folder_.path(), 4).error().kind(), Errc::TooLarge);
  EXPECT_EQ(list_folder(folder_ / "none", 4).error().kind(), Errc::Missing);
  EXPECT_EQ(list_folder(folder_ / "b", 4).error().kind(), Errc::Invalid);
}

TEST_F(FileTest, FreeSpaceIsPartOfTheWhole) {
  const FreeSpace space = *free_space(folder_.path());
  EXPECT_GT(space.free_bytes, 0);
  EXPECT_LE(space.free_bytes, space.total_bytes);
  EXPECT_EQ(free_space(folder_ / "none").error().kind(), Errc::Missing);
}

TEST_F(FileTest, ExistsTellsFilesAndFolders) {
  const Path path = make("a", "");
  EXPECT_TRUE(*path_exists(path));
  EXPECT_TRUE(*path_exists(folder_.path()));
  EXPECT_FALSE(*path_exists(folder_ / "none"));
  EXPECT_FALSE(*path_exists(path / "below"));
}

}  // namespace
}  // namespace quern::io
