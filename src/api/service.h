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
#include "blob/blob.h"
#include "counter/snapshot.h"
#include "io/clock.h"
#include "io/pool.h"
#include "net/loop.h"
#include "net/server.h"
#include "queue/engine.h"
#include "step/pipeline.h"
#include "store/readers.h"
#include "store/writer.h"

namespace quern::search {
class Service;
}
namespace quern::crawl {
class Service;
}
namespace quern::fileset {
class Service;
}
namespace quern::step {
class Renderer;
}
namespace quern::research {
class Curator;
class Service;
}  // namespace quern::research

namespace quern::api {

class EventBus;

struct Parts {
  net::Loop& loop;
  store::Writer& writer;
  store::Readers& readers;
  io::Pool& pool;
  blob::BlobStore& blobs;
  step::Pipeline& pipeline;
  step::Renderer& renderer;
  std::int64_t shards = 1;  // of a new job
  std::int64_t free_bytes_min = std::int64_t{1} << 30;
  std::filesystem::path data;  // the folder whose free space is watched
  std::filesystem::path snapshots;
  std::function<net::ServerMetrics()> http;  // of the server that serves this
  // Of the work engine. Something was put into a partition; a timer was set; how it goes; the
  // handlers whose last call failed, and how.
  std::function<void(queue::PartitionId)> poke;
  std::function<void()> poke_timers;
  std::function<queue::EngineStats()> engine;
  std::function<std::map<std::string, std::string>()> handler_trouble;
  EventBus* events = nullptr;  // null: nobody tells anything
  search::Service* search = nullptr;
  crawl::Service* crawl = nullptr;
  fileset::Service* filesets = nullptr;
  research::Curator* curator = nullptr;
  research::Service* research = nullptr;
};

// Everything that is served, with its guard. The parts must outlive the router.
std::shared_ptr<const Router> make_router(std::shared_ptr<const Parts> parts, HostRule rule);

void add_counter_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_check_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_health_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_partition_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_item_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_queue_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_limit_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_job_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_adding_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_step_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_upload_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_file_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_list_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_error_group_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_match_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_work_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_gate_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_explain_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_collection_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_retry_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_search_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_crawl_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_fileset_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_episode_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_research_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_finding_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_capture_routes(Router& router, std::shared_ptr<const Parts> parts);
void add_token_routes(Router& router, std::shared_ptr<const Parts> parts,
                      std::shared_ptr<Access> access);
void add_session_routes(Router& router, std::shared_ptr<Access> access);
void add_ui_routes(Router& router);
void add_event_routes(Router& router, std::shared_ptr<const Parts> parts);

inline constexpr std::size_t kJsonBodyBytesMax = 64 * 1024;

}  // namespace quern::api
