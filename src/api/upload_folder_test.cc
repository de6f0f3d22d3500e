// What becomes of uploads when disks fail, time passes and servers start again.
#include "api/upload_folder.h"

#include <gmock/gmock.h>

#include <cerrno>

#include "io/fault.h"
#include "support/upload_fixture.h"

namespace quern::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class UploadFolderTest : public UploadsTest {};

TEST_F(UploadFolderTest, AnExpiredUploadIsGoneAndSweptAtTheNextStart) {
  const std::string address = begin(11);
  EXPECT_EQ(patch(address, 0, "hello ").status, 204);
  const Upload upload = load(address);
  clock_.advance_us(tree::kUploadKeptUs - 1);
  EXPECT_EQ(offset(address), "6");
  clock_.advance_us(2);
  EXPECT_EQ(ask("HEAD", address).status, 410);
  EXPECT_EQ(patch(address, 6, "world").status, 410);
  EXPECT_EQ(part_files().size(), 1U);
  reopen();
  recover();
  EXPECT_EQ(ask("HEAD", address).status, 404);
  EXPECT_THAT(part_files(), IsEmpty());
  EXPECT_TRUE(job_of(upload).sealed);
  EXPECT_EQ(job_of(upload).sums.roots, 0);
}

TEST_F(UploadFolderTest, AStartFinishesWhatHadAllItsBytes) {
  const std::string address = begin(40'000);
  const std::string bytes(40'000, 'y');
  const Upload upload = load(address);
  {
    // As a server leaves it that dies between the last byte and the file.
    io::PartFile part = *io::PartFile::open(part_of(address));
    ASSERT_TRUE(part.write_at(0, bytes).ok());
    ASSERT_TRUE(part.sync().ok());
    auto note = [&](store::Tx& tx) { return tree::note_bytes(tx, upload.id, 40'000); };
    ASSERT_TRUE(writer_->run({}, store::Fenced{store::Fence{upload.shard.value, 0}, note}).ok());
  }
  reopen();
  recover();
  EXPECT_TRUE(load(address).done);
  EXPECT_EQ(bytes_of(root_of(upload)), bytes);
  EXPECT_TRUE(job_of(upload).sealed);
  EXPECT_THAT(part_files(), IsEmpty());
}

TEST_F(UploadFolderTest, SoDoesTheNextLook) {
  const std::string address = begin(5);
  const Upload upload = load(address);
  {
    io::PartFile part = *io::PartFile::open(part_of(address));
    ASSERT_TRUE(part.write_at(0, "hello").ok());
    auto note = [&](store::Tx& tx) { return tree::note_bytes(tx, upload.id, 5); };
    ASSERT_TRUE(writer_->run({}, store::Fenced{store::Fence{upload.shard.value, 0}, note}).ok());
    EXPECT_EQ(offset(address), "5");
    EXPECT_FALSE(load(address).done) << "somebody else has it";
  }
  EXPECT_EQ(offset(address), "5");
  EXPECT_TRUE(load(address).done);
  EXPECT_EQ(bytes_of(root_of(upload)), "hello");
}

TEST_F(UploadFolderTest, AStartSweepsFilesThatNobodyNeedsAndNoOthers) {
  const std::string open = begin(11);
  EXPECT_EQ(patch(open, 0, "hello ").status, 204);
  const std::string done = begin(5);
  EXPECT_EQ(patch(done, 0, "hello").status, 204);
  const std::string unknown = std::string(kAll) + "/0123456789abcdef0123456789abcdef";
  for (const std::string& address : {done, unknown}) {
    ASSERT_TRUE(io::write_file_durably(part_of(address), "left").ok());
  }
  ASSERT_TRUE(io::write_file_durably(folder_ / "uploads" / "notes.txt", "mine").ok());
  EXPECT_EQ(part_files().size(), 4U);
  reopen();
  recover();
  EXPECT_THAT(part_files(), ElementsAre(part_of(open).filename().string(), "notes.txt"));
  EXPECT_EQ(patch(open, 6, "world").status, 204);
  EXPECT_EQ(bytes_of(root_of(load(open))), "hello world");
}

TEST_F(UploadFolderTest, BytesThatWereLostAreNotMadeUp) {
  const std::string address = begin(11);
  EXPECT_EQ(patch(address, 0, "hello ").status, 204);
  ASSERT_TRUE(io::remove_durably(part_of(address), io::IfMissing::Error).ok());
  const Told told = patch(address, 6, "world");
  EXPECT_EQ(told.status, 410) << told.body;
  EXPECT_FALSE(load(address).done);
}

TEST_F(UploadFolderTest, AFolderOfAnotherServerIsNotWrittenTo) {
  const std::string address = begin(11);
  EXPECT_EQ(patch(address, 0, "hello ").status, 204);
  ASSERT_TRUE(io::write_file_durably(folder_ / "uploads" / "node.id", std::string(32, 'f')).ok());
  reopen();
  const Told told = patch(address, 6, "world");
  EXPECT_EQ(told.status, 503);
  EXPECT_EQ(told.field("Retry-After"), "1");
  EXPECT_THAT(told.body, HasSubstr("another server"));
  EXPECT_EQ(offset(address), "6") << "how far it is, everybody knows";
  EXPECT_EQ(ask("DELETE", address).status, 204);
}

TEST_F(UploadFolderTest, AnyFailureOfTheDiskLeavesAnUploadThatGoesOn) {
  const std::string bytes(kUploadPieceBytes + 1000, 'z');
  int fired = 0;
  for (int nth = 1; nth < 60; ++nth) {
    const std::string address = begin(static_cast<std::int64_t>(bytes.size()));
    Told told;
    {
      const io::ScopedFault fault(
          {.call = io::FileCall::Write, .nth = nth, .error_number = ENOSPC});
      told = patch(address, 0, bytes);
      if (!fault.fired()) {
        EXPECT_EQ(told.status, 204);
        break;
      }
      ++fired;
    }
    EXPECT_EQ(told.status, 507) << told.body;
    const std::string at = offset(address);
    EXPECT_EQ(told.field("Upload-Offset"), at);
    EXPECT_EQ(patch(address, std::stoll(at), bytes.substr(std::stoull(at))).status, 204);
    EXPECT_EQ(bytes_of(root_of(load(address))), bytes);
  }
  EXPECT_GE(fired, 2);
}

TEST_F(UploadFolderTest, BytesThatCouldNotBeSyncedDoNotCount) {
  const std::string address = begin(11);
  EXPECT_EQ(patch(address, 0, "hello ").status, 204);
  {
    const io::ScopedFault fault({.call = io::FileCall::Fsync, .error_number = EIO});
    EXPECT_GE(patch(address, 6, "wor").status, 500);
    EXPECT_TRUE(fault.fired());
  }
  EXPECT_EQ(offset(address), "6");
  EXPECT_EQ(patch(address, 6, "world").status, 204);
  EXPECT_EQ(bytes_of(root_of(load(address))), "hello world");
}

TEST_F(UploadFolderTest, WhatDoesNotFitIsRefusedBeforeItComes) {
  const io::FreeSpace space = *io::free_space(folder_.path());
  const std::int64_t length = space.free_bytes + (std::int64_t{1} << 30);
  // On a disk with more room than that, the limit of a file comes first.
  const int expected = length > std::int64_t{1} << 40 ? 413 : 507;
  EXPECT_EQ(ask("POST", kAll, creation(length, {{"filename", "a"}})).status, expected);
  const std::string address = begin(5);
  parts_->free_bytes_min = space.total_bytes;
  // 2 % of the disk at most, so only a disk that is nearly full refuses here.
  const bool is_full = space.free_bytes < space.total_bytes / 50;
  EXPECT_EQ(patch(address, 0, "hello").status, is_full ? 507 : 204);
}

TEST_F(UploadFolderTest, ACanceledJobTakesNoBytes) {
  const std::string address = begin(5);
  const Upload upload = load(address);
  ASSERT_TRUE(
      writer_->run({}, [&](store::Tx& tx) { return tree::cancel_job(tx, upload.job); }).ok());
  auto end = [&](store::Tx& tx) { return tree::drop_root(tx, upload.shard, upload.file); };
  ASSERT_TRUE(writer_->run({}, store::Fenced{store::Fence{upload.shard.value, 0}, end}).ok());
  EXPECT_EQ(patch(address, 0, "hello").status, 410);
  EXPECT_EQ(ask("HEAD", address).status, 410);
  EXPECT_EQ(ask("DELETE", address).status, 204);
}

}  // namespace
}  // namespace quern::api
