#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <algorithm>

#include <cerrno>
#include <fstream>

#include "io/fault.h"
#include "io/file.h"
#include "io/rename.h"
#include "support/file_order.h"
#include "support/temp_folder.h"

namespace quern::io {
namespace {

using support::order_violations;
using support::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Above the number of calls of any operation here.
constexpr int kCallsMax = 100;

std::vector<std::string> names_in(const Path& folder) {
  const std::vector<FolderEntry> entries = *list_folder(folder, 1000);
  std::vector<std::string> names;
  for (const FolderEntry& entry : entries) names.push_back(entry.name);
  return names;
}

std::vector<FileCall> calls_of(const std::vector<FileOperation>& operations) {
  std::vector<FileCall> calls;
  for (const FileOperation& operation : operations) calls.push_back(operation.call);
  return calls;
}

std::string contents(const Path& path) {
  return *read_file(path, 1 << 24);
}

TEST(DurableFileTest, WritesSyncsNamesAndSyncsTheFolderInThisOrder) {
  const TempFolder folder;
  const FileRecorder recorder;
  ASSERT_TRUE(write_file_durably(folder / "a", "hello").ok());
  const std::vector<FileOperation> operations = recorder.operations();
  EXPECT_THAT(calls_of(operations),
              ElementsAre(FileCall::Open, FileCall::Open, FileCall::Write, FileCall::Fsync,
                          FileCall::Rename, FileCall::SyncFolder));
  EXPECT_THAT(order_violations(operations), IsEmpty());
  EXPECT_EQ(operations[4].to, (folder / "a").native());
  EXPECT_EQ(contents(folder / "a"), "hello");
  EXPECT_THAT(names_in(folder.path()), ElementsAre("a"));
}

TEST(DurableFileTest, FilesAndFoldersAreForTheirOwnerOnly) {
  const TempFolder folder;
  ASSERT_TRUE(make_folders_durably(folder / "sub").ok());
  ASSERT_TRUE(write_file_durably(folder / "sub/a", "").ok());
  struct stat found;
  ASSERT_EQ(::stat((folder / "sub/a").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0077, 0U);
  ASSERT_EQ(::stat((folder / "sub").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0077, 0U);
}

TEST(DurableFileTest, NameAppearsOnlyWithCommit) {
  const TempFolder folder;
  DurableFile file = *DurableFile::create(folder.path(), "a");
  ASSERT_TRUE(file.write("one ").ok());
  ASSERT_TRUE(file.write("two").ok());
  EXPECT_EQ(file.bytes_written(), 7);
  EXPECT_FALSE(*path_exists(folder / "a"));
  ASSERT_TRUE(file.commit().ok());
  EXPECT_EQ(contents(folder / "a"), "one two");
}

TEST(DurableFileTest, WithoutCommitNothingIsLeft) {
  const TempFolder folder;
  {
    DurableFile file = *DurableFile::create(folder.path(), "a");
    ASSERT_TRUE(file.write("bytes").ok());
    const DurableFile moved = std::move(file);
    EXPECT_EQ(names_in(folder.path()).size(), 1U);
  }
  EXPECT_THAT(names_in(folder.path()), IsEmpty());
}

TEST(DurableFileTest, ShortWritesAreContinued) {
  const TempFolder folder;
  const ScopedFault fault({.call = FileCall::Write, .times = 100, .bytes_max = 3});
  ASSERT_TRUE(write_file_durably(folder / "a", "0123456789").ok());
  EXPECT_EQ(contents(folder / "a"), "0123456789");
}

TEST(DurableFileTest, CallsThatASignalInterruptsAreRepeated) {
  const TempFolder folder;
  for (const FileCall call :
       {FileCall::Open, FileCall::Write, FileCall::Fsync, FileCall::Rename, FileCall::SyncFolder}) {
    SCOPED_TRACE(to_string(call));
    const ScopedFault fault({.call = call, .times = 3, .error_number = EINTR});
    EXPECT_TRUE(write_file_durably(folder / "a", "x").ok());
    EXPECT_TRUE(fault.fired());
  }
}

TEST(DurableFileTest, FileSystemThatTakesNothingIsAnError) {
  const TempFolder folder;
  const ScopedFault fault({.call = FileCall::Write, .times = 100, .bytes_max = 0});
  EXPECT_EQ(write_file_durably(folder / "a", "x").error().kind(), Errc::Unavailable);
}

TEST(DurableFileTest, NamesThatAreNoFileNamesAreInvalid) {
  const TempFolder folder;
  const std::string zero("a\0b", 3);
  for (const std::string& name : {std::string(), std::string("."), std::string(".."),
                                  std::string("a/b"), std::string(".quern-tmp-1"), zero})
    EXPECT_EQ(DurableFile::create(folder.path(), name).error().kind(), Errc::Invalid) << name;
  EXPECT_EQ(DurableFile::create(folder / "none", "a").error().kind(), Errc::Missing);
}

// N-th failure: whichever call fails, the old contents stand and nothing else is in the folder. The
// sync of the folder is the one exception; see the death test.
TEST(DurableFileFaultTest, OldContentsStandWhicheverCallFails) {
  const TempFolder folder;
  const Path path = folder / "a";
  ASSERT_TRUE(write_file_durably(path, "old").ok());
  int calls = 0;
  for (const FileCall call : {FileCall::Open, FileCall::Write, FileCall::Fsync, FileCall::Rename}) {
    for (int nth = 1; nth < kCallsMax; ++nth) {
      SCOPED_TRACE(std::string(to_string(call)) + " " + std::to_string(nth));
      Result<> written;
      bool fired = false;
      {
        const ScopedFault fault({.call = call, .nth = nth, .error_number = ENOSPC});
        written = write_file_durably(path, "new");
        fired = fault.fired();
      }
      EXPECT_EQ(written.ok(), !fired);
      EXPECT_THAT(names_in(folder.path()), ElementsAre("a"));
      if (!fired) break;
      ++calls;
      EXPECT_EQ(written.error().kind(), Errc::Full);
      EXPECT_THAT(written.error().message(), HasSubstr(folder.path().native()));
      EXPECT_EQ(contents(path), "old");
    }
    EXPECT_EQ(contents(path), "new");
    ASSERT_TRUE(write_file_durably(path, "old").ok());
  }
  EXPECT_EQ(calls, 5);  // two opens, write, fsync, rename
}

TEST(DurableFileFaultTest, StreamedFileLeavesNothingWhicheverCallFails) {
  const TempFolder folder;
  const auto act = [&] {
    Result<DurableFile> file = DurableFile::create(folder.path(), "a");
    if (!file.ok()) return false;
    for (int i = 0; i < 3; ++i) {
      if (!file->write("some bytes").ok()) return false;
    }
    return file->commit().ok();
  };
  // All but the last call, which is the sync of the folder.
  for (int nth = 1; nth <= 7; ++nth) {
    SCOPED_TRACE(nth);
    {
      const ScopedFault fault({.nth = nth, .error_number = EIO});
      EXPECT_FALSE(act());
      EXPECT_TRUE(fault.fired());
    }
    EXPECT_THAT(names_in(folder.path()), IsEmpty());
  }
  EXPECT_TRUE(act());
  EXPECT_EQ(contents(folder / "a"), "some bytessome bytessome bytes");
}

TEST(DurableFileFaultDeathTest, FailedSyncOfTheFolderAborts) {
  const TempFolder folder;
  ASSERT_TRUE(write_file_durably(folder / "a", "old").ok());
  EXPECT_DEATH(
      {
        const ScopedFault fault({.call = FileCall::SyncFolder, .error_number = EIO});
        (void)write_file_durably(folder / "a", "new");
      },
      "sync_folder .*Input/output error");
  // Named, whole, but nobody can say whether for good.
  EXPECT_EQ(contents(folder / "a"), "new");
  EXPECT_DEATH(
      {
        const ScopedFault fault({.call = FileCall::SyncFolder, .error_number = EIO});
        (void)remove_durably(folder / "a", IfMissing::Error);
      },
      "sync_folder");
}

TEST(DurableFileFaultDeathTest, CommitAfterAFailedWriteIsOurBug) {
  const TempFolder folder;
  EXPECT_DEATH(
      {
        DurableFile file = *DurableFile::create(folder.path(), "a");
        {
          const ScopedFault fault({.call = FileCall::Write, .error_number = ENOSPC});
          (void)file.write("x");
        }
        (void)file.commit();
      },
      "state_ == State::Writing");
}

TEST(DurableFileTest, TemporaryFilesOfKilledWritersAreRemovedAndNothingElse) {
  const TempFolder folder;
  ASSERT_TRUE(write_file_durably(folder / "kept", "x").ok());
  std::ofstream(folder / ".quern-tmp-0123456789abcdef") << "half";
  std::ofstream(folder / ".other") << "not ours";
  std::filesystem::create_directory(folder / ".quern-tmp-folder");
  EXPECT_EQ(*remove_temp_files(folder.path()), 1);
  EXPECT_THAT(names_in(folder.path()), ElementsAre(".other", ".quern-tmp-folder", "kept"));
  EXPECT_EQ(*remove_temp_files(folder.path()), 0);
}

TEST(RemoveDurablyTest, RemovesAndSyncsTheFolder) {
  const TempFolder folder;
  ASSERT_TRUE(write_file_durably(folder / "a", "x").ok());
  const FileRecorder recorder;
  ASSERT_TRUE(remove_durably(folder / "a", IfMissing::Error).ok());
  EXPECT_THAT(order_violations(recorder.operations()), IsEmpty());
  EXPECT_THAT(calls_of(recorder.operations()),
              ElementsAre(FileCall::Open, FileCall::Unlink, FileCall::SyncFolder));
}

TEST(RemoveDurablyTest, MissingIsAnErrorOnlyWhereAskedAndTheFolderIsSyncedAnyway) {
  const TempFolder folder;
  EXPECT_EQ(remove_durably(folder / "a", IfMissing::Error).error().kind(), Errc::Missing);
  EXPECT_TRUE(remove_durably(folder / "none/a", IfMissing::Fine).ok());
  EXPECT_EQ(remove_durably(folder / "none/a", IfMissing::Error).error().kind(), Errc::Missing);
  const FileRecorder recorder;
  EXPECT_TRUE(remove_durably(folder / "a", IfMissing::Fine).ok());
  EXPECT_THAT(calls_of(recorder.operations()), ElementsAre(FileCall::Open, FileCall::SyncFolder));
}

TEST(RemoveDurablyTest, FileStandsWhereUnlinkFails) {
  const TempFolder folder;
  ASSERT_TRUE(write_file_durably(folder / "a", "x").ok());
  const ScopedFault fault({.call = FileCall::Unlink, .error_number = EROFS});
  EXPECT_EQ(remove_durably(folder / "a", IfMissing::Fine).error().kind(), Errc::Denied);
  EXPECT_TRUE(*path_exists(folder / "a"));
}

TEST(MakeFoldersTest, MakesAllThatAreMissingFromTheTopAndSyncsEachParent) {
  const TempFolder folder;
  const FileRecorder recorder;
  ASSERT_TRUE(make_folders_durably(folder / "a/b/c/").ok());
  EXPECT_THAT(order_violations(recorder.operations()), IsEmpty());
  std::vector<std::string> made;
  for (const FileOperation& operation : recorder.operations()) {
    if (operation.call == FileCall::MakeFolder) made.push_back(operation.path);
  }
  EXPECT_THAT(made, ElementsAre((folder / "a").native(), (folder / "a/b").native(),
                                (folder / "a/b/c").native()));
  EXPECT_TRUE(*path_exists(folder / "a/b/c"));
}

TEST(MakeFoldersTest, ExistingFolderIsFineAndItsNameIsSynced) {
  const TempFolder folder;
  ASSERT_TRUE(make_folders_durably(folder / "a").ok());
  const FileRecorder recorder;
  ASSERT_TRUE(make_folders_durably(folder / "a").ok());
  // Whoever made it may have been killed before its name was durable.
  EXPECT_THAT(calls_of(recorder.operations()),
              ElementsAre(FileCall::Open, FileCall::SyncFolder, FileCall::Open));
}

TEST(MakeFoldersTest, FileInTheWayIsInvalid) {
  const TempFolder folder;
  ASSERT_TRUE(write_file_durably(folder / "a", "x").ok());
  EXPECT_EQ(make_folders_durably(folder / "a").error().kind(), Errc::Invalid);
  EXPECT_EQ(make_folders_durably(folder / "a/b").error().kind(), Errc::Invalid);
}

TEST(MakeFoldersTest, EachFailureIsReportedAndTheNextAttemptSucceeds) {
  const TempFolder folder;
  const auto act = [&] { return make_folders_durably(folder / "a/b").ok(); };
  for (int nth = 1; nth < kCallsMax; ++nth) {
    SCOPED_TRACE(nth);
    bool fired = false;
    {
      const ScopedFault fault({.call = FileCall::MakeFolder, .nth = nth, .error_number = ENOSPC});
      EXPECT_NE(act(), nth <= 2);
      fired = fault.fired();
    }
    if (!fired) break;
    EXPECT_TRUE(act());
    std::filesystem::remove_all(folder / "a");
  }
  EXPECT_TRUE(*path_exists(folder / "a/b"));
}

TEST(RenameTest, GivesAFolderItsNameOnceAndDurably) {
  const TempFolder folder;
  ASSERT_TRUE(make_folders_durably(folder / "new.part/in").ok());
  {
    const FileRecorder recorder;
    EXPECT_TRUE(rename_durably(folder / "new.part", folder / "new").ok());
    const std::vector<FileOperation> done = recorder.operations();
    const auto renamed = std::ranges::find(done, FileCall::Rename, &FileOperation::call);
    ASSERT_NE(renamed, done.end());
    EXPECT_NE(
        std::find_if(renamed, done.end(),
                     [](const FileOperation& one) { return one.call == FileCall::SyncFolder; }),
        done.end());
  }
  EXPECT_TRUE(*path_exists(folder / "new/in"));
  ASSERT_TRUE(make_folders_durably(folder / "other").ok());
  EXPECT_EQ(rename_durably(folder / "other", folder / "new").error().kind(), Errc::Conflict);
  EXPECT_EQ(rename_durably(folder / "none", folder / "some").error().kind(), Errc::Missing);
}

TEST(SyncFolderTest, SyncsAndRefusesWhatIsNoFolder) {
  const TempFolder folder;
  EXPECT_TRUE(sync_folder(folder.path()).ok());
  EXPECT_EQ(sync_folder(folder / "none").error().kind(), Errc::Missing);
}

TEST(FaultTest, HoldsForItsCallsAndNoOthers) {
  const TempFolder folder;
  {
    const ScopedFault fault(
        {.call = FileCall::Write, .nth = 2, .times = 2, .error_number = ENOSPC});
    EXPECT_TRUE(write_file_durably(folder / "a", "1").ok());
    EXPECT_FALSE(fault.fired());
    EXPECT_FALSE(write_file_durably(folder / "a", "2").ok());
    EXPECT_FALSE(write_file_durably(folder / "a", "3").ok());
    EXPECT_TRUE(write_file_durably(folder / "a", "4").ok());
    EXPECT_TRUE(fault.fired());
  }
  EXPECT_EQ(contents(folder / "a"), "4");
  EXPECT_FALSE(internal::file_calls_are_watched());
}

}  // namespace
}  // namespace quern::io
