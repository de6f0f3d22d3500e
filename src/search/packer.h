// Packer: the processor of the queue PACK. It packs one collection at a time, any number of them
// after one another, and merges in the background.
//
// Guarantee: a message is done when what it asked for is published; two packers never both publish
// (search/packing.h). One that dies is replaced with the lease of the queue.
//
// Threads: the loop's; the work is done by threads of its own. Lifetime: stop() before its parts
// end.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "io/pool.h"
#include "net/loop.h"
#include "queue/processor.h"
#include "search/packing.h"

namespace quern::search {

class Packer : public queue::Processor, public std::enable_shared_from_this<Packer> {
 public:
  struct Events {
    // On the loop's thread, after something was published.
    std::function<void(const std::string& collection, const PackReport& report)> published;
  };
  Packer(net::Loop& loop, Packing::Parts parts, PackingOptions options, Events events);

  void process(queue::Work work, queue::Answered answered) override;
  void cancel() override { stop_soon(); }
  // What is under way ends soon; returns when it has.
  void stop();

 private:
  struct Order {
    std::string collection;
    bool full = false;
    PackRight right;
    queue::Answered answered;
  };
  void stop_soon();
  void start_next(const std::string& collection);
  void run(const std::shared_ptr<Order>& order);
  Result<PackReport> pack(Order& order);
  void ended(const std::shared_ptr<Order>& order, const Result<PackReport>& report);
  void merge_later(const std::string& collection, const PackRight& right);
  void merge(const std::string& collection, const PackRight& right);
  void tidy_up();
  void tell(const std::string& collection, const PackReport& report);

  net::Loop& loop_;
  const net::Loop::Remote remote_;
  Packing::Parts parts_;
  Packing packing_;
  Events events_;
  // The loop's thread only:
  std::map<std::string, std::deque<std::shared_ptr<Order>>> waiting_;  // the first one is running
  std::set<std::string> merging_;
  // They go first.
  io::Pool packers_{{.threads = 1, .queue_max = 4096}};
  io::Pool mergers_{{.threads = 1, .queue_max = 4096}};
};

}  // namespace quern::search
