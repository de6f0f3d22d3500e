#include "io/pool.h"

#include "base/check.h"

namespace quern::io {

Pool::Pool(const PoolOptions& options) : options_(options) {
  CHECK(options.threads > 0);
  for (int i = 0; i < options.threads; ++i) threads_.emplace_back([this] { serve(); });
}

bool Pool::try_push(Job& job) {
  {
    const std::scoped_lock lock(mutex_);
    if (stopping_ || queue_.size() >= options_.queue_max) return false;
    queue_.push_back(std::move(job));
  }
  changed_.notify_one();
  return true;
}

void Pool::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  std::deque<Job> left;
  {
    const std::scoped_lock lock(mutex_);
    left.swap(queue_);
  }
  for (const Job& job : left) job(Call::Stopped);
}

void Pool::serve() {
  while (true) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (stopping_) return;
      job = std::move(queue_.front());
      queue_.pop_front();
    }
    job(Call::Run);
  }
}

}  // namespace quern::io
