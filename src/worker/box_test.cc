// The box, with a step that misbehaves in every way (hostile_steps.cc).
#include "worker/box.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "io/pidfd.h"
#include "support/proc.h"
#include "support/program.h"
#include "support/temp_folder.h"
#include "worker/kept_child.h"
#include "worker/scratch_file.h"

namespace quern::worker {
namespace {

using model::ErrorKind;
using ::testing::HasSubstr;

// Inside a test, Run is a function of gtest.
using RunPointer = std::shared_ptr<Run>;

struct Outcome {
  RunEnd end;
  std::string output;
};

Limits small_limits() {
  Limits limits;
  limits.memory_bytes = 256 << 20;
  limits.output_bytes = 8 << 20;
  limits.idle_ms = 60'000;
  return limits;
}

// Reads all of a run; beyond so many bytes it only counts.
net::Task<Outcome> read_all(RunPointer run) {
  Outcome outcome;
  std::string buffer(64 * 1024, '\0');
  for (;;) {
    const std::size_t n = co_await run->read(buffer);
    if (n == 0) break;
    if (outcome.output.size() < (1 << 20)) outcome.output.append(buffer.data(), n);
  }
  outcome.end = co_await run->finish();
  co_return outcome;
}

class BoxTest : public ::testing::Test {
 protected:
  void start(const Limits& limits = small_limits(), const std::string& step = "Hostile") {
    BoxOptions options;
    options.program = support::program_path("quern_hostile_steps");
    options.step = step;
    options.limits = limits;
    options.look_ms = 20;
    options.start_ms = start_ms_;
    auto box = loop_.run_until(Box::start(loop_, options));
    ASSERT_TRUE(box.ok()) << box.error().message();
    box_ = *std::move(box);
  }

  RunPointer begin(const std::string& what, const std::string& metadata = "{}") {
    input_ = *make_memory_file("input of " + what);
    BoxTask task;
    task.json = R"({"filename":")" + what + R"(","metadata":)" + metadata + "}";
    task.inputs = {input_.get()};
    task.boundary = "BOUNDARY";
    task.job = job_;
    auto run = box_->run(task);
    CHECK_OK(run);
    return *run;
  }

  Outcome run(const std::string& what, const std::string& metadata = "{}") {
    return loop_.run_until(read_all(begin(what, metadata)));
  }

  void expect_failure(const Outcome& outcome, ErrorKind kind) {
    ASSERT_TRUE(outcome.end.failure.has_value());
    EXPECT_EQ(model::to_string(outcome.end.failure->kind), model::to_string(kind))
        << outcome.end.failure->message;
    EXPECT_TRUE(outcome.end.seen_by_box);
  }

  void expect_works() {
    const Outcome outcome = run("echo");
    EXPECT_FALSE(outcome.end.failure.has_value());
    EXPECT_THAT(outcome.output, HasSubstr("input of echo"));
  }

  net::Loop loop_;
  std::int64_t job_ = 0;
  std::int64_t start_ms_ = BoxOptions{}.start_ms;
  io::Descriptor input_;
  std::unique_ptr<Box> box_;
};

TEST_F(BoxTest, AStepGetsItsInputAndItsOutputIsRead) {
  start();
  const Outcome outcome = run("echo");
  EXPECT_FALSE(outcome.end.failure.has_value());
  EXPECT_EQ(outcome.output,
            "--BOUNDARY\r\nContent-Disposition: form-data; name=\"0.json\"\r\n\r\n"
            R"({"filename":"echo","contentType":"text/plain","languageCode":"",)"
            R"("metadata":{},"wantOcr":false,"wantSplitByPage":false})"
            "\r\n--BOUNDARY\r\nContent-Disposition: form-data; name=\"0.blob\"\r\n\r\n"
            "input of echo\r\n");
  EXPECT_GT(outcome.end.cost.peak_kib, 0);
}

TEST_F(BoxTest, AStepThatRefusesSaysSoItself) {
  start();
  const Outcome outcome = run("refuse");
  ASSERT_TRUE(outcome.end.failure.has_value());
  EXPECT_EQ(outcome.end.failure->kind, ErrorKind::Encrypted);
  EXPECT_EQ(outcome.end.failure->message, "it opens with a \"password\" only");
  EXPECT_FALSE(outcome.end.seen_by_box);
}

TEST_F(BoxTest, AChildThatCrashesIsACrashAndTheBoxGoesOn) {
  start();
  expect_failure(run("crash"), ErrorKind::Crash);
  expect_failure(run("abort"), ErrorKind::Crash);
  expect_failure(run("exit"), ErrorKind::Crash);
  expect_works();
}

TEST_F(BoxTest, AChildThatDoesNotSayHowItEndedBrokeTheRules) {
  start();
  expect_failure(run("nothing"), ErrorKind::Protocol);
  expect_works();
}

TEST_F(BoxTest, WhatWasWrittenBeforeACrashIsRead) {
  start();
  const Outcome outcome = run("half");
  expect_failure(outcome, ErrorKind::Crash);
  EXPECT_TRUE(outcome.output.ends_with("only half of wh"));
}

TEST_F(BoxTest, AChildThatHangsIsKilledForBeingIdle) {
  Limits limits = small_limits();
  limits.idle_ms = 200;
  start(limits);
  expect_failure(run("hang"), ErrorKind::Timeout);
  expect_works();
}

TEST_F(BoxTest, AChildThatComputesForEverIsKilledInTheEnd) {
  Limits limits = small_limits();
  limits.wall_ms = 300;
  start(limits);
  expect_failure(run("spin"), ErrorKind::Timeout);
  expect_works();
}

TEST_F(BoxTest, TimeInWhichNobodyReadsCountsForNothing) {
  Limits limits = small_limits();
  limits.idle_ms = 150;
  limits.wall_ms = 150;
  limits.output_bytes = UINT64_MAX;
  start(limits);
  const auto run = begin("flood");
  // Its pipe is full soon; nobody reads for longer than both limits.
  const auto wait = [](net::Loop* loop) -> net::Task<bool> {
    co_await loop->sleep_until(net::in_ms(600));
    co_return true;
  };
  loop_.run_until(wait(&loop_));
  std::string buffer(1024, '\0');
  const auto read = [](RunPointer run, std::string* into) -> net::Task<std::size_t> {
    co_return co_await run->read(*into);
  };
  EXPECT_EQ(loop_.run_until(read(run, &buffer)), buffer.size());
  run->kill({ErrorKind::Canceled, "enough"});
  expect_failure(loop_.run_until(read_all(run)), ErrorKind::Canceled);
}

TEST_F(BoxTest, AChildThatAllocatesWithoutEndIsOutOfMemory) {
  start();
  const Outcome outcome = run("allocate");
  expect_failure(outcome, ErrorKind::OutOfMemory);
  EXPECT_LT(outcome.end.cost.peak_kib, 400 << 10);
  expect_works();
}

TEST_F(BoxTest, MemoryThatNoLimitOfTheSystemCountsIsSeen) {
  start();
  expect_failure(run("share"), ErrorKind::OutOfMemory);
  expect_works();
}

TEST_F(BoxTest, AChildThatWritesWithoutEndIsTooLarge) {
  start();
  expect_failure(run("flood"), ErrorKind::TooLarge);
  expect_works();
}

TEST_F(BoxTest, WhatALibraryPrintsIsCutAndHoldsUpNothing) {
  start();
  const Outcome outcome = run("print");
  EXPECT_FALSE(outcome.end.failure.has_value());
  EXPECT_TRUE(outcome.end.note.starts_with("line 0 of a talkative library\nline 1 of"));
  EXPECT_LE(outcome.end.note.size(), kNoteBytesMax);
}

TEST_F(BoxTest, KillEndsARunWithItsReason) {
  start();
  const auto run = begin("sleep");
  run->kill({ErrorKind::Canceled, "not wanted"});
  const Outcome outcome = loop_.run_until(read_all(run));
  expect_failure(outcome, ErrorKind::Canceled);
}

TEST_F(BoxTest, AZygoteThatDiesIsTheEndOfItsRunAndOfTheBox) {
  start();
  const auto run = begin("sleep");
  const auto pidfd = io::open_pidfd(box_->zygote_pid());
  ASSERT_TRUE(pidfd.ok());
  ASSERT_TRUE(io::send_signal(*pidfd, SIGKILL).ok());
  expect_failure(loop_.run_until(read_all(run)), ErrorKind::Crash);
  EXPECT_TRUE(box_->is_gone());
  BoxTask task;
  EXPECT_EQ(box_->run(task).error().kind(), Errc::Unavailable);
}

TEST_F(BoxTest, NothingIsLeftRunningWhenABoxGoes) {
  start();
  const auto run = begin("sleep");
  const auto absorb = [](net::Loop* loop) -> net::Task<bool> {
    co_await loop->sleep_until(net::in_ms(100));
    co_return true;
  };
  loop_.run_until(absorb(&loop_));
  std::vector<io::Descriptor> pidfds;
  std::vector<pid_t> all = {box_->zygote_pid()};
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const pid_t child : support::children_of(all[i])) all.push_back(child);
    auto pidfd = io::open_pidfd(all[i]);
    ASSERT_TRUE(pidfd.ok());
    pidfds.push_back(*std::move(pidfd));
  }
  EXPECT_GE(all.size(), 2U);
  box_.reset();
  for (const io::Descriptor& pidfd : pidfds) {
    support::wait_for_end(pidfd.get(), std::chrono::milliseconds(20'000));
  }
}

TEST_F(BoxTest, AStepSeesNothingOfOurEnvironment) {
  ::setenv("QUERN_SECRET", "hidden", 1);
  start();
  const Outcome outcome = run("environment");
  ::unsetenv("QUERN_SECRET");
  EXPECT_EQ(outcome.output, "LC_ALL=C.UTF-8\nTZ=UTC\n");
}

TEST_F(BoxTest, ATaskFindsNothingOfTheOneBefore) {
  start();
  if (box_->confinement().find("\"mounts\"") == std::string::npos) return;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(run("scratch").output, "found 0 Success\nwrite ok\n");
  }
}

TEST_F(BoxTest, AKeptChildServesTheTasksOfOneJob) {
  start(small_limits(), "Counting");
  job_ = 7;
  EXPECT_EQ(run("a").output, "task 1, 1 in the folder\n");
  EXPECT_EQ(run("b").output, "task 2, 1 in the folder\n") << "only its own folder is kept";
  job_ = 8;
  EXPECT_EQ(run("c").output, "task 1, 1 in the folder\n") << "another job, another child";
  job_ = 0;
  EXPECT_EQ(run("d").output, "task 1, 1 in the folder\n");
  EXPECT_EQ(run("e").output, "task 1, 1 in the folder\n") << "of no known job: never shared";
}

TEST_F(BoxTest, AKeptChildGoesAfterSoManyTasks) {
  start(small_limits(), "Counting");
  job_ = 7;
  for (int i = 1; i <= kKeptTasksMax; ++i) {
    EXPECT_EQ(run("a").output, fmt::format("task {}, 1 in the folder\n", i));
  }
  EXPECT_EQ(run("a").output, "task 1, 1 in the folder\n");
}

TEST_F(BoxTest, AKeptChildThatDiesOrHangsIsReplaced) {
  Limits limits = small_limits();
  limits.idle_ms = 300;
  start(limits, "Counting");
  job_ = 7;
  EXPECT_EQ(run("a").output, "task 1, 1 in the folder\n");
  expect_failure(run("crash"), ErrorKind::Crash);
  EXPECT_EQ(run("b").output, "task 1, 1 in the folder\n");
  expect_failure(run("hang"), ErrorKind::Timeout);
  EXPECT_EQ(run("c").output, "task 1, 1 in the folder\n");
  expect_failure(run("allocate"), ErrorKind::OutOfMemory);
  EXPECT_EQ(run("d").output, "task 1, 1 in the folder\n");
  const Outcome refused = run("refuse");
  ASSERT_TRUE(refused.end.failure.has_value());
  EXPECT_EQ(refused.end.failure->kind, ErrorKind::Encrypted);
  EXPECT_EQ(run("e").output, "task 3, 1 in the folder\n") << "its own word is no reason to go";
}

TEST_F(BoxTest, AKeptChildThatNeverGetsReadyIsNotWaitedForForEver) {
  start_ms_ = 1'000;
  start(small_limits(), "Unready");
  expect_failure(run("a"), ErrorKind::Timeout);
}

TEST_F(BoxTest, NoEscapeSucceeds) {
  support::TempFolder folder;
  const std::string secret = folder / "secret";
  std::ofstream(secret) << "of the data folder";
  start();
  const Outcome outcome = run("escape", R"({"secret":")" + secret + R"("})");
  EXPECT_FALSE(outcome.end.failure.has_value());
  std::istringstream lines(outcome.output);
  std::string line;
  int tried = 0;
  while (std::getline(lines, line)) {
    ++tried;
    // Libraries must be readable; everything else is refused.
    EXPECT_EQ(line.ends_with(" done"), line.starts_with("library")) << line;
  }
  EXPECT_EQ(tried, 21);
  EXPECT_THAT(outcome.output, HasSubstr("clone3 ENOSYS"));
  expect_works();
}

}  // namespace
}  // namespace quern::worker
