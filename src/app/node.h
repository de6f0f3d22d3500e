// Node: everything a process needs to serve a store: the folder's lock, the database, the writer,
// the readers, and the HTTP server over them. `quern serve` is one, and so is any command that
// finds nobody serving its folder.
//
// A SQLite folder has exactly one: whoever holds the folder's lock. It serves the folder's socket
// for the other commands while it lives. On PostgreSQL any number of nodes work side by side.
//
// Threads: the loop's. Lifetime: close() before the loop ends; the destructor only cuts.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "api/events.h"
#include "api/service.h"
#include "app/config.h"
#include "app/supervisor.h"
#include "blob/blob.h"
#include "crawl/service.h"
#include "fileset/network.h"
#include "fileset/service.h"
#include "io/owner_lock.h"
#include "io/pool.h"
#include "net/loop.h"
#include "net/server.h"
#include "queue/engine.h"
#include "queue/http_processor.h"
#include "queue/timer_service.h"
#include "research/curator.h"
#include "research/service.h"
#include "search/service.h"
#include "step/pipeline.h"
#include "store/database.h"
#include "store/readers.h"
#include "store/writer.h"

namespace quern::step {
class Renderer;
}

namespace quern::app {

enum class Listen {
  FolderOnly,     // the socket in the data folder (none with PostgreSQL)
  ConfiguredToo,  // and config.listen: `quern serve`
};
// Whether it claims and does work: `quern serve`, and `quern add` on its own. A search on its own
// only packs.
enum class Working { No, OnlyPacks, Yes };

class Node {
 public:
  // Busy where another process owns the folder.
  static Result<std::unique_ptr<Node>> open(net::Loop& loop, const Config& config, Listen listen,
                                            Working working);
  ~Node();

  const std::vector<net::Endpoint>& endpoints() const { return server_->endpoints(); }
  // A connection to itself, for the command that runs in this process.
  Result<io::Descriptor> connect();
  // What is under way may finish for that long; then leases are given up, writer and readers end.
  net::Task<> close(std::int64_t grace_ms);

 private:
  Node() = default;
  Result<> open_folder(const Config& config);
  Result<> open_store(const Config& config);
  Result<> expect_database(const Config& config);
  Result<> open_parts(const Config& config);
  Result<> open_pipeline(net::Loop& loop, const Config& config, Working working);
  Result<> serve(net::Loop& loop, const Config& config, Listen listen);
  Result<> match_folder(const Config& config);
  Result<> recover(const Config& config);
  Result<> open_search(net::Loop& loop, const Config& config);
  Result<> open_crawl(net::Loop& loop, const Config& config);
  void open_filesets(net::Loop& loop, const Config& config);
  void open_curator(net::Loop& loop, const Config& config);
  Result<> open_research(net::Loop& loop, const Config& config, Working working);
  void free_leases_of(const std::string& researcher);
  Result<> work_on_filesets(net::Loop& loop, const Config& config, queue::Processors& processors);
  Result<> work(net::Loop& loop, const Config& config, Working working);
  Result<> go_on(net::Loop& loop);
  void poke(queue::PartitionId partition);

  std::optional<io::OwnerLock> lock_;
  std::optional<io::OwnerLock> file_lock_;  // of a SQLite file that lies in another folder
  std::unique_ptr<store::Database> database_;
  std::unique_ptr<store::Writer> writer_;
  std::unique_ptr<store::Readers> readers_;
  std::unique_ptr<io::Pool> pool_;
  std::unique_ptr<blob::BlobStore> blobs_;
  std::unique_ptr<api::EventBus> bus_;
  std::unique_ptr<api::PipelineFeed> feed_;
  std::shared_ptr<step::Pipeline> pipeline_;
  std::shared_ptr<step::Renderer> renderer_;
  std::unique_ptr<search::Service> search_;
  std::unique_ptr<crawl::Service> crawl_;
  std::unique_ptr<fileset::Network> network_;  // only where it works
  std::unique_ptr<fileset::Service> filesets_;
  std::unique_ptr<research::Curator> curator_;
  std::unique_ptr<research::Service> research_;
  std::shared_ptr<const api::Parts> parts_;
  std::filesystem::path worker_socket_;  // of PostgreSQL nodes: for their own workers
  std::unique_ptr<Supervisor> supervisor_;
  // Only where it works; a command that owns a folder for an instant does not.
  std::shared_ptr<queue::HttpProcessor> handlers_;
  std::unique_ptr<queue::Engine> engine_;
  std::unique_ptr<queue::TimerService> timers_;
  std::shared_ptr<const api::Router> router_;
  std::optional<net::Server> server_;
};

}  // namespace quern::app
