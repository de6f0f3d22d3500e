// KeptChild: a child that serves task after task of one job, for steps that take long to get ready.
//
// Guarantee: it never sees files of two jobs, and goes after so many tasks or when it has grown.
// How: the zygote sends it an order and waits for its word; a child that says none has died.
// Threads: one. Lifetime: whoever made it kills it, or reaps it where it has died.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <span>

#include "io/descriptor.h"
#include "worker/channel.h"

namespace quern::worker {

inline constexpr int kKeptTasksMax = 50;

class KeptChild {
 public:
  // `serve` gets its end of the channel, and does not return.
  static std::optional<KeptChild> start(const std::function<void(int channel)>& serve);

  pid_t pid() const { return pid_; }
  // Whether it may have this one: of the same job, and not too old.
  bool suits(const RunOrder& order) const;
  bool send(const RunOrder& order, std::span<const int> descriptors);
  // When the task has ended; nothing where the child has.
  std::optional<Report> receive();
  void kill();

 private:
  KeptChild(pid_t pid, io::Descriptor channel) : pid_(pid), channel_(std::move(channel)) {}

  pid_t pid_;
  io::Descriptor channel_;
  std::int64_t job_ = 0;
  int tasks_ = 0;
  std::int64_t peak_kib_ = 0;
};

}  // namespace quern::worker
