// Orchestrator: the processor of the queue ORCH. It takes registrations, and sees that every
// segment has its copies: what a searcher is to load or drop stands in that searcher's queue until
// it says that it is so.
//
// Guarantee: one at a time. How: its queue is a partition with one owner, and what it writes is
// behind that owner's token. It keeps no state: a new one reads what searchers last said and what
// they were told, and moves nothing that stands right.
//
// Threads: the loop's; rounds run on a thread of its own. Lifetime: stop() before its parts end.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "io/pool.h"
#include "net/loop.h"
#include "queue/processor.h"
#include "search/placement.h"
#include "search/registration.h"
#include "store/readers.h"
#include "store/writer.h"

namespace quern::search {

struct OrchestratorOptions {
  std::size_t copies = 2;
  std::int64_t round_ms = 500;  // at most one round in this time
};

class Orchestrator : public queue::Processor, public std::enable_shared_from_this<Orchestrator> {
 public:
  struct Parts {
    net::Loop& loop;
    store::Writer& writer;
    store::Readers& readers;
    std::function<void()> changed;  // a searcher came, or holds something else than before
  };
  Orchestrator(Parts parts, OrchestratorOptions options);

  void process(queue::Work work, queue::Answered answered) override;
  void stop() { pool_.stop(); }

 private:
  struct Right {
    queue::PartitionId queue;
    std::int64_t token = 0;
    bool may_forget = false;
  };
  void plan_round(Right right);
  Result<> run_round(Right right);
  Result<> order(Right right, const Registration& searcher, const std::vector<Move>& moves);
  Result<> forget(Right right, const Registration& searcher);

  Parts parts_;
  const OrchestratorOptions options_;
  const net::Loop::Remote remote_;
  // The loop's thread only:
  bool planned_ = false;
  std::int64_t token_ = 0;
  net::Instant since_;  // we have that token; whoever lives has spoken a while after it
  net::Instant last_ = net::in_ms(-3'600'000);
  io::Pool pool_{{.threads = 1, .queue_max = 16}};  // goes first
};

}  // namespace quern::search
