// Loop: the one event loop. It carries sockets, timers and coroutines, all on one thread.
//
// Guarantee: nothing of a loop runs on two threads at once, so what only coroutines of the loop
// touch needs no lock. A spawned coroutine that throws is our bug and ends the process: a process
// whose renewals or schedules have silently stopped is worse than one that is restarted.
//
// Threads: run() makes its caller the loop's thread. post(), stop() and Remote::post() may be
// called from any thread, everything else on the loop's thread (or before run()). Lifetime:
// destroying the loop destroys the coroutines that still wait in it, on the destroying thread; what
// they refer to must still be there. A Remote may outlive its loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "base/check.h"
#include "net/task.h"

namespace boost::asio {
class io_context;
}

namespace quern::net {

class Loop {
  struct Core;

 public:
  // Reaches the loop from other threads, also when it may have gone.
  class Remote {
   public:
    // Runs the function on the loop's thread, in order of posting; false where the loop has gone
    // (the function is dropped then, as are those still waiting when the loop goes). The queue is
    // as long as callers make it: whoever posts bounds what it has outstanding.
    bool post(std::function<void()> function) const;

   private:
    friend class Loop;
    explicit Remote(std::shared_ptr<Core> core) : core_(std::move(core)) {}
    std::shared_ptr<Core> core_;
  };

  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Until stop(). Can be called again afterwards.
  void run();
  // Counts even before run(): that run() then returns at once.
  void stop();
  void post(std::function<void()> function);
  Remote remote() const { return Remote(core_); }

  // The name appears in the log where the coroutine fails.
  void spawn(std::string_view name, Task<> task);
  // Runs the loop until the task has ended, for commands and tests.
  template <class T>
  T run_until(Task<T> task);

  Task<> sleep_until(Instant deadline);
  // Lets everything else that is ready go first.
  Task<> yield();

  boost::asio::io_context& context();

 private:
  template <class T>
  static Task<> keep_result(Task<T> task, std::optional<T>* result, Loop* loop) {
    result->emplace(co_await std::move(task));
    loop->stop();
  }

  std::shared_ptr<Core> core_;
};

template <class T>
T Loop::run_until(Task<T> task) {
  std::optional<T> result;
  spawn("run_until", keep_result(std::move(task), &result, this));
  run();
  CHECK(result.has_value());
  return *std::move(result);
}

}  // namespace quern::net
