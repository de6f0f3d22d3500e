// Rig: a store with a writer, readers and engines in this process, as a server has them.
//
// Threads: one caller; engines run on a loop of the rig's own thread. Failures abort: a benchmark
// of something that failed measures nothing.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/queue/report.h"
#include "net/loop.h"
#include "queue/engine.h"
#include "queue/item.h"
#include "store/database.h"
#include "store/readers.h"
#include "store/writer.h"

namespace quern::bench {

inline constexpr char kBenchKind[] = "bench";
// A processor that answers at once may have as many as an engine may.
inline const std::int64_t kInFlightMax = queue::EngineOptions{}.in_flight_max;
// 200 bytes, as a small JSON document has.
inline const std::string kItemData(200, 'x');

std::string item_name(std::int64_t number);

// Polls until it holds. Aborts where that takes minutes: then something hangs.
void wait_until(const std::function<bool()>& condition,
                std::chrono::microseconds step = std::chrono::milliseconds(2));

struct RigOptions {
  std::string url;
  int lanes = 1;
  std::size_t batch_ops_max = 512;
};

class Rig {
 public:
  explicit Rig(const RigOptions& options);
  ~Rig();

  store::Writer& writer() { return *writer_; }
  store::Readers& readers() { return *readers_; }
  net::Loop& loop() { return loop_; }
  // Statements on a connection of its own.
  void script(const std::string& sql);

  queue::PartitionId make(const std::string& name, queue::PartitionConfig config);
  queue::Engine& start_engine(queue::Processors processors, queue::EngineOptions options);
  void stop_engines();

  // Puts and waits for the commit; then whoever holds the partition is told.
  void put(queue::PartitionId id, std::vector<queue::NewItem> items);
  // Which engine of this process holds which partition: those are told of puts from now on.
  void find_holders();
  void poke(queue::PartitionId id);

  // Of all partitions.
  std::int64_t complete_items();
  std::int64_t owners();          // that are registered
  std::int64_t holding_owners();  // that hold something
  std::int64_t held();            // partitions that somebody holds
  std::int64_t commits() const;

 private:
  std::int64_t count(const store::Sql& sql);
  template <class Function>
  void on_loop(Function function);

  std::unique_ptr<store::Database> database_;
  std::unique_ptr<store::Writer> writer_;
  std::unique_ptr<store::Readers> readers_;
  net::Loop loop_;
  std::thread thread_;
  std::vector<std::unique_ptr<queue::Engine>> engines_;
  std::map<queue::PartitionId, queue::Engine*> holders_;
};

// Items are put from many callers, one put of each partition at a time, each put following the
// answer to the last. Returns when all are put.
struct PutPlan {
  std::vector<queue::PartitionId> partitions;
  std::int64_t items = 0;  // in all
  int per_put = 1;
  std::int64_t first_number = 0;
};
void put_all(Rig& rig, const PutPlan& plan);

}  // namespace quern::bench
