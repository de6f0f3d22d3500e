#include "io/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <map>

#include "base/crash.h"
#include "io/calls.h"
#include "io/clock.h"
#include "io/pidfd.h"
#include "io/process_child.h"
#include "io/system_error.h"

namespace quern::io {
namespace {

using internal::ChildFailure;
using internal::ChildPlan;

// Waits until a descriptor is readable; false when the time is over first.
bool wait_readable(int descriptor, std::chrono::milliseconds longest) {
  const std::int64_t end_us =
      system_clock().monotonic_us() + std::chrono::microseconds(longest).count();
  while (true) {
    const std::int64_t left_us = std::max<std::int64_t>(end_us - system_clock().monotonic_us(), 0);
    // Rounded up: a wait of less than a millisecond must not become a busy loop.
    const int left_ms = static_cast<int>(std::min<std::int64_t>((left_us + 999) / 1000, 1 << 30));
    pollfd wanted{descriptor, POLLIN, 0};
    const int ready = ::poll(&wanted, 1, left_ms);
    if (ready > 0) return true;
    if (ready == 0 && left_us == 0) return false;
    CHECK(ready >= 0 || errno == EINTR);
  }
}

Result<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* variable = ::getenv("PATH");
  std::string_view rest = variable != nullptr ? variable : "/usr/bin:/bin";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string candidate = fmt::format("{}/{}", rest.substr(0, end), name);
    if (end > 0 && ::access(candidate.c_str(), X_OK) == 0) return candidate;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return Error{Errc::Missing, fmt::format("no program {} in PATH", name)};
}

std::vector<std::string> child_environment(const ProcessOptions& options) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    variables[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  variables.erase(kCrashVariable);
  variables.erase(kCrashLogVariable);
  for (const auto& [name, value] : options.environment) {
    if (value) {
      variables[name] = *value;
    } else {
      variables.erase(name);
    }
  }
  std::vector<std::string> lines;
  for (const auto& [name, value] : variables) lines.push_back(name + "=" + value);
  return lines;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// Both ends of one standard stream.
struct Ends {
  int child = -1;     // -1: inherited
  Descriptor opened;  // keeps `child` open until the fork, where we opened it
  Descriptor ours;    // of a pipe
};

Result<Ends> open_file_stream(const Path& file, int number) {
  const int flags = number == STDIN_FILENO ? O_RDONLY : O_WRONLY | O_CREAT | O_APPEND;
  TRY_ASSIGN(Descriptor opened,
             calls::open({AT_FDCWD, file.native(), file.native()}, flags | O_NOCTTY, 0600));
  const int child = opened.get();
  return Ends{child, std::move(opened), {}};
}

Result<Ends> open_stream(const Stream& stream, int number) {
  switch (stream.kind) {
    case Stream::Kind::Inherit:
      return Ends{};
    case Stream::Kind::Descriptor:
      return Ends{stream.descriptor, {}, {}};
    case Stream::Kind::Null:
      return open_file_stream("/dev/null", number);
    case Stream::Kind::File:
      return open_file_stream(stream.file, number);
    case Stream::Kind::Pipe:
      break;
  }
  TRY_ASSIGN(Pipe pipe, make_pipe());
  const bool child_reads = number == STDIN_FILENO;
  Descriptor& theirs = child_reads ? pipe.read_end : pipe.write_end;
  Descriptor& ours = child_reads ? pipe.write_end : pipe.read_end;
  const int child = theirs.get();
  return Ends{child, std::move(theirs), std::move(ours)};
}

// All signals blocked while it lives, so that no handler of ours runs in the child.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

pid_t fork_child(ChildPlan& plan) {
  const SignalsBlocked blocked;
  plan.parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) internal::run_child(plan);
  return pid;
}

std::string_view describe(ChildFailure::Step step) {
  switch (step) {
    case ChildFailure::Step::Descriptors:
      return "place the descriptors of";
    case ChildFailure::Step::Folder:
      return "enter the folder of";
    case ChildFailure::Step::Limits:
      return "set the limits of";
    case ChildFailure::Step::User:
      return "change the user of";
    case ChildFailure::Step::DeathSignal:
      return "set the death signal of";
    case ChildFailure::Step::Exec:
      return "execute";
  }
  return "start";
}

// Ends with the exec, which closes the pipe, or with the child's word on why there was none.
Result<> wait_for_exec(const Descriptor& report, const std::string& program) {
  if (!wait_readable(report.get(), kProcessStartMax))
    return Error{Errc::Timeout,
                 fmt::format("{} did not start within {} ms", program, kProcessStartMax.count())};
  ChildFailure failure;
  ssize_t got = 0;
  do {
    got = ::read(report.get(), &failure, sizeof failure);
  } while (got < 0 && errno == EINTR);
  if (got == 0) return {};
  CHECK(got == static_cast<ssize_t>(sizeof failure));  // below PIPE_BUF: never in parts
  return system_error(failure.error_number, fmt::format("{} {}", describe(failure.step), program));
}

ExitStatus decode(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return {info.si_status, 0};
  return {0, info.si_status};
}

}  // namespace

std::string ExitStatus::text() const {
  if (signal == 0) return fmt::format("exit {}", code);
  const char* name = ::sigdescr_np(signal);
  return fmt::format("signal {} ({})", signal, name != nullptr ? name : "unknown");
}

Result<Process> Process::start(const ProcessOptions& options) {
  CHECK(!options.argv.empty());
  TRY_ASSIGN(const std::string program, find_program(options.argv[0]));
  TRY_ASSIGN(Ends in, open_stream(options.in, STDIN_FILENO));
  TRY_ASSIGN(Ends out, open_stream(options.out, STDOUT_FILENO));
  TRY_ASSIGN(Ends err, open_stream(options.err, STDERR_FILENO));
  TRY_ASSIGN(Pipe report, make_pipe());

  std::vector<std::string> argv = options.argv;
  std::vector<std::string> environment = child_environment(options);
  ChildPlan plan;
  plan.program = program.c_str();
  plan.argv = pointers(argv);
  plan.environ = pointers(environment);
  if (!options.folder.empty()) plan.folder = options.folder.c_str();
  if (in.child >= 0) plan.moves.push_back({in.child, STDIN_FILENO});
  if (out.child >= 0) plan.moves.push_back({out.child, STDOUT_FILENO});
  if (err.child >= 0) plan.moves.push_back({err.child, STDERR_FILENO});
  for (const auto& [ours, child] : options.descriptors) {
    CHECK(child > STDERR_FILENO);
    plan.moves.push_back({ours, child});
  }
  plan.open_files_max = options.open_files_max;
  plan.user = options.user;
  plan.group = options.group;
  plan.death_signal = options.death_signal;
  plan.report = report.write_end.get();

  const pid_t pid = fork_child(plan);
  if (pid < 0) return system_error(errno, "fork for " + program);
  report.write_end.close();
  Process process(pid);
  // The number is its own until we reap it, so this cannot open a stranger.
  TRY_ASSIGN(process.pidfd_, open_pidfd(pid));
  TRY(wait_for_exec(report.read_end, program));
  process.input_ = std::move(in.ours);
  process.output_ = std::move(out.ours);
  process.errors_ = std::move(err.ours);
  return process;
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      input_(std::move(other.input_)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)),
      status_(other.status_) {}

Process::~Process() {
  if (pid_ < 0 || status_) return;
  // By number, so that it works without a pidfd too; it is ours until reaped.
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<ExitStatus> Process::wait(std::chrono::milliseconds longest) {
  if (status_) return *status_;
  if (!wait_readable(pidfd_.get(), longest))
    return Error{Errc::Timeout,
                 fmt::format("process {} still runs after {} ms", pid_, longest.count())};
  siginfo_t info = {};
  while (::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED) != 0) {
    if (errno != EINTR) return system_error(errno, fmt::format("wait for process {}", pid_));
  }
  status_ = decode(info);
  return *status_;
}

Result<> Process::kill(int signal) const {
  return send_signal(pidfd_, signal).with_context(fmt::format("process {}", pid_));
}

}  // namespace quern::io
