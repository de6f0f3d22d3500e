// Engine: an owner at work. It claims partitions, takes their items, hands them to processors,
// stores the outcomes and moves on; it renews, rebalances and, on a clean stop, gives everything
// back.
//
// Bounds: at most held_max partitions, in_flight_max items (of one handler
// in_flight_per_handler_max) and in_flight_bytes_max of their bytes are in memory; the rest are
// rows. Statements per second when idle do not depend on the number of partitions. A renewal has a
// thread of its own, so no work can hold it up.
//
// Threads: the loop's, except poke() and stats(). Lifetime: stop() before the loop ends.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "net/loop.h"
#include "queue/owner.h"
#include "queue/processor.h"

namespace quern::queue {

struct EngineOptions {
  std::int64_t lease_ms = 15'000;
  std::int64_t scan_ms = 1000;
  std::int64_t held_max = 1000;
  std::int64_t in_flight_max = 256;
  std::int64_t in_flight_per_handler_max = 64;  // a handler that hangs must not hold up the others
  std::int64_t in_flight_bytes_max = 128 * 1024 * 1024;
  std::string name;  // of the owner; random where empty
  // Items of this partition were taken or have ended, or its gate moved. On the loop.
  std::function<void(const std::string& partition)> changed;
};

struct EngineStats {
  std::int64_t held = 0;
  std::int64_t in_flight = 0;
  std::int64_t claimed = 0;  // and the following: since the start
  std::int64_t lost = 0;     // partitions that turned out to be another's
  std::int64_t released = 0;
  std::int64_t taken = 0;
  std::int64_t completed = 0;
  std::int64_t moved = 0;
  std::int64_t retried = 0;
  std::int64_t dead = 0;  // items that failed for good
  std::int64_t renewals = 0;
  std::string owner;
  std::string trouble;  // empty: it can renew and scan
};

using Processors = std::map<std::string, std::shared_ptr<Processor>>;  // by kind

class Engine {
 public:
  Engine(net::Loop& loop, store::Writer& writer, Processors processors, EngineOptions options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Registers and begins. Without a database it goes on trying.
  void start();
  // Takes nothing more from here on; what is running goes on until stop().
  void stop_taking();
  // Takes nothing more; what is running may finish for so long and is stored; then everything is
  // given up.
  net::Task<> stop(std::int64_t grace_ms);
  // Something was put into this partition. Any thread.
  void poke(PartitionId partition);
  EngineStats stats() const;

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace quern::queue
