// Searcher: holds segments on a machine of its own and answers for them. It is a client of a
// server: it registers every few seconds, does what the messages of its queue say (load, drop), and
// fetches packs and masks from there.
//
// Guarantee: it answers for a segment only when it has the whole pack of that digest, verified, and
// the very mask that the question names. What was opened stays until it is told to drop it.
//
// Threads: the loop's; it blocks threads of its own. Lifetime: stop() before the loop ends.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "io/pool.h"
#include "net/client.h"
#include "net/event.h"
#include "net/exchange.h"
#include "net/loop.h"
#include "search/group.h"
#include "search/pack_folder.h"

namespace quern::search {

struct SearcherOptions {
  std::string id;
  std::string address;        // where questions reach it: HOST:PORT
  std::int64_t space_mb = 0;  // that packs may take; 0: what is free but for free_mb_min
  std::int64_t free_mb_min = 1024;
  std::int64_t register_ms = 2000;
  int threads = 0;  // 0: one for each core
};

class Searcher {
 public:
  Searcher(net::Loop& loop, net::Client server, PackFolder& folder, SearcherOptions options);
  ~Searcher();

  void start();
  net::Task<> stop();
  // POST /searcher/v1/{count,search,suggest} and GET /healthz.
  net::Task<Result<>> handle(net::Exchange& exchange);

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace quern::search
