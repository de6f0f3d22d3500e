#include "worker/kept_child.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "worker/box_root.h"
#include "worker/zygote.h"

namespace quern::worker {
namespace {

bool keep_only(int channel) {
  const auto first = static_cast<unsigned>(kZygoteChannel + 1);
  const auto own = static_cast<unsigned>(channel);
  return (own <= first || ::close_range(first, own - 1, 0) == 0) &&
         ::close_range(own + 1, ~0U, 0) == 0;
}

}  // namespace

std::optional<KeptChild> KeptChild::start(const std::function<void(int channel)>& serve) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return std::nullopt;
  io::Descriptor ours(ends[0]);
  io::Descriptor theirs(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return std::nullopt;
  if (pid == 0) {
    // Whatever else is open belongs to a task that it may never see, or holds up its end.
    if (!keep_only(theirs.get())) ::_exit(kExitNoBox);
    serve(theirs.get());
    ::_exit(0);
  }
  return KeptChild(pid, std::move(ours));
}

bool KeptChild::suits(const RunOrder& order) const {
  if (tasks_ == 0) return true;
  const bool same = order.job != 0 && order.job == job_;
  return same && tasks_ < kKeptTasksMax &&
         static_cast<std::uint64_t>(peak_kib_) * 1024 < order.memory_bytes / 2;
}

bool KeptChild::send(const RunOrder& order, std::span<const int> descriptors) {
  job_ = order.job;
  ++tasks_;
  return send_message(channel_.get(), bytes_of(order), descriptors).ok();
}

std::optional<Report> KeptChild::receive() {
  const auto received = receive_message(channel_.get());
  if (!received || received->bytes.size() != sizeof(Report)) return std::nullopt;
  Report report;
  std::memcpy(&report, received->bytes.data(), sizeof report);
  report.kind = Report::Kind::Ended;
  report.wait_status = 0;
  peak_kib_ = report.peak_kib;
  return report;
}

void KeptChild::kill() {
  ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace quern::worker
