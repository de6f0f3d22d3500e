// Readable: waits until a descriptor that is no socket of ours (a pipe, a pidfd, a signalfd, a
// channel) can be read, or its other end has gone.
//
// Guarantee: a wait ends when the descriptor is readable, at its deadline, or with cancel(). How:
// the loop's own reactor; no thread, no polling.
//
// Threads: the loop's only; one wait at a time. Lifetime: the descriptor stays the caller's, and
// stays open while this object lives. One object for each descriptor. Goes before its loop.
#pragma once

#include <memory>

#include "net/event.h"
#include "net/loop.h"
#include "net/task.h"

namespace quern::net {

class Readable {
 public:
  Readable(Loop& loop, int descriptor);
  ~Readable();
  Readable(const Readable&) = delete;
  Readable& operator=(const Readable&) = delete;

  // Notified, TimedOut or Interrupted.
  Task<WaitEnd> wait(Instant deadline = kNever);
  // Ends the wait that is under way, if there is one, with Interrupted.
  void cancel();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace quern::net
