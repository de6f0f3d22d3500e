#include "net/event.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/waiter.h"

namespace quern::net {
namespace asio = boost::asio;

Event::~Event() {
  while (first_ != nullptr) first_->wake(WaitEnd::Stopping);
}

Task<WaitEnd> Event::wait(Instant deadline) {
  Waiter waiter(loop_);
  waiter.join(*this);
  co_return co_await waiter.wait(deadline);
}

bool Event::notify_one() {
  if (first_ == nullptr) return false;
  first_->wake(WaitEnd::Notified);
  return true;
}

std::size_t Event::notify_all() {
  const std::size_t all = waiters_;
  while (first_ != nullptr) first_->wake(WaitEnd::Notified);
  return all;
}

Waiter::Waiter(Loop& loop) : timer_(loop.context()) {}

void Waiter::join(Event& event) {
  CHECK(event_ == nullptr);
  event_ = &event;
  before_ = event.last_;
  (before_ != nullptr ? before_->behind_ : event.first_) = this;
  event.last_ = this;
  ++event.waiters_;
}

void Waiter::leave() {
  if (event_ == nullptr) return;
  (before_ != nullptr ? before_->behind_ : event_->first_) = behind_;
  (behind_ != nullptr ? behind_->before_ : event_->last_) = before_;
  --event_->waiters_;
  event_ = nullptr;
  before_ = behind_ = nullptr;
}

Task<WaitEnd> Waiter::wait(Instant deadline) {
  if (!reason_) {
    timer_.expires_at(deadline);
    co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  leave();
  co_return reason_.value_or(WaitEnd::TimedOut);
}

void Waiter::wake(WaitEnd reason) {
  leave();
  if (reason_) return;
  reason_ = reason;
  timer_.cancel();
}

}  // namespace quern::net
