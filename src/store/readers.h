// Readers: a few threads, each with a session, that run short read transactions off the loop.
//
// A read sees one consistent snapshot and lasts at most a second (then it is Timeout; on PostgreSQL
// each statement does): a reader that stays would keep old versions alive. Lists page by key. The
// queue is bounded: beyond it, Busy. A read whose connection broke is run once more on a new one.
#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <vector>

#include "io/pool.h"
#include "store/database.h"
#include "store/operation.h"

namespace quern::store {

struct ReadersOptions {
  int threads = 2;
  std::size_t queue_max = 1024;
};

class Readers {
 public:
  static Result<std::unique_ptr<Readers>> open(Database& database, const ReadersOptions& options);
  ~Readers() { stop(); }

  // Takes a closure made by make_operation, or leaves it where the queue is full or it has stopped.
  [[nodiscard]] bool try_push(std::unique_ptr<Operation>& read);
  // Waits for the answer. For threads that may block.
  template <class Function>
  Result<Answer<Function>> run(Function function);
  void stop() { pool_.stop(); }

 private:
  Readers(const ReadersOptions& options, const io::Clock& clock)
      : clock_(clock), pool_({.threads = options.threads, .queue_max = options.queue_max}) {}
  void serve(Operation& operation);
  void read(Session& session, Operation& operation);

  const io::Clock& clock_;
  std::atomic<std::int64_t> away_until_us_{0};  // no connection was to be had; monotonic
  std::mutex mutex_;
  std::vector<std::unique_ptr<Session>> idle_;  // under mutex_; as many as threads
  io::Pool pool_;                               // goes first: its threads use the others
};

template <class Function>
Result<Answer<Function>> Readers::run(Function function) {
  using T = Answer<Function>;
  std::promise<Result<T>> promise;
  auto read = make_operation(std::move(function),
                             [&promise](Result<T> r) { promise.set_value(std::move(r)); });
  if (!try_push(read)) return Error{Errc::Busy, "too many reads wait"};
  return promise.get_future().get();
}

}  // namespace quern::store
