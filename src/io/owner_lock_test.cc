#include "io/owner_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "io/fault.h"
#include "io/process.h"
#include "support/fake_clock.h"
#include "support/temp_folder.h"

namespace quern::io {
namespace {

using support::FakeClock;
using support::TempFolder;

TEST(OwnerLockTest, SecondLockerGetsNothingUntilTheFirstLetsGo) {
  const TempFolder folder;
  std::optional<OwnerLock> first = *OwnerLock::try_acquire(folder.path());
  ASSERT_TRUE(first.has_value());
  EXPECT_FALSE(OwnerLock::try_acquire(folder.path())->has_value());
  first.reset();
  EXPECT_TRUE(OwnerLock::try_acquire(folder.path())->has_value());
}

TEST(OwnerLockTest, SurvivesSomebodyReadingTheFile) {
  const TempFolder folder;
  const std::optional<OwnerLock> lock = *OwnerLock::try_acquire(folder.path());
  // A POSIX lock would be lost with the first close of any descriptor of the file.
  EXPECT_TRUE(read_file(folder / kOwnerLockName, 4096).ok());
  EXPECT_TRUE(read_owner(folder.path())->has_value());
  EXPECT_FALSE(OwnerLock::try_acquire(folder.path())->has_value());
}

TEST(OwnerLockTest, SaysWhoHoldsIt) {
  const TempFolder folder;
  EXPECT_FALSE(read_owner(folder.path())->has_value());
  const FakeClock clock;
  std::optional<OwnerLock> lock = *OwnerLock::try_acquire(folder.path(), clock);
  const std::optional<Owner> owner = *read_owner(folder.path());
  ASSERT_TRUE(owner.has_value());
  EXPECT_EQ(owner->pid, ::getpid());
  EXPECT_EQ(owner->since, "2020-09-13T12:26:40Z");
  lock.reset();
  EXPECT_FALSE(read_owner(folder.path())->has_value());
}

TEST(OwnerLockTest, OwnerThatHasNotWrittenItsNameYetIsAnOwner) {
  const TempFolder folder;
  const std::optional<OwnerLock> lock = *OwnerLock::try_acquire(folder.path());
  std::ofstream(folder / kOwnerLockName, std::ios::trunc).close();
  const std::optional<Owner> owner = *read_owner(folder.path());
  ASSERT_TRUE(owner.has_value());
  EXPECT_EQ(owner->pid, 0);
  EXPECT_EQ(owner->since, "");
}

TEST(OwnerLockTest, FullDiskDoesNotKeepAnOwnerOut) {
  const TempFolder folder;
  const ScopedFault fault({.call = FileCall::Write, .error_number = ENOSPC});
  const std::optional<OwnerLock> lock = *OwnerLock::try_acquire(folder.path());
  EXPECT_TRUE(lock.has_value());
  EXPECT_TRUE(fault.fired());
  EXPECT_EQ((*read_owner(folder.path()))->pid, 0);
}

TEST(OwnerLockTest, LockOfAKilledProcessIsFreeAtOnce) {
  const TempFolder folder;
  Pipe ready = *make_pipe();
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = OwnerLock::try_acquire(folder.path());
    const char held = lock.ok() && lock->has_value() ? 'y' : 'n';
    if (::write(ready.write_end.get(), &held, 1) == 1) ::pause();
    ::_exit(1);
  }
  char held = '?';
  ASSERT_EQ(::read(ready.read_end.get(), &held, 1), 1);
  EXPECT_EQ(held, 'y');
  EXPECT_EQ((*read_owner(folder.path()))->pid, child);
  EXPECT_FALSE(OwnerLock::try_acquire(folder.path())->has_value());
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(OwnerLock::try_acquire(folder.path())->has_value());
}

TEST(OwnerLockTest, ChildProgramDoesNotKeepIt) {
  const TempFolder folder;
  std::optional<OwnerLock> lock = *OwnerLock::try_acquire(folder.path());
  ASSERT_TRUE(lock.has_value());
  ProcessOptions options;
  options.argv = {"sleep", "1000"};
  Process child = *Process::start(options);
  lock.reset();
  EXPECT_TRUE(OwnerLock::try_acquire(folder.path())->has_value());
  EXPECT_TRUE(child.kill(SIGKILL).ok());
}

TEST(OwnerLockTest, MissingFolderIsMissing) {
  const TempFolder folder;
  EXPECT_EQ(OwnerLock::try_acquire(folder / "none").error().kind(), Errc::Missing);
  EXPECT_FALSE(read_owner(folder / "none")->has_value());
}

}  // namespace
}  // namespace quern::io
