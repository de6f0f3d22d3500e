#include "io/process_child.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace quern::io::internal {
namespace {

using Step = ChildFailure::Step;

constexpr int kLastSignal = 64;

[[noreturn]] void give_up(int report, Step step) {
  const ChildFailure failure{step, errno};
  [[maybe_unused]] const ssize_t written = ::write(report, &failure, sizeof failure);
  ::_exit(127);
}

// The parent blocks all signals around the fork, so that none of its handlers runs here.
void reset_signals() {
  struct sigaction defaults = {};
  defaults.sa_handler = SIG_DFL;
  for (int signal = 1; signal <= kLastSignal; ++signal) ::sigaction(signal, &defaults, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// First above all targets, then down to them: a source may have the number of another's target.
bool place_descriptors(ChildPlan& plan) {
  if (::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) != 0) return false;
  int above = 3;
  for (const ChildPlan::Move& move : plan.moves) above = std::max(above, move.to + 1);
  const int report = ::fcntl(plan.report, F_DUPFD_CLOEXEC, above);
  if (report < 0) return false;
  plan.report = report;
  for (ChildPlan::Move& move : plan.moves) {
    move.parked = ::fcntl(move.from, F_DUPFD_CLOEXEC, above);
    if (move.parked < 0) return false;
  }
  for (const ChildPlan::Move& move : plan.moves) {
    if (::dup2(move.parked, move.to) < 0) return false;
  }
  return true;
}

bool set_limits(const ChildPlan& plan) {
  if (!plan.open_files_max) return true;
  const rlimit limit{*plan.open_files_max, *plan.open_files_max};
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

// The bare system calls: those of glibc signal every thread, and take locks to find them.
bool become_user(const User& user) {
  return ::syscall(SYS_setgroups, 0, nullptr) == 0 &&
         ::syscall(SYS_setresgid, user.gid, user.gid, user.gid) == 0 &&
         ::syscall(SYS_setresuid, user.uid, user.uid, user.uid) == 0;
}

}  // namespace

void run_child(ChildPlan& plan) {
  reset_signals();
  if (!place_descriptors(plan)) give_up(plan.report, Step::Descriptors);
  if (plan.group == ProcessGroup::Own) ::setpgid(0, 0);
  if (!set_limits(plan)) give_up(plan.report, Step::Limits);
  if (plan.user && !become_user(*plan.user)) give_up(plan.report, Step::User);
  // After the change of user, which clears it.
  if (::prctl(PR_SET_PDEATHSIG, plan.death_signal) != 0) give_up(plan.report, Step::DeathSignal);
  // A parent that died before the line above sends nothing any more.
  if (::getppid() != plan.parent) ::_exit(127);
  if (plan.folder != nullptr && ::chdir(plan.folder) != 0) give_up(plan.report, Step::Folder);
  ::execve(plan.program, plan.argv.data(), plan.environ.data());
  give_up(plan.report, Step::Exec);
}

}  // namespace quern::io::internal
