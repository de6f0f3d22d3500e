#include "worker/syscall_filter.h"

#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "io/descriptor.h"
#include "io/system_error.h"

namespace quern::worker {
namespace {

// Not here, on purpose: tgkill (abort() then ends by a bad instruction, which is a crash as well).
constexpr int kAllowed[] = {
    // descriptors that it has
    SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(pread64), SCMP_SYS(preadv), SCMP_SYS(write),
    SCMP_SYS(writev), SCMP_SYS(pwrite64), SCMP_SYS(pwritev), SCMP_SYS(lseek), SCMP_SYS(close),
    SCMP_SYS(dup), SCMP_SYS(dup2), SCMP_SYS(dup3), SCMP_SYS(fcntl), SCMP_SYS(fstat),
    SCMP_SYS(newfstatat), SCMP_SYS(fstatfs), SCMP_SYS(fsync), SCMP_SYS(fdatasync),
    SCMP_SYS(ftruncate), SCMP_SYS(fallocate), SCMP_SYS(fadvise64), SCMP_SYS(poll), SCMP_SYS(ppoll),
    SCMP_SYS(select), SCMP_SYS(pselect6), SCMP_SYS(pipe), SCMP_SYS(pipe2),
    SCMP_SYS(copy_file_range), SCMP_SYS(sendfile),
    // files that the root and landlock let it see
    SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(statx),
    SCMP_SYS(statfs), SCMP_SYS(access), SCMP_SYS(faccessat), SCMP_SYS(faccessat2),
    SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(getdents64), SCMP_SYS(getcwd),
    SCMP_SYS(chdir), SCMP_SYS(mkdir), SCMP_SYS(mkdirat), SCMP_SYS(unlink), SCMP_SYS(unlinkat),
    SCMP_SYS(rmdir), SCMP_SYS(rename), SCMP_SYS(renameat), SCMP_SYS(renameat2), SCMP_SYS(umask),
    // memory
    SCMP_SYS(brk), SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(mprotect),
    SCMP_SYS(madvise), SCMP_SYS(mincore),
    // time, its own state, the end
    SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep),
    SCMP_SYS(setitimer), SCMP_SYS(pause), SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(times),
    SCMP_SYS(getrusage), SCMP_SYS(getrlimit), SCMP_SYS(getpid), SCMP_SYS(getppid), SCMP_SYS(gettid),
    SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid), SCMP_SYS(getrandom),
    SCMP_SYS(uname), SCMP_SYS(sysinfo), SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity),
    SCMP_SYS(futex), SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack),
    SCMP_SYS(restart_syscall), SCMP_SYS(exit), SCMP_SYS(exit_group)};

// A clone that is no thread is a process.
int allow_threads(scmp_filter_ctx context) {
  int failed = ::seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                                  SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
  failed |= ::seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1,
                               SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME));
  for (const int number :
       {SCMP_SYS(set_tid_address), SCMP_SYS(sched_setscheduler), SCMP_SYS(sched_getparam),
        SCMP_SYS(sched_getscheduler), SCMP_SYS(sched_setaffinity), SCMP_SYS(membarrier),
        SCMP_SYS(eventfd2), SCMP_SYS(setpriority), SCMP_SYS(getpriority)}) {
    failed |= ::seccomp_rule_add(context, SCMP_ACT_ALLOW, number, 0);
  }
  return failed;
}

using Context = std::unique_ptr<void, void (*)(scmp_filter_ctx)>;

Result<std::vector<sock_filter>> exported(scmp_filter_ctx context) {
  const io::Descriptor file(::memfd_create("filter", MFD_CLOEXEC));
  if (!file.is_open()) return io::system_error(errno, "keep the filter");
  if (const int failed = ::seccomp_export_bpf(context, file.get()); failed != 0) {
    return io::system_error(-failed, "export the filter");
  }
  const off_t bytes = ::lseek(file.get(), 0, SEEK_END);
  std::vector<sock_filter> program(static_cast<std::size_t>(bytes) / sizeof(sock_filter));
  if (::pread(file.get(), program.data(), static_cast<std::size_t>(bytes), 0) != bytes) {
    return Error{Errc::Internal, "the filter cannot be read back"};
  }
  return program;
}

}  // namespace

Result<SyscallFilter> SyscallFilter::make(const Step& step) {
  const Context context(::seccomp_init(SCMP_ACT_ERRNO(EPERM)), ::seccomp_release);
  if (!context) return Error{Errc::Unavailable, "no seccomp"};
  int failed = ::seccomp_rule_add(context.get(), SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
  // Colours, widths and sizes of terminals that it does not have.
  failed |= ::seccomp_rule_add(context.get(), SCMP_ACT_ERRNO(ENOTTY), SCMP_SYS(ioctl), 0);
  for (const int number : kAllowed) {
    failed |= ::seccomp_rule_add(context.get(), SCMP_ACT_ALLOW, number, 0);
  }
  if (step.threads == Threads::Allowed) failed |= allow_threads(context.get());
  if (step.begin != nullptr) {
    // Its orders, and an office's care for the rights of files that it writes.
    for (const int number :
         {SCMP_SYS(sendmsg), SCMP_SYS(recvmsg), SCMP_SYS(chmod), SCMP_SYS(fchmod), SCMP_SYS(chown),
          SCMP_SYS(fchown), SCMP_SYS(mlock), SCMP_SYS(munlock), SCMP_SYS(utimensat),
          SCMP_SYS(utime), SCMP_SYS(flock), SCMP_SYS(prlimit64)}) {
      failed |= ::seccomp_rule_add(context.get(), SCMP_ACT_ALLOW, number, 0);
    }
  }
  if (failed != 0) return Error{Errc::Unavailable, "seccomp does not know a system call of ours"};
  TRY_ASSIGN(std::vector<sock_filter> program, exported(context.get()));
  return SyscallFilter(std::move(program));
}

Result<> SyscallFilter::apply() const {
  const sock_fprog program{static_cast<unsigned short>(program_.size()),
                           const_cast<sock_filter*>(program_.data())};
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0) return {};
  return io::system_error(errno, "apply the filter");
}

}  // namespace quern::worker
