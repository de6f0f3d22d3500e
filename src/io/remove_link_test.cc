#include <gmock/gmock.h>

#include <cerrno>
#include <fstream>

#include "io/fault.h"
#include "io/file.h"
#include "support/file_order.h"
#include "support/temp_folder.h"

namespace quern::io {
namespace {

using support::order_violations;
using support::TempFolder;
using testing::IsEmpty;

std::string contents(const Path& path) {
  return read_file(path, 1000).value_or("(missing)");
}

TEST(RemoveNamesTest, RemovesSeveralWithOneSync) {
  const TempFolder folder;
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(write_file_durably(folder / name, "x").ok());
  const FileRecorder recorder;
  const std::vector<std::string> names{"a", "gone already", "c"};
  ASSERT_TRUE(remove_names_durably(folder.path(), names).ok());
  EXPECT_THAT(order_violations(recorder.operations()), IsEmpty());
  int syncs = 0;
  for (const FileOperation& operation : recorder.operations()) {
    syncs += operation.call == FileCall::SyncFolder;
  }
  EXPECT_EQ(syncs, 1);
  EXPECT_FALSE(*path_exists(folder / "a"));
  EXPECT_TRUE(*path_exists(folder / "b"));
  EXPECT_FALSE(*path_exists(folder / "c"));
  EXPECT_TRUE(remove_names_durably(folder / "no folder", names).ok());
}

TEST(RemoveNamesTest, AFailureIsReported) {
  const TempFolder folder;
  ASSERT_TRUE(write_file_durably(folder / "a", "x").ok());
  const ScopedFault fault({.call = FileCall::Unlink, .error_number = EROFS});
  const std::vector<std::string> names{"a"};
  EXPECT_EQ(remove_names_durably(folder.path(), names).error().kind(), Errc::Denied);
}

TEST(CommitAllTest, SyncsEachFileBeforeItsNameAndEachFolderOnce) {
  const TempFolder folder;
  ASSERT_TRUE(make_folders_durably(folder / "a").ok());
  ASSERT_TRUE(make_folders_durably(folder / "b").ok());
  const FileRecorder recorder;
  std::vector<DurableFile> files;
  for (const char* name : {"a/1", "b/1", "a/2", "b/2", "a/3"}) {
    const Path path = folder / name;
    files.push_back(*DurableFile::create(path.parent_path(), path.filename().native()));
    ASSERT_TRUE(files.back().write(name).ok());
  }
  std::vector<DurableFile*> all;
  for (DurableFile& file : files) all.push_back(&file);
  for (const Result<>& result : commit_all(all)) EXPECT_TRUE(result.ok());
  EXPECT_THAT(order_violations(recorder.operations()), IsEmpty());
  int syncs = 0;
  for (const FileOperation& operation : recorder.operations()) {
    syncs += operation.call == FileCall::SyncFolder;
  }
  EXPECT_EQ(syncs, 2);
  EXPECT_EQ(contents(folder / "a/3"), "a/3");
  EXPECT_TRUE(commit_all({}).empty());
}

TEST(RemoveFolderTest, RemovesOnlyWhatIsEmpty) {
  const TempFolder folder;
  ASSERT_TRUE(make_folders_durably(folder / "a/b").ok());
  EXPECT_FALSE(*remove_folder_durably(folder / "a"));
  const FileRecorder recorder;
  EXPECT_TRUE(*remove_folder_durably(folder / "a/b"));
  EXPECT_THAT(order_violations(recorder.operations()), IsEmpty());
  EXPECT_TRUE(*remove_folder_durably(folder / "a"));
  EXPECT_TRUE(*remove_folder_durably(folder / "a")) << "gone already";
  EXPECT_TRUE(*remove_folder_durably(folder / "none/a"));
}

TEST(LinkTest, GivesAFileASecondNameAfterSyncingIt) {
  const TempFolder folder;
  std::ofstream(folder / "a") << "bytes";
  const FileRecorder recorder;
  ASSERT_TRUE(*try_link_durably(folder / "a", folder / "b"));
  EXPECT_THAT(order_violations(recorder.operations()), IsEmpty());
  EXPECT_EQ(recorder.operations()[2].call, FileCall::Fsync);
  ASSERT_TRUE(remove_durably(folder / "a", IfMissing::Error).ok());
  EXPECT_EQ(contents(folder / "b"), "bytes");
}

TEST(LinkTest, SaysWhereItCannotBe) {
  const TempFolder folder;
  std::ofstream(folder / "a") << "bytes";
  for (const int error_number : {EXDEV, EPERM, EOPNOTSUPP, EMLINK}) {
    const ScopedFault fault({.call = FileCall::Link, .error_number = error_number});
    EXPECT_FALSE(*try_link_durably(folder / "a", folder / "b")) << error_number;
  }
  const ScopedFault fault({.call = FileCall::Link, .error_number = ENOSPC});
  EXPECT_EQ(try_link_durably(folder / "a", folder / "b").error().kind(), Errc::Full);
}

TEST(LinkTest, ANameThatIsTakenIsAConflict) {
  const TempFolder folder;
  std::ofstream(folder / "a") << "bytes";
  std::ofstream(folder / "b") << "other";
  EXPECT_EQ(try_link_durably(folder / "a", folder / "b").error().kind(), Errc::Conflict);
  EXPECT_EQ(contents(folder / "b"), "other");
  EXPECT_EQ(try_link_durably(folder / "none", folder / "c").error().kind(), Errc::Missing);
}

}  // namespace
}  // namespace quern::io
