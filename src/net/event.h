// Event: a condition that coroutines of the loop wait for.
//
//   while (!something_to_do()) co_await event.wait(deadline);
//
// Guarantee: no wake-up is lost between the look at the condition and the wait, as long as nothing
// is awaited between them; the loop has one thread. notify_one() wakes who has waited longest. A
// notified waiter says Notified even if its deadline passed in the same instant. How: waiters form
// a list through their own frames, so that an idle one costs a timer and no more.
//
// Threads: the loop's only; other threads go through Loop::post. Lifetime: an event that goes ends
// the waits for it with Stopping.
#pragma once

#include <cstddef>

#include "net/loop.h"
#include "net/task.h"

namespace quern::net {

enum class WaitEnd {
  Notified,
  TimedOut,
  PeerGone,     // Exchange::wait only: the client has closed its side
  Stopping,     // the server or the event is going away
  Interrupted,  // Exchange::interrupt
};

class Waiter;

class Event {
 public:
  explicit Event(Loop& loop) : loop_(loop) {}
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  Task<WaitEnd> wait(Instant deadline = kNever);
  // Whether anybody waited.
  bool notify_one();
  // How many waited.
  std::size_t notify_all();
  std::size_t waiters() const { return waiters_; }

 private:
  friend class Waiter;

  Loop& loop_;
  Waiter* first_ = nullptr;
  Waiter* last_ = nullptr;
  std::size_t waiters_ = 0;
};

}  // namespace quern::net
