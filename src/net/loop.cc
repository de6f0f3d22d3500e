#include "net/loop.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include "base/log.h"
#include "net/waiter.h"

namespace quern::net {
namespace asio = boost::asio;

// Functions of other threads gather in `posted` and enter the io_context as one: a commit that
// resumes a hundred callers wakes the loop once.
struct Loop::Core {
  std::unique_ptr<asio::io_context> context = std::make_unique<asio::io_context>(1);
  std::mutex mutex;
  bool alive = true;
  std::vector<std::function<void()>> posted;

  void run_posted() {
    std::vector<std::function<void()>> batch;
    {
      const std::lock_guard lock(mutex);
      batch.swap(posted);
    }
    for (const auto& function : batch) function();
  }
};

bool Loop::Remote::post(std::function<void()> function) const {
  const std::lock_guard lock(core_->mutex);
  if (!core_->alive) return false;
  core_->posted.push_back(std::move(function));
  if (core_->posted.size() == 1) {
    asio::post(*core_->context, [core = core_.get()] { core->run_posted(); });
  }
  return true;
}

Loop::Loop() : core_(std::make_shared<Core>()) {}

Loop::~Loop() {
  std::vector<std::function<void()>> dropped;
  {
    const std::lock_guard lock(core_->mutex);
    core_->alive = false;
    dropped.swap(core_->posted);
  }
  dropped.clear();
  // Here the frames of waiting coroutines go, and with them what they own.
  core_->context.reset();
}

void Loop::run() {
  core_->context->restart();
  const auto work = asio::make_work_guard(*core_->context);
  core_->context->run();
}

// Posted rather than done: restart() in run() would forget a stop that came first.
void Loop::stop() {
  post([context = core_->context.get()] { context->stop(); });
}

void Loop::post(std::function<void()> function) {
  CHECK(remote().post(std::move(function)));
}

void Loop::spawn(std::string_view name, Task<> task) {
  const auto ended = [name = std::string(name)](std::exception_ptr failure) {
    if (!failure) return;
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& exception) {
      log_error("loop.coroutine_failed", {{"name", name}, {"error", exception.what()}});
    }
    CHECK(!failure);
  };
  asio::co_spawn(*core_->context, std::move(task), ended);
}

Task<> Loop::sleep_until(Instant deadline) {
  Waiter waiter(*this);
  co_await waiter.wait(deadline);
}

Task<> Loop::yield() {
  co_await asio::post(*core_->context, asio::use_awaitable);
}

asio::io_context& Loop::context() {
  return *core_->context;
}

}  // namespace quern::net
