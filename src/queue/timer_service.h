// TimerService: fires what is due. Any number of processes may run one on the same database.
//
// Guarantee: a timer that is due fires within a tick while some process runs a service and the
// database answers; exactly once, however many do (queue/timer.h). How: a read asks what is due, at
// least every tick and when the next timer is due; each queue that has some gets its messages in
// transactions of at most kFiredAtOnceMax, in turn, so that many timers of one queue do not hold up
// another.
//
// Threads: the loop's, except poke(). Lifetime: stop() before writer, readers and loop end.
#pragma once

#include <functional>
#include <memory>

#include "net/loop.h"
#include "queue/timer.h"

namespace quern::queue {

struct TimerServiceOptions {
  std::int64_t tick_ms = 1000;
};

class TimerService {
 public:
  // `posted` is called on the loop's thread for each partition that got messages.
  TimerService(net::Loop& loop, store::Writer& writer, store::Readers& readers,
               std::function<void(PartitionId)> posted, TimerServiceOptions options = {});
  ~TimerService();
  TimerService(const TimerService&) = delete;
  TimerService& operator=(const TimerService&) = delete;

  // Begins. Without a database it goes on trying.
  void start();
  // Finishes the transaction under way and begins no other.
  net::Task<> stop();
  // A timer was set here, perhaps one that is due before the next look. Any thread; cheap.
  void poke();

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace quern::queue
