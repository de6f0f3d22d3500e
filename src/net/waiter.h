// Waiter: one suspended coroutine that can be woken for a reason. For use inside net only.
//
// A timer does the suspending: cancelling it resumes the coroutine through the loop, its expiry is
// the deadline, and a loop that goes away destroys the frame as it does with any other operation.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <optional>

#include "net/event.h"

namespace quern::net {

class Waiter {
 public:
  explicit Waiter(Loop& loop);
  ~Waiter() { leave(); }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  // Stands in the event's list until woken for whatever reason.
  void join(Event& event);
  // A wake() that came before makes it return at once.
  Task<WaitEnd> wait(Instant deadline);
  // The first reason counts.
  void wake(WaitEnd reason);

 private:
  friend class Event;
  void leave();

  boost::asio::steady_timer timer_;
  std::optional<WaitEnd> reason_;
  Event* event_ = nullptr;
  Waiter* before_ = nullptr;
  Waiter* behind_ = nullptr;
};

}  // namespace quern::net
