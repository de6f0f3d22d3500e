// How long an item waits that was put while nothing else is to be done.
#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

#include "bench/queue/rig.h"

namespace quern::bench {

// Completes at once, and notes when it was called.
class NotingProcessor final : public queue::Processor {
 public:
  void process(queue::Work work, queue::Answered answered) override;
  // Waits for the next call.
  Instant take_call();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Instant> calls_;
};

// From the put's answer to the call, in milliseconds, of items put one by one into a partition that
// an idle engine of the rig holds.
std::vector<double> start_latencies(Rig& rig, NotingProcessor& processor, queue::PartitionId id,
                                    int count);

}  // namespace quern::bench
