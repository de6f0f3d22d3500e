#include "io/part_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "io/fault.h"
#include "support/temp_folder.h"

namespace quern::io {
namespace {

using support::TempFolder;
using ::testing::ElementsAre;

std::string contents(const Path& path) {
  return *read_file(path, 1 << 20);
}

std::vector<FileCall> calls_of(const FileRecorder& recorder) {
  std::vector<FileCall> calls;
  for (const FileOperation& operation : recorder.operations()) calls.push_back(operation.call);
  return calls;
}

TEST(PartFileTest, GrowsOverSeveralOpeningsAndMayBeWrittenAgain) {
  const TempFolder folder;
  {
    PartFile part = *PartFile::open(folder / "a");
    ASSERT_TRUE(part.write_at(0, "hello torn").ok());
    ASSERT_TRUE(part.sync().ok());
  }
  PartFile part = *PartFile::open(folder / "a");
  EXPECT_EQ(part.size_bytes(), 10);
  ASSERT_TRUE(part.write_at(6, "world and more").ok());
  ASSERT_TRUE(part.sync().ok());
  EXPECT_EQ(contents(folder / "a"), "hello world and more");
}

TEST(PartFileTest, IsCutWhereItIsTold) {
  const TempFolder folder;
  PartFile part = *PartFile::open(folder / "a");
  ASSERT_TRUE(part.write_at(0, "hello torn").ok());
  {
    const ScopedFault fault({.call = FileCall::Truncate, .error_number = EIO});
    EXPECT_FALSE(part.cut(5).ok());
  }
  ASSERT_TRUE(part.cut(5).ok());
  ASSERT_TRUE(part.sync().ok());
  EXPECT_EQ(contents(folder / "a"), "hello");
}

TEST(PartFileTest, HasOneWriterAtATime) {
  const TempFolder folder;
  {
    const PartFile first = *PartFile::open(folder / "a");
    const Result<PartFile> second = PartFile::open(folder / "a");
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().kind(), Errc::Busy);
  }
  EXPECT_TRUE(PartFile::open(folder / "a").ok());
}

TEST(PartFileTest, ItsNameIsSyncedBeforeItsFirstByteAndNotAgain) {
  const TempFolder folder;
  {
    const FileRecorder recorder;
    PartFile part = *PartFile::open(folder / "a");
    EXPECT_THAT(calls_of(recorder),
                ElementsAre(FileCall::Open, FileCall::Open, FileCall::SyncFolder));
  }
  {
    // Whoever made it may have died before the sync.
    const FileRecorder recorder;
    PartFile part = *PartFile::open(folder / "a");
    EXPECT_THAT(calls_of(recorder),
                ElementsAre(FileCall::Open, FileCall::Open, FileCall::SyncFolder));
    ASSERT_TRUE(part.write_at(0, "x").ok());
  }
  const FileRecorder recorder;
  PartFile part = *PartFile::open(folder / "a");
  ASSERT_TRUE(part.sync().ok());
  EXPECT_THAT(calls_of(recorder), ElementsAre(FileCall::Open, FileCall::Fsync));
}

TEST(PartFileTest, ShortWritesAreContinuedAndAFullDiskIsToldAsSuch) {
  const TempFolder folder;
  PartFile part = *PartFile::open(folder / "a");
  {
    const ScopedFault fault({.call = FileCall::Write, .bytes_max = 3});
    ASSERT_TRUE(part.write_at(0, "hello").ok());
    EXPECT_TRUE(fault.fired());
  }
  EXPECT_EQ(contents(folder / "a"), "hello");
  const ScopedFault fault({.call = FileCall::Write, .error_number = ENOSPC});
  const Result<> written = part.write_at(5, " world");
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().kind(), Errc::Full);
}

TEST(PartFileTest, AFailedSyncIsTold) {
  const TempFolder folder;
  PartFile part = *PartFile::open(folder / "a");
  ASSERT_TRUE(part.write_at(0, "hello").ok());
  const ScopedFault fault({.call = FileCall::Fsync, .error_number = EIO});
  EXPECT_FALSE(part.sync().ok());
}

TEST(PartFileTest, NeedsItsFolder) {
  const TempFolder folder;
  const Result<PartFile> part = PartFile::open(folder / "missing" / "a");
  ASSERT_FALSE(part.ok());
  EXPECT_EQ(part.error().kind(), Errc::Missing);
}

}  // namespace
}  // namespace quern::io
