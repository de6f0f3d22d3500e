// Renewer: keeps an owner's row alive, from a thread of its own that no work can hold up.
//
// Threads: begin() and end() on the loop's; the callback runs on the renewer's or a lane's thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "queue/owner.h"
#include "store/writer.h"

namespace quern::queue {

class Renewer {
 public:
  // After each attempt: the answer to it.
  using Renewed = std::function<void(const Result<std::int64_t>&)>;

  Renewer(store::Writer& writer, OwnerId owner, std::int64_t lease_ms, Renewed renewed);
  ~Renewer();  // waits for the thread, not for the database

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    bool stopping = false;
    bool waiting = false;  // for an answer
  };
  void run();
  void renew();

  store::Writer& writer_;
  const OwnerId owner_;
  const std::int64_t lease_ms_;
  const Renewed renewed_;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::thread thread_;
};

}  // namespace quern::queue
