// ChangeWatch: sees that what has changed is packed, soon after it settles.
//
//   documents come -> the collection's timer is reset (at most every quarter of settle_ms)
//   quiet for settle_ms -> the timer posts its callback: pack_incremental, unless somebody started
//                          one with another
//   never quiet -> every delay_ms_max a pack_incremental goes out; timer and callback stay
//
// Guarantee: no change is forgotten, whoever dies: changes are rows, looked for at start and from
// time to time. Any number of processes may watch one store.
//
// Threads: the loop's, except poke(). Lifetime: stop() before writer, readers and loop end.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "net/loop.h"
#include "queue/partition.h"
#include "store/readers.h"
#include "store/writer.h"

namespace quern::search {

struct ChangeWatchOptions {
  std::int64_t settle_ms = 2000;
  std::int64_t delay_ms_max = 3000;
  std::int64_t idle_ms = 30'000;  // between looks when nothing is known to have changed
};

class ChangeWatch {
 public:
  struct Parts {
    net::Loop& loop;
    store::Writer& writer;
    store::Readers& readers;
    std::function<void(queue::PartitionId)> posted;  // something was put into a partition
    std::function<void()> poke_timers;
  };
  ChangeWatch(Parts parts, ChangeWatchOptions options);
  ~ChangeWatch();
  ChangeWatch(const ChangeWatch&) = delete;
  ChangeWatch& operator=(const ChangeWatch&) = delete;

  void start();
  net::Task<> stop();
  // Documents came or went. Any thread; cheap.
  void poke();

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

// Posts pack_incremental or pack_full of a collection; a repeated key is the same message. Blocks.
Result<queue::PartitionId> post_pack(store::Writer& writer, store::Readers& readers,
                                     const std::string& collection, bool full,
                                     const std::string& key);

}  // namespace quern::search
