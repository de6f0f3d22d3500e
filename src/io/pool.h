// Pool: a few threads for work that blocks on the disk, so that the event loop never does.
//
// Jobs start in order of arrival. The queue is bounded: beyond it a job is refused and stays with
// the caller. Each job that was taken is called exactly once: to run, or, where the pool stops
// first, to be told so. stop() waits only for jobs that have begun.
//
// Threads: all functions from any thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace quern::io {

struct PoolOptions {
  int threads = 2;
  std::size_t queue_max = 1024;
};

class Pool {
 public:
  enum class Call { Run, Stopped };
  using Job = std::function<void(Call)>;

  explicit Pool(const PoolOptions& options);
  ~Pool() { stop(); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  [[nodiscard]] bool try_push(Job& job);
  void stop();

 private:
  void serve();

  const PoolOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> queue_;  // under mutex_
  bool stopping_ = false;  // under mutex_
  std::vector<std::thread> threads_;
};

}  // namespace quern::io
