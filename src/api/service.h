// Service: the HTTP resources over an opened store. It owns no threads and no sockets; app wires
// it.
//
// Handlers run on the loop; what blocks goes to the writer, the readers or the pool (api/await.h).
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "api/router.h"
#include "counter/snapshot.h"
#include "io/clock.h"
#include "io/pool.h"
#include "net/loop.h"
#include "net/server.h"
#include "queue/engine.h"
#include "store/readers.h"
#include "store/writer.h"

namespace quern::api {

struct Parts {
  net::Loop& loop;
  store::Writer& writer;
  store::Readers& readers;
  io::Pool& pool;
  std::filesystem::path data;  // the folder whose free space is watched
  std::filesystem::path snapshots;
  std::function<net::ServerMetrics()> http;  // of the server that serves this
  // Of the work engine. Something was put into a partition; a timer was set; how it goes; the
  // handlers whose last call failed, and how.
  std::function<void(queue::PartitionId)> poke;
  std::function<void()> poke_timers;
  std::function<queue::EngineStats()> engine;
  std::function<std::map<std::string, std::string>()> handler_trouble;
};

// Everything that is served, with its guard. The parts must outlive the router.
std::shared_ptr<const Router> make_router(std::shared_ptr<const Parts> parts, HostRule rule);

void add_counter_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_health_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_partition_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_item_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_queue_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_limit_routes(Router& router, std::shared_ptr<const Parts> parts);

inline constexpr std::size_t kJsonBodyBytesMax = 64 * 1024;

}  // namespace quern::api
