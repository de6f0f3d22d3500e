#include "base/crash.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>

#include "support/temp_folder.h"

namespace quern {
namespace {

using ::testing::ExitedWithCode;
using ::testing::HasSubstr;
using ::testing::KilledBySignal;

// Three writes, two of them around visits to a point; then a peaceful end.
void work() {
  crash_point("test.begin");
  { const DurableWrite write("fsync", "a"); }
  crash_point("test.between");
  {
    const DurableWrite write("rename", "a b");
    crash_point("test.inside");
  }
  crash_point("test.between");
  { const DurableWrite write("commit"); }
  std::fputs("finished\n", stderr);
}

// In a child of its own, since arming is for a process's life.
[[noreturn]] void armed(const char* order, const std::string& log = {}) {
  ::setenv(kCrashVariable, order, 1);
  if (!log.empty()) ::setenv(kCrashLogVariable, log.c_str(), 1);
  CHECK_OK(arm_crash_from_environment());
  work();
  std::_Exit(0);
}

std::string text_of(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(CrashDeathTest, DiesOfSigkillAtItsWrite) {
  for (const char* order : {"write:1:before", "write:1:after", "write:2:before", "write:3:after"})
    EXPECT_EXIT(armed(order), KilledBySignal(SIGKILL), "") << order;
}

TEST(CrashDeathTest, DiesAtTheNthVisitOfItsPoint) {
  for (const char* order : {"point:test.begin", "point:test.between:1", "point:test.between:2"})
    EXPECT_EXIT(armed(order), KilledBySignal(SIGKILL), "") << order;
}

TEST(CrashDeathTest, LivesWhereItsInstantNeverComes) {
  for (const char* order :
       {"write:4:before", "write:4:after", "point:test.between:3", "point:other"})
    EXPECT_EXIT(armed(order), ExitedWithCode(0), "finished") << order;
}

TEST(CrashDeathTest, LogNumbersTheWritesUpToTheDeath) {
  const support::TempFolder folder;
  const std::string log = folder / "log";
  EXPECT_EXIT(armed("write:9:before", log), ExitedWithCode(0), "");
  EXPECT_EQ(text_of(log),
            "point test.begin\nwrite 1 fsync a\npoint test.between\nwrite 2 rename a b\n"
            "point test.inside\npoint test.between\nwrite 3 commit \n");
  std::filesystem::remove(log);
  EXPECT_EXIT(armed("write:2:after", log), KilledBySignal(SIGKILL), "");
  EXPECT_EQ(text_of(log),
            "point test.begin\nwrite 1 fsync a\npoint test.between\nwrite 2 rename a b\n"
            "point test.inside\n");
}

TEST(CrashTest, StopWaitsInsteadOfDying) {
  const pid_t child = ::fork();
  if (child == 0) armed("write:2:before:stop");
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  ::kill(child, SIGCONT);
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(CrashTest, UnarmedPointsAndWritesDoNothing) {
  EXPECT_FALSE(internal::crash_armed.load());
  crash_point("test.begin");
  const DurableWrite write("fsync");
}

TEST(CrashDeathTest, OrdersOutsideTheGrammarAreInvalid) {
  const auto refuses = [](const char* order) {
    ::setenv(kCrashVariable, order, 1);
    const Result<> result = arm_crash_from_environment();
    const bool refused = !result.ok() && result.error().kind() == Errc::Invalid;
    std::_Exit(refused ? 0 : 1);
  };
  for (const char* order :
       {"", "write", "write:1", "write:0:before", "write:-1:after", "write:x:after",
        "write:1:during", "write:1:before:later", "point", "point:", "point:a:0", "point:a:b",
        "point:a:1:2", "stop", "99999999999:before"})
    EXPECT_EXIT(refuses(order), ExitedWithCode(0), "") << order;
}

TEST(CrashDeathTest, LogThatCannotBeOpenedIsInvalid) {
  EXPECT_DEATH(armed("point:x", "/no/such/folder/log"), "cannot open /no/such/folder/log");
}

}  // namespace
}  // namespace quern
