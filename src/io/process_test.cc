#include "io/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/crash.h"
#include "io/pidfd.h"
#include "support/temp_folder.h"

namespace quern::io {
namespace {

using std::chrono::milliseconds;
using support::TempFolder;
using ::testing::HasSubstr;

constexpr milliseconds kPatience{60'000};

ProcessOptions shell(const std::string& script) {
  ProcessOptions options;
  options.argv = {"/bin/sh", "-c", script};
  return options;
}

std::string read_all(const Descriptor& from) {
  std::string all;
  char buffer[4096];
  while (true) {
    const ssize_t got = ::read(from.get(), buffer, sizeof buffer);
    if (got <= 0) return all;
    all.append(buffer, static_cast<std::size_t>(got));
  }
}

std::string output_of(ProcessOptions options) {
  options.out = Stream::pipe();
  Result<Process> process = Process::start(options);
  CHECK_OK(process);
  std::string output = read_all(process->output());
  CHECK_OK(process->wait(kPatience));
  return output;
}

bool ends_within_patience(const Descriptor& pidfd) {
  pollfd wanted{pidfd.get(), POLLIN, 0};
  return ::poll(&wanted, 1, static_cast<int>(kPatience.count())) == 1;
}

TEST(ProcessTest, TellsHowTheChildEnded) {
  Process exits = *Process::start(shell("exit 7"));
  EXPECT_EQ(*exits.wait(kPatience), (ExitStatus{7, 0}));
  EXPECT_EQ(exits.wait(kPatience)->text(), "exit 7");
  Process dies = *Process::start(shell("kill -SEGV $$"));
  EXPECT_TRUE(dies.wait(kPatience)->killed_by(SIGSEGV));
  EXPECT_FALSE(dies.wait(kPatience)->exited_with(0));
  EXPECT_EQ(dies.wait(kPatience)->text(), "signal 11 (Segmentation fault)");
}

TEST(ProcessTest, WaitGivesUpAndCanBeRepeated) {
  ProcessOptions options;
  options.argv = {"sleep", "1000"};
  Process child = *Process::start(options);
  EXPECT_EQ(child.wait(milliseconds(0)).error().kind(), Errc::Timeout);
  EXPECT_EQ(child.wait(milliseconds(1)).error().kind(), Errc::Timeout);
  ASSERT_TRUE(child.kill(SIGTERM).ok());
  EXPECT_TRUE(child.wait(kPatience)->killed_by(SIGTERM));
  EXPECT_TRUE(child.kill(SIGTERM).ok()) << "it has ended already";
}

TEST(ProcessTest, StreamsLeadWhereTold) {
  const TempFolder folder;
  ProcessOptions options = shell("cat; echo err >&2");
  options.in = Stream::pipe();
  options.out = Stream::pipe();
  options.err = Stream::at(folder / "err");
  Process child = *Process::start(options);
  ASSERT_EQ(::write(child.input().get(), "hello", 5), 5);
  child.input().close();
  EXPECT_EQ(read_all(child.output()), "hello");
  EXPECT_TRUE(child.wait(kPatience)->exited_with(0));
  EXPECT_EQ(*read_file(folder / "err", 100), "err\n");

  // Appended to, and read as input.
  options = shell("cat >&2");
  options.in = Stream::at(folder / "err");
  options.err = Stream::at(folder / "copy");
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(Process::start(options)->wait(kPatience)->exited_with(0));
  EXPECT_EQ(*read_file(folder / "copy", 100), "err\nerr\n");
}

TEST(ProcessTest, StandardInputIsEmptyUnlessGiven) {
  EXPECT_EQ(output_of(shell("cat; echo end")), "end\n");
}

TEST(ProcessTest, OutputCanBeADescriptorOfOurs) {
  Pipe pipe = *make_pipe();
  ProcessOptions options = shell("echo out; echo err >&2");
  options.out = Stream::of(pipe.write_end.get());
  options.err = Stream::of(pipe.write_end.get());
  EXPECT_TRUE(Process::start(options)->wait(kPatience)->exited_with(0));
  pipe.write_end.close();
  EXPECT_EQ(read_all(pipe.read_end), "out\nerr\n");
}

TEST(ProcessTest, DescriptorsArriveAtTheirNumbersEvenCrosswise) {
  Pipe a = *make_pipe();
  Pipe b = *make_pipe();
  const int first = a.write_end.get();
  const int second = b.write_end.get();
  ProcessOptions options =
      shell("echo a >&" + std::to_string(second) + "; echo b >&" + std::to_string(first));
  ASSERT_LT(second, 10) << "sh takes only one digit";
  options.descriptors = {{first, second}, {second, first}};
  EXPECT_TRUE(Process::start(options)->wait(kPatience)->exited_with(0));
  a.write_end.close();
  b.write_end.close();
  EXPECT_EQ(read_all(a.read_end), "a\n");
  EXPECT_EQ(read_all(b.read_end), "b\n");
}

TEST(ProcessTest, ChildHasNothingItWasNotGiven) {
  // Without close-on-exec, as a library might open it.
  const Descriptor leaky(::open("/dev/null", O_RDONLY));
  Pipe given = *make_pipe();
  ProcessOptions options;
  options.argv = {"ls", "/proc/self/fd"};
  options.descriptors = {{given.write_end.get(), 9}};
  // 3 is the folder that ls itself reads.
  EXPECT_EQ(output_of(options), "0\n1\n2\n3\n9\n");
}

TEST(ProcessTest, EnvironmentIsOursWithChanges) {
  ::setenv("QUERN_TEST_KEPT", "kept", 1);
  ::setenv("QUERN_TEST_GONE", "gone", 1);
  ProcessOptions options =
      shell("echo $QUERN_TEST_KEPT,$QUERN_TEST_GONE,$QUERN_TEST_NEW,$QUERN_TEST_EMPTY.");
  options.environment = {
      {"QUERN_TEST_GONE", std::nullopt}, {"QUERN_TEST_NEW", "a=b c"}, {"QUERN_TEST_EMPTY", ""}};
  EXPECT_EQ(output_of(options), "kept,,a=b c,.\n");
  ::unsetenv("QUERN_TEST_KEPT");
  ::unsetenv("QUERN_TEST_GONE");
}

TEST(ProcessTest, CrashOrdersAreNotHandedOnUnlessNamed) {
  ::setenv(kCrashVariable, "write:1:before", 1);
  ::setenv(kCrashLogVariable, "/nowhere", 1);
  ProcessOptions options = shell("echo \"[$QUERN_CRASH][$QUERN_CRASH_LOG]\"");
  EXPECT_EQ(output_of(options), "[][]\n");
  options.environment = {{kCrashVariable, "point:x"}};
  EXPECT_EQ(output_of(options), "[point:x][]\n");
  ::unsetenv(kCrashVariable);
  ::unsetenv(kCrashLogVariable);
}

TEST(ProcessTest, RunsInItsFolderWithItsLimit) {
  const TempFolder folder;
  ProcessOptions options = shell("pwd; ulimit -n");
  options.folder = folder.path();
  options.open_files_max = 17;
  EXPECT_EQ(output_of(options), std::filesystem::canonical(folder.path()).native() + "\n17\n");
}

TEST(ProcessTest, SignalsAreDefaultInTheChildWhateverTheyAreHere) {
  struct sigaction before;
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &before);
  sigset_t mask;
  sigset_t mask_before;
  ::sigemptyset(&mask);
  ::sigaddset(&mask, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &mask, &mask_before);
  ProcessOptions options;
  // 32 and 33 are glibc's own: its posix_spawn leaves them ignored (under make, say), and its
  // sigaction does not touch them.
  constexpr std::uint64_t kOfGlibc = 3ULL << 31;
  options.argv = {"sed", "-n", "s/^SigBlk:\t//p", "/proc/self/status"};
  EXPECT_EQ(std::stoull(output_of(options), nullptr, 16), 0U);
  options.argv = {"sed", "-n", "s/^SigIgn:\t//p", "/proc/self/status"};
  EXPECT_EQ(std::stoull(output_of(options), nullptr, 16) & ~kOfGlibc, 0U);
  ::pthread_sigmask(SIG_SETMASK, &mask_before, nullptr);
  ::sigaction(SIGPIPE, &before, nullptr);
}

TEST(ProcessTest, OwnGroupIsItsOwn) {
  ProcessOptions options;
  options.argv = {"sleep", "1000"};
  const Process same = *Process::start(options);
  EXPECT_EQ(::getpgid(same.pid()), ::getpgrp());
  options.group = ProcessGroup::Own;
  const Process own = *Process::start(options);
  EXPECT_EQ(::getpgid(own.pid()), own.pid());
}

TEST(ProcessTest, FailureToStartIsToldWithItsReason) {
  ProcessOptions options;
  options.argv = {"/no/such/program"};
  EXPECT_EQ(Process::start(options).error().kind(), Errc::Missing);
  options.argv = {"no-such-program-in-path"};
  EXPECT_EQ(Process::start(options).error().kind(), Errc::Missing);
  options.argv = {"/etc/passwd"};
  EXPECT_EQ(Process::start(options).error().kind(), Errc::Denied);
  EXPECT_THAT(Process::start(options).error().message(), HasSubstr("execute /etc/passwd"));
  options = shell("true");
  options.folder = "/no/such/folder";
  EXPECT_EQ(Process::start(options).error().kind(), Errc::Missing);
  EXPECT_THAT(Process::start(options).error().message(), HasSubstr("enter the folder"));
  options = shell("true");
  options.descriptors = {{9'999, 3}};
  EXPECT_THAT(Process::start(options).error().message(), HasSubstr("descriptors"));
}

TEST(ProcessTest, NoDescriptorIsLostByStartsThatFailOrSucceed) {
  const auto open_descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  };
  const auto before = open_descriptors();
  ProcessOptions options = shell("true");
  options.in = options.out = options.err = Stream::pipe();
  (void)Process::start(options)->wait(kPatience);
  options.folder = "/no/such/folder";
  EXPECT_FALSE(Process::start(options).ok());
  EXPECT_EQ(open_descriptors(), before);
}

TEST(ProcessTest, DestructorKillsAndReaps) {
  Descriptor pidfd;
  pid_t pid = 0;
  {
    ProcessOptions options;
    options.argv = {"sleep", "1000"};
    Process child = *Process::start(options);
    const Process moved = std::move(child);
    pid = moved.pid();
    pidfd = *open_pidfd(pid);
  }
  EXPECT_EQ(open_pidfd(pid).error().kind(), Errc::Missing);
  EXPECT_TRUE(ends_within_patience(pidfd));
}

TEST(ProcessTest, PidfdIsReadableWhenTheChildHasEnded) {
  Process child = *Process::start(shell("true"));
  pollfd wanted{child.pidfd(), POLLIN, 0};
  EXPECT_EQ(::poll(&wanted, 1, static_cast<int>(kPatience.count())), 1);
  EXPECT_TRUE(child.wait(milliseconds(0))->exited_with(0));
}

// The one to be killed: starts a child of its own and tells us its number.
[[noreturn]] void be_parent(const Descriptor& tell) {
  ProcessOptions options;
  options.argv = {"sleep", "1000"};
  const Result<Process> grandchild = Process::start(options);
  const pid_t pid = grandchild.ok() ? grandchild->pid() : 0;
  if (::write(tell.get(), &pid, sizeof pid) == sizeof pid) ::pause();
  ::_exit(1);
}

TEST(ProcessTest, ChildDiesWithItsParentThatIsKilled) {
  Pipe pipe = *make_pipe();
  const pid_t parent = ::fork();
  if (parent == 0) be_parent(pipe.write_end);
  pid_t grandchild = 0;
  ASSERT_EQ(::read(pipe.read_end.get(), &grandchild, sizeof grandchild),
            static_cast<ssize_t>(sizeof grandchild));
  ASSERT_GT(grandchild, 0);
  const Descriptor pidfd = *open_pidfd(grandchild);
  ::kill(parent, SIGKILL);
  ASSERT_EQ(::waitpid(parent, nullptr, 0), parent);
  EXPECT_TRUE(ends_within_patience(pidfd));
}

TEST(ProcessTest, ChildDiesWithTheThreadThatStartedIt) {
  std::optional<Process> child;
  std::thread([&] {
    ProcessOptions options;
    options.argv = {"sleep", "1000"};
    child.emplace(*Process::start(options));
  }).join();
  EXPECT_TRUE(child->wait(kPatience)->killed_by(SIGKILL));
}

TEST(ProcessTest, RootCanStartAChildOfAnotherUserThatDiesWithUsToo) {
  ProcessOptions options = shell("id -u; id -g; id -G");
  options.user =
      User{::geteuid() == 0 ? 65'534U : ::geteuid(), ::geteuid() == 0 ? 65'534U : ::getegid()};
  if (::geteuid() != 0) {
    EXPECT_EQ(Process::start(options).error().kind(), Errc::Denied);
    return;
  }
  EXPECT_EQ(output_of(options), "65534\n65534\n65534\n");
  std::optional<Process> child;
  options.argv = {"sleep", "1000"};
  std::thread([&] { child.emplace(*Process::start(options)); }).join();
  EXPECT_TRUE(child->wait(kPatience)->killed_by(SIGKILL));
}

TEST(ProcessTest, ManyThreadsStartChildrenAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 25; ++i) {
        ProcessOptions options = shell("exit 5");
        options.out = Stream::pipe();
        Process child = *Process::start(options);
        EXPECT_EQ(read_all(child.output()), "");
        EXPECT_TRUE(child.wait(kPatience)->exited_with(5));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace quern::io
