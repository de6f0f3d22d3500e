// await_callback: awaits an operation that reports through a callback, from whatever thread.
//
//   auto done = co_await await_callback<Result<Id>>(loop, [&](Callback<Result<Id>> callback) {
//     writer.submit(std::move(operation), std::move(callback));
//   });
//
// Guarantee: the coroutine goes on on the loop's thread, once, after the callback was called,
// whether that was before it suspended, later, or within start itself. How: the callback posts to
// the loop; the coroutine belongs to the loop alone, so a callback that comes when the loop or the
// coroutine has gone only drops its value.
//
// Threads: the callback may be called on any thread, exactly once (twice is a broken invariant;
// never leaves the coroutine waiting until the loop goes).
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "base/check.h"
#include "net/event.h"
#include "net/loop.h"

namespace quern::net {

namespace internal {

class CallbackSignal : public std::enable_shared_from_this<CallbackSignal> {
 public:
  explicit CallbackSignal(Loop& loop) : loop_(loop), remote_(loop.remote()) {}

  void claim() { CHECK(!called_.exchange(true)); }
  void send();
  Task<> arrived();

 private:
  class Registered;

  Loop& loop_;  // only touched by the coroutine, which the loop outlives
  Loop::Remote remote_;
  std::atomic<bool> called_{false};
  bool arrived_ = false;  // the loop's thread only, as is the next
  Waiter* waiter_ = nullptr;
};

template <class T>
struct CallbackState : CallbackSignal {
  using CallbackSignal::CallbackSignal;
  std::optional<T> value;
};

}  // namespace internal

template <class T>
class Callback {
 public:
  explicit Callback(std::shared_ptr<internal::CallbackState<T>> state) : state_(std::move(state)) {}

  void operator()(T value) const {
    state_->claim();
    state_->value.emplace(std::move(value));
    state_->send();
  }

 private:
  std::shared_ptr<internal::CallbackState<T>> state_;
};

template <class T, class Start>
Task<T> await_callback(Loop& loop, Start start) {
  auto state = std::make_shared<internal::CallbackState<T>>(loop);
  start(Callback<T>(state));
  co_await state->arrived();
  co_return *std::move(state->value);
}

}  // namespace quern::net
