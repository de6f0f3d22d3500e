#include "support/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/pidfd.h"
#include "support/fake_clock.h"
#include "support/temp_folder.h"

namespace quern::support {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

ProgramOptions shell(const std::string& script) {
  ProgramOptions options;
  options.program = "/bin/sh";
  options.arguments = {"-c", script};
  return options;
}

TEST(ProgramTest, RunsToItsEndAndKeepsItsOutput) {
  const Result<Ran> ran = run_program(shell("echo out; echo err >&2; exit 3"));
  ASSERT_TRUE(ran.ok()) << ran.error().message();
  EXPECT_TRUE(ran->status.exited_with(3));
  EXPECT_EQ(ran->standard_output, "out\n");
  EXPECT_EQ(ran->standard_error, "err\n");
}

TEST(ProgramTest, WaitsForAWholeLineWithAWord) {
  const auto program =
      *Program::start(shell("printf 'first\\nready on'; printf ' port 5\\nlast'; sleep 1000"));
  EXPECT_EQ(*program->wait_for_line(Output::Standard, "ready"), "ready on port 5");
  EXPECT_EQ(program->wait_for_line(Output::Standard, "last", milliseconds(1)).error().kind(),
            Errc::Timeout);
  EXPECT_FALSE(program->has_ended());
}

TEST(ProgramTest, WaitForALineEndsWithTheProgramAndTellsItsLastWords) {
  const auto program = *Program::start(shell("echo no such folder >&2; exit 1"));
  const Result<std::string> line = program->wait_for_line(Output::Standard, "ready");
  EXPECT_EQ(line.error().kind(), Errc::Unavailable);
  EXPECT_THAT(line.error().message(), HasSubstr("no such folder"));
}

TEST(ProgramTest, OutputBeyondTheLimitIsReadAndDropped) {
  const Result<Ran> ran = run_program(shell("head -c 10000000 /dev/zero; echo end >&2"));
  ASSERT_TRUE(ran.ok());
  EXPECT_EQ(ran->standard_output.size(), kCaptureBytesMax);
  EXPECT_EQ(ran->standard_error, "end\n");
}

TEST(ProgramTest, RestartKillsTheOldOneAndStartsTheSame) {
  const auto first = *Program::start(shell("echo up; sleep 1000"));
  ASSERT_TRUE(first->wait_for_line(Output::Standard, "up").ok());
  const auto second = *first->restart();
  EXPECT_TRUE(first->wait()->killed_by(SIGKILL));
  EXPECT_TRUE(second->wait_for_line(Output::Standard, "up").ok());
}

TEST(ProgramTest, GrandchildThatHoldsTheOutputDoesNotHoldTheTest) {
  auto program = *Program::start(shell("sleep 1000 & echo $!"));
  const std::string line = *program->wait_for_line(Output::Standard, "");
  const io::Descriptor grandchild = *io::open_pidfd(std::atoi(line.c_str()));
  program.reset();
  ASSERT_TRUE(io::send_signal(grandchild, SIGKILL).ok());
}

TEST(ProgramTest, MissingProgramIsMissing) {
  EXPECT_EQ(run_program({"no_such_program", {}, {}, {}}).error().kind(), Errc::Missing);
}

TEST(ProcTest, TellsOfMemoryAndChildren) {
  EXPECT_GT(rss_anon_kb(::getpid()), 100);
  EXPECT_EQ(rss_anon_kb(0), 0);
  const auto program = *Program::start(shell("sleep 1000"));
  EXPECT_THAT(children_of(::getpid()), ::testing::Contains(program->pid()));
  EXPECT_TRUE(is_running(program->pid()));
  const pid_t pid = program->pid();
  program->kill();
  EXPECT_FALSE(is_running(pid));
}

TEST(TempFolderTest, GoesWithItsContents) {
  std::filesystem::path path;
  {
    const TempFolder folder;
    path = folder.path();
    std::filesystem::create_directories(folder / "a/b");
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(TempFolderTest, StaysWhereAskedForAfterAFailure) {
  ::setenv("QUERN_KEEP", "1", 1);
  const TempFolder parent;
  {
    const TempFolder passed(parent.path());
    TempFolder failed(parent.path());
    failed.keep_if_asked();
  }
  ::unsetenv("QUERN_KEEP");
  const auto kept = std::filesystem::directory_iterator(parent.path());
  EXPECT_EQ(std::distance(begin(kept), end(kept)), 1);
}

TEST(FakeClockTest, GoesBackOnlyOnTheWall) {
  FakeClock clock(1'000);
  clock.advance_us(500);
  EXPECT_EQ(clock.now_us(), 1'500);
  EXPECT_EQ(clock.monotonic_us(), 500);
  clock.set_now_us(10);
  clock.advance_us(-5);
  EXPECT_EQ(clock.now_us(), 5);
  EXPECT_EQ(clock.monotonic_us(), 500);
}

}  // namespace
}  // namespace quern::support
