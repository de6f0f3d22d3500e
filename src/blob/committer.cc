#include "blob/committer.h"

namespace quern::blob {
namespace {

// So that the first of a group does not wait for very many.
constexpr std::size_t kGroupMax = 128;

}  // namespace

Committer::~Committer() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Committer::push(Spool spool, Done done) {
  {
    const std::scoped_lock lock(mutex_);
    queue_.push_back({std::move(spool), std::move(done)});
    while (threads_.size() < static_cast<std::size_t>(backend_.commit_threads())) {
      threads_.emplace_back([this] { serve(); });
    }
  }
  changed_.notify_one();
}

void Committer::serve() {
  // Where each commit is a request of its own, a group would only make the others wait.
  const std::size_t group_max = backend_.commit_threads() == 1 ? kGroupMax : 1;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::vector<Waiting> group;
    while (!queue_.empty() && group.size() < group_max) {
      group.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    lock.unlock();
    finish_all(std::move(group));
    lock.lock();
  }
}

void Committer::finish_all(std::vector<Waiting> group) {
  std::vector<Result<>> results;
  std::vector<PlaceWriter*> writers;
  std::vector<std::size_t> written;
  for (std::size_t i = 0; i < group.size(); ++i) {
    results.push_back(group[i].spool.write_rest());
    if (!results[i].ok()) continue;
    writers.push_back(group[i].spool.writer());
    written.push_back(i);
  }
  std::vector<Result<>> committed = backend_.commit(writers);
  for (std::size_t i = 0; i < written.size(); ++i) results[written[i]] = std::move(committed[i]);
  for (std::size_t i = 0; i < group.size(); ++i) {
    Result<Put> put = Error{Errc::Internal, ""};
    if (results[i].ok())
      put = group[i].spool.seal();
    else
      put = std::move(results[i]).error();
    group[i].done(std::move(put));
  }
}

}  // namespace quern::blob
