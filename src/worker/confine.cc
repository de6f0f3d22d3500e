#include "worker/confine.h"

#include <fmt/format.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "base/log.h"
#include "worker/box_root.h"
#include "worker/landlock.h"

namespace quern::worker {
namespace {

// Nobody's: no file of this machine belongs to it.
constexpr uid_t kNobody = 65534;
// Between the signal that says so and the one that kills.
constexpr std::uint64_t kCpuGraceSeconds = 5;
// Of all boxes of this machine whose steps may have any, since the user's count.
constexpr std::uint64_t kThreadsMax = 4096;
constexpr int kNamespaces = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;

class Confiner {
 public:
  explicit Confiner(const ConfineOptions& options) : options_(options) {}

  Confinement run() {
    // Wherever we were started is nobody's business.
    if (::chdir("/") != 0) ::_exit(kExitNoBox);
    enter_namespaces();
    if (namespaces_) {
      become_first_process();
      note("processes", 0);
      note("network", 0);
      note("ipc", 0);
      mount_root();
    }
    // After a change of user, which clears it.
    if (::geteuid() == 0) become_nobody();
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    drop_capabilities();
    ::prctl(PR_SET_DUMPABLE, 0);
    note("no_new_privileges", ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? 0 : errno);
    note("landlock", restrict_files(scratch_folder(result_)));
    return result_;
  }

 private:
  void note(std::string_view what, int error_number) {
    if (error_number == 0) {
      result_.done.emplace_back(what);
    } else {
      result_.missing.push_back(fmt::format("{}: {}", what, std::strerror(error_number)));
    }
  }

  void enter_namespaces() {
    if (::geteuid() == 0 && ::unshare(kNamespaces) == 0) {
      namespaces_ = true;
      return;
    }
    // Root of a container that may not: its user may still make a user namespace. The change of
    // user has made our files in /proc root's, which the maps are among.
    if (::geteuid() == 0) become_nobody();
    ::prctl(PR_SET_DUMPABLE, 1);
    const uid_t uid = ::geteuid();
    const gid_t gid = ::getegid();
    if (::unshare(CLONE_NEWUSER | kNamespaces) != 0) {
      note("namespaces", errno);
      return;
    }
    namespaces_ = true;
    const bool mapped = write_line("/proc/self/setgroups", "deny") &&
                        write_line("/proc/self/uid_map", fmt::format("{} {} 1", uid, uid)) &&
                        write_line("/proc/self/gid_map", fmt::format("{} {} 1", gid, gid));
    note("user_namespace", mapped ? 0 : errno);
  }

  // The first process after the fork is the namespace's number 1: when it ends, all of it does.
  void become_first_process() {
    const pid_t zygote = ::fork();
    if (zygote < 0) ::_exit(kExitNoBox);
    if (zygote > 0) wait_as_outer(zygote);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Our parent lies outside of our namespace, so that its number says nothing; one that died
    // before the line above has closed the channel, which ends us too.
  }

  [[noreturn]] void wait_as_outer(pid_t zygote) const {
    if (options_.keep >= 0) ::close(options_.keep);
    int status = 0;
    while (::waitpid(zygote, &status, 0) < 0 && errno == EINTR) {
    }
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : kExitNoBox);
  }

  void mount_root() {
    const int failed = enter_box_root(options_.scratch_bytes, kNobody);
    note("mounts", failed);
  }

  void become_nobody() {
    const bool changed = ::setgroups(0, nullptr) == 0 &&
                         ::setresgid(kNobody, kNobody, kNobody) == 0 &&
                         ::setresuid(kNobody, kNobody, kNobody) == 0;
    note("user", changed ? 0 : errno);
  }

  static void drop_capabilities() {
    for (int capability = 0; capability <= CAP_LAST_CAP; ++capability) {
      ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    }
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
    ::syscall(SYS_capset, &header, none);
  }

  const ConfineOptions& options_;
  Confinement result_;
  bool namespaces_ = false;
};

// `grace` is how much more than that the system allows before it kills.
void limit(int what, std::uint64_t amount, std::uint64_t grace = 0) {
  rlimit now{};
  ::getrlimit(static_cast<__rlimit_resource_t>(what), &now);
  const rlimit wanted_limit{std::min<rlim_t>(amount, now.rlim_max),
                            std::min<rlim_t>(amount + grace, now.rlim_max)};
  ::setrlimit(static_cast<__rlimit_resource_t>(what), &wanted_limit);
}

std::string json_list(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) {
    list += fmt::format("{}\"{}\"", list.empty() ? "" : ",", json_escaped(text));
  }
  return "[" + list + "]";
}

}  // namespace

bool Confinement::has(std::string_view what) const {
  return std::find(done.begin(), done.end(), what) != done.end();
}

std::string Confinement::json() const {
  return fmt::format(R"({{"done":{},"missing":{}}})", json_list(done), json_list(missing));
}

Confinement confine(const ConfineOptions& options) {
  limit(RLIMIT_CORE, 0);
  return Confiner(options).run();
}

std::string_view scratch_folder(const Confinement& confinement) {
  return confinement.has("mounts") ? kScratchFolder : std::string_view();
}

void empty_scratch(const Confinement& confinement, Leftovers what) {
  const std::string_view folder = scratch_folder(confinement);
  if (folder.empty()) return;
  std::error_code failed;
  for (std::filesystem::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    if (what == Leftovers::Task && entry->path().filename() == kKeptFolder) continue;
    std::error_code ignored;
    std::filesystem::remove_all(entry->path(), ignored);
  }
}

void limit_child(const RunOrder& order, const Step& step) {
  limit(RLIMIT_DATA, order.memory_bytes);
  // Of a kept child, the time of one task is the broker's to watch.
  if (step.begin == nullptr) limit(RLIMIT_CPU, order.cpu_s, kCpuGraceSeconds);
  limit(RLIMIT_FSIZE, order.scratch_bytes);
  limit(RLIMIT_NOFILE, order.open_files);
  // Whatever number of processes there is, one more is too many. Threads count as processes.
  limit(RLIMIT_NPROC, step.threads == Threads::Allowed ? kThreadsMax : 0);
  limit(RLIMIT_CORE, 0);
}

}  // namespace quern::worker
