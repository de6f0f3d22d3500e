#include "app/node.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "api/removal.h"
#include "api/uploads.h"
#include "base/log.h"
#include "io/file.h"
#include "io/system_error.h"
#include "queue/locked_partitions.h"
#include "queue/message.h"
#include "queue/timer_processor.h"
#include "research/release.h"
#include "step/import.h"
#include "step/renderer.h"

namespace quern::app {
namespace {

constexpr char kIdentityFile[] = "store.id";
constexpr std::size_t kIdentityBytesMax = 256;
// Disks and buckets answer several at once; what is hashed takes a core each.
constexpr int kPoolThreads = 4;

std::filesystem::path snapshot_folder(const Config& config) {
  return config.data / "snapshots";
}

std::filesystem::path folder_of(const std::filesystem::path& file) {
  return std::filesystem::absolute(file).parent_path();
}

// As many as the system lets us have: a connection costs a descriptor.
std::size_t open_files_max() {
  rlimit limit{};
  CHECK(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
  CHECK(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  return static_cast<std::size_t>(std::min<rlim_t>(limit.rlim_cur, 1'000'000));
}

// A transaction that is stopped in the middle must end well before another server takes over.
void keep_below_lease(store::PostgresOptions& options, std::int64_t lease_ms) {
  const int most_ms = static_cast<int>(lease_ms * 3 / 10);
  options.statement_ms_max = std::min(options.statement_ms_max, most_ms);
  options.lock_ms_max = std::min(options.lock_ms_max, most_ms);
  options.idle_in_transaction_ms_max = std::min(options.idle_in_transaction_ms_max, most_ms);
}

api::HostRule host_rule(const Config& config) {
  if (config.insecure) return api::HostRule::AnyHost;
  if (config.ask_everybody) return api::HostRule::AskEverybody;
  return config.listen.is_local() ? api::HostRule::LoopbackOnly : api::HostRule::Tokens;
}

Result<io::OwnerLock> own(const std::filesystem::path& folder) {
  TRY_ASSIGN(std::optional<io::OwnerLock> lock, io::OwnerLock::try_acquire(folder));
  if (!lock) return Error{Errc::Busy, fmt::format("{} is in use", folder.string())};
  return *std::move(lock);
}

}  // namespace

Result<std::unique_ptr<Node>> Node::open(net::Loop& loop, const Config& config, Listen listen,
                                         Working working) {
  std::unique_ptr<Node> node(new Node);
  TRY(node->open_folder(config));
  TRY(node->open_store(config));
  TRY(node->match_folder(config));
  TRY(node->recover(config));
  TRY(node->open_pipeline(loop, config, working));
  TRY(node->open_search(loop, config));
  TRY(node->open_crawl(loop, config));
  node->open_filesets(loop, config);
  node->open_curator(loop, config);
  TRY(node->open_research(loop, config, working));
  if (working != Working::No) TRY(node->work(loop, config, working));
  TRY(node->serve(loop, config, listen));
  if (working == Working::Yes) TRY(node->go_on(loop));
  return node;
}

// Members go in reverse order, so the server is cut before what its handlers use is gone; and the
// lock is given up last.
Node::~Node() {
  supervisor_.reset();
  server_.reset();
  engine_.reset();
  timers_.reset();
  curator_.reset();
  research_.reset();
  filesets_.reset();
  network_.reset();
  crawl_.reset();
  search_.reset();
  if (writer_) writer_->stop();
  if (readers_) readers_->stop();
  renderer_.reset();
  pipeline_.reset();
  feed_.reset();
  bus_.reset();
  pool_.reset();
  blobs_.reset();
  readers_.reset();
  writer_.reset();
}

Result<> Node::open_folder(const Config& config) {
  TRY(io::make_folders_durably(config.data));
  if (config.database.kind == store::StoreKind::Sqlite) {
    TRY_ASSIGN(lock_, own(config.data));
    const std::filesystem::path beside = folder_of(config.database.location);
    std::error_code missing;  // its folder: own() says so
    if (!std::filesystem::equivalent(beside, config.data, missing)) {
      Result<io::OwnerLock> owned = own(beside);
      // Its owner serves another data folder, so waiting for a socket in ours would be in vain.
      if (!owned.ok()) return Error{Errc::Unavailable, owned.error().message()};
      file_lock_ = *std::move(owned);
    }
  }
  return io::make_folders_durably(snapshot_folder(config));
}

Result<> Node::open_store(const Config& config) {
  TRY(expect_database(config));
  Result<> opened = open_parts(config);
  // Busy is kept for a folder that somebody else owns.
  if (opened.ok() || opened.error().kind() != Errc::Busy) return opened;
  return Error{Errc::Unavailable, opened.error().message()};
}

Result<> Node::open_parts(const Config& config) {
  store::DatabaseOptions options;
  options.migrate = config.migrate ? store::MigratePolicy::Apply : store::MigratePolicy::Refuse;
  keep_below_lease(options.postgres, config.engine.lease_ms);
  TRY_ASSIGN(database_, store::Database::open(config.database, options));
  store::WriterOptions writer = config.writer;
  writer.guard = std::make_shared<queue::PartitionGuard>();
  TRY_ASSIGN(writer_, store::Writer::open(*database_, writer));
  TRY_ASSIGN(readers_, store::Readers::open(*database_, {}));
  pool_ = std::make_unique<io::Pool>(io::PoolOptions{.threads = kPoolThreads});
  const auto owner = lock_ ? blob::BlobStore::Owner::Only : blob::BlobStore::Owner::OneOfMany;
  TRY_ASSIGN(blobs_, blob::BlobStore::open(config.blobs, *writer_, *readers_, owner));
  return {};
}

Result<> Node::open_pipeline(net::Loop& loop, const Config& config, Working working) {
  step::PipelineOptions options = config.pipeline;
  SupervisorOptions workers;
  if (working == Working::Yes) {
    workers.program = find_steps_program(config.steps_program);
    workers.steps = config.steps;
    const Installed installed = installed_steps(workers.program);
    workers.installed = installed.steps;
    if (installed.research) workers.researchers_max = config.local_researchers;
    workers.research_waits = [this] { return research_ && research_->is_unserved(); };
    workers.researcher_gone = [this](const std::string& name) { free_leases_of(name); };
    options.installed = workers.installed;
    if (!config.steps.on_demand) options.installed = {model::StepId::Detect};
    workers.server = config.socket_path();
    if (!lock_) {
      worker_socket_ = config.data / fmt::format("workers-{}.sock", ::getpid());
      workers.server = worker_socket_;
    }
  }
  bus_ = std::make_unique<api::EventBus>(loop);
  feed_ = std::make_unique<api::PipelineFeed>(
      api::PipelineFeed::Sources{
          loop, *readers_,
          [this](tree::JobId job) { return pipeline_ ? pipeline_->progress_in_flight(job) : 0.0; }},
      *bus_);
  step::PipelineEvents events;
  events.ingested = [this](tree::JobId job, const std::vector<tree::IngestedFile>& files) {
    feed_->ingested(job, files);
    crawl_->files_ingested(job, files);
    const auto is_document = [](const tree::IngestedFile& file) {
      return file.became == model::FileClass::Document;
    };
    if (std::any_of(files.begin(), files.end(), is_document)) search_->documents_changed();
  };
  events.changed = [this](tree::JobId job) { feed_->changed(job); };
  events.worker = [this](const step::WorkerKey& worker, step::WorkerState state) {
    feed_->worker_changed(worker, state);
  };
  events.waiting = [this](model::StepId) {
    if (supervisor_) supervisor_->wake();
  };
  pipeline_ = std::make_shared<step::Pipeline>(
      step::PipelineParts{loop, *writer_, *readers_, *pool_, *blobs_}, std::move(options),
      std::move(events));
  renderer_ =
      std::make_shared<step::Renderer>(pipeline_, [this](queue::PartitionId id) { poke(id); });
  supervisor_ = std::make_unique<Supervisor>(loop, *pipeline_, *writer_, std::move(workers));
  return {};
}

Result<> Node::open_search(net::Loop& loop, const Config& config) {
  search::Service::Parts parts{
      loop,
      *writer_,
      *readers_,
      *blobs_,
      config.data / "packs",
      lock_ ? search::PackFolder::Owner::Only : search::PackFolder::Owner::OneOfMany,
      [this](queue::PartitionId id) { poke(id); },
      [this] {
        if (timers_) timers_->poke();
      },
      {}};
  parts.published = [this](const std::string& collection, const search::PackReport& report) {
    bus_->publish(
        "pack.published",
        {{"collection", collection}, {"version", report.version}, {"documents", report.documents}});
  };
  TRY_ASSIGN(search_, search::Service::open(std::move(parts), config.search));
  return {};
}

Result<> Node::open_crawl(net::Loop& loop, const Config& config) {
  crawl::ServiceParts parts{
      .loop = loop,
      .writer = *writer_,
      .readers = *readers_,
      .pool = *pool_,
      .blobs = *blobs_,
      .data = config.data,
      .decide = {},
      .open_job = {},
      .poke_job = [this](tree::JobId job) { pipeline_->poke(job); },
      .poke = [this](queue::PartitionId id) { poke(id); },
      .poke_timers =
          [this] {
            if (timers_) timers_->poke();
          },
      .publish = [this](std::string_view name,
                        boost::json::object data) { bus_->publish(std::string(name), data); }};
  parts.decide = [this](const std::string& type) {
    step::Pipeline::Decision decision = pipeline_->decide(type, model::Ocr::No);
    return crawl::TypeDecision{std::move(decision.step), std::move(decision.failure)};
  };
  parts.open_job = [this](const tree::NewJob& order) {
    return step::open_import(*writer_, *readers_, order,
                             [this](queue::PartitionId id) { poke(id); });
  };
  TRY_ASSIGN(crawl_, crawl::Service::open(std::move(parts), config.crawl));
  return {};
}

void Node::open_filesets(net::Loop& loop, const Config& config) {
  fileset::ServiceParts parts{
      .loop = loop,
      .writer = *writer_,
      .readers = *readers_,
      .pool = *pool_,
      .blobs = *blobs_,
      .data = config.data,
      .decide = {},
      .open_job = {},
      .poke_job = [this](tree::JobId job) { pipeline_->poke(job); },
      .poke = [this](queue::PartitionId id) { poke(id); },
      .publish = [this](std::string_view name,
                        boost::json::object data) { bus_->publish(std::string(name), data); }};
  parts.decide = [this](const std::string& type) {
    step::Pipeline::Decision decision = pipeline_->decide(type, model::Ocr::No);
    return fileset::TypeDecision{std::move(decision.step), std::move(decision.failure)};
  };
  parts.open_job = [this](const tree::NewJob& order) {
    return step::open_import(*writer_, *readers_, order,
                             [this](queue::PartitionId id) { poke(id); });
  };
  filesets_ = std::make_unique<fileset::Service>(std::move(parts), config.filesets);
}

Result<> Node::open_research(net::Loop& loop, const Config& config, Working working) {
  research::ServiceParts parts{
      .loop = loop,
      .writer = *writer_,
      .readers = *readers_,
      .publish = [this](std::string_view name,
                        boost::json::object data) { bus_->publish(std::string(name), data); },
      .unserved =
          [this] {
            if (supervisor_) supervisor_->wake();
          }};
  research_ = std::make_unique<research::Service>(std::move(parts), config.research);
  if (working != Working::Yes) return {};
  // Those that a former owner of this folder had started died with it.
  if (lock_) {
    const std::string prefix(kLocalResearcher);
    TRY(writer_->run(writer_->control(),
                     [prefix](store::Tx& tx) { return research::release_leases(tx, prefix); }));
  }
  research_->start();
  return {};
}

void Node::free_leases_of(const std::string& researcher) {
  if (research_) research_->researcher_gone(researcher);
}

Result<> Node::work_on_filesets(net::Loop& loop, const Config& config,
                                queue::Processors& processors) {
  TRY_ASSIGN(network_, fileset::Network::open({loop, *pool_, config.data, crawl_->archives()},
                                              config.network));
  fileset::Backends backends{
      network_->outside(),
      [this](const fileset::ToolOrder& order) { return network_->tools(order); },
      [this] { network_->close(); }};
  return filesets_->add_processors(processors, std::move(backends));
}

void Node::open_curator(net::Loop& loop, const Config& config) {
  research::CuratorParts parts{
      .loop = loop,
      .writer = *writer_,
      .readers = *readers_,
      .pool = *pool_,
      .blobs = *blobs_,
      .data = config.data,
      .decide = {},
      .open_job = {},
      .poke_job = [this](tree::JobId job) { pipeline_->poke(job); },
      .poke = [this](queue::PartitionId id) { poke(id); },
      .publish = [this](std::string_view name,
                        boost::json::object data) { bus_->publish(std::string(name), data); },
      .changed = [this] { research_->poke(); }};
  parts.decide = [this](const std::string& type) {
    step::Pipeline::Decision decision = pipeline_->decide(type, model::Ocr::No);
    return research::TypeDecision{std::move(decision.step), std::move(decision.failure)};
  };
  parts.open_job = [this](const tree::NewJob& order) {
    return step::open_import(*writer_, *readers_, order,
                             [this](queue::PartitionId id) { poke(id); });
  };
  curator_ = std::make_unique<research::Curator>(std::move(parts), config.curator);
}

// A folder that had a database gets no new one in its place: the old one may only be elsewhere.
Result<> Node::expect_database(const Config& config) {
  if (config.database.kind != store::StoreKind::Sqlite) return {};
  TRY_ASSIGN(const bool had_one, io::path_exists(config.data / kIdentityFile));
  TRY_ASSIGN(const bool has_one, io::path_exists(config.database.location));
  if (!had_one || has_one) return {};
  return Error{Errc::Invalid,
               fmt::format("{} belongs to another database than {}, which is not there. Put it "
                           "back, name the right one with --db, or another folder with --data",
                           config.data.string(), config.database.redacted())};
}

// Files are judged by the rows of their database. A folder that meets another one (a mistaken --db,
// a database that is not mounted) is refused before anything is swept.
Result<> Node::match_folder(const Config& config) {
  const std::filesystem::path path = config.data / kIdentityFile;
  const Result<std::string> known = io::read_file(path, kIdentityBytesMax);
  if (!known.ok() && known.error().kind() != Errc::Missing) return known.error();
  if (!known.ok()) return io::write_file_durably(path, database_->identity());
  if (*known == database_->identity()) return {};
  return Error{
      Errc::Invalid,
      fmt::format(
          "{} belongs to another database than {}: none of its files was touched. Name the right "
          "one with --db, or another folder with --data",
          config.data.string(), config.database.redacted())};
}

// With the folder's lock in hand, whatever a former owner left half-done is ours to clear. Nodes
// that share a PostgreSQL have no such lock, and leave it.
Result<> Node::recover(const Config& config) {
  if (!lock_) return {};
  TRY_ASSIGN(const int swept,
             counter::sweep_snapshots({*writer_, *readers_, snapshot_folder(config)}));
  if (swept > 0) log_info("counter.swept", {{"files", swept}});
  for (bool done = false; !done;) {
    TRY_ASSIGN(done, writer_->run(writer_->control(), queue::end_all_owners));
  }
  return {};
}

Result<> Node::serve(net::Loop& loop, const Config& config, Listen listen) {
  parts_ = std::make_shared<api::Parts>(api::Parts{
      loop,
      *writer_,
      *readers_,
      *pool_,
      *blobs_,
      *pipeline_,
      *renderer_,
      config.shards,
      config.free_bytes_min,
      config.data,
      snapshot_folder(config),
      [this] { return server_ ? server_->metrics() : net::ServerMetrics{}; },
      [this](queue::PartitionId id) { poke(id); },
      [this] {
        if (timers_) timers_->poke();
      },
      [this] { return engine_ ? engine_->stats() : queue::EngineStats{}; },
      [this] { return handlers_ ? handlers_->trouble() : std::map<std::string, std::string>(); },
      bus_.get(),
      search_.get(),
      crawl_.get(),
      filesets_.get(),
      curator_.get(),
      research_.get()});
  router_ = api::make_router(parts_, host_rule(config));
  net::ServerOptions options;
  options.connections_max = std::min(options.connections_max, open_files_max() / 2);
  if (lock_) options.listen.push_back(net::Endpoint::unix_path(config.socket_path().string()));
  if (!worker_socket_.empty()) {
    options.listen.push_back(net::Endpoint::unix_path(worker_socket_.string()));
  }
  if (listen == Listen::ConfiguredToo) options.listen.push_back(config.listen);
  TRY_ASSIGN(server_, net::Server::open(loop, std::move(options),
                                        [router = router_](net::Exchange& exchange) {
                                          return router->handle(exchange);
                                        }));
  return {};
}

Result<> Node::work(net::Loop& loop, const Config& config, Working working) {
  queue::Processors processors;
  if (working == Working::Yes) {
    handlers_ = std::make_shared<queue::HttpProcessor>(loop, config.handlers);
    processors[queue::kHttpKind] = handlers_;
    processors[step::kImportKind] = pipeline_;
    processors[step::kRenderKind] = renderer_;
    TRY(crawl_->add_processors(processors));
    TRY(work_on_filesets(loop, config, processors));
    TRY(curator_->add_processors(processors));
  }
  search_->add_processors(processors);
  processors[queue::kind_of_queue("TIMER")] = queue::make_timer_processor([this] {
    if (timers_) timers_->poke();
  });
  queue::EngineOptions options = config.engine;
  options.changed = [this](const std::string& partition) { feed_->partition_changed(partition); };
  engine_ =
      std::make_unique<queue::Engine>(loop, *writer_, std::move(processors), std::move(options));
  timers_ = std::make_unique<queue::TimerService>(loop, *writer_, *readers_,
                                                  [this](queue::PartitionId id) { poke(id); });
  engine_->start();
  timers_->start();
  search_->start();
  crawl_->start();
  curator_->start();
  return {};
}

// What former processes left half-done: uploads that had all their bytes, deletions, blobs that
// nothing names. Before the first request, which comes when the loop runs.
Result<> Node::go_on(net::Loop& loop) {
  TRY(api::recover_uploads(parts_));
  loop.spawn("node.removals", api::resume_removals(parts_));
  loop.spawn("node.retries", api::resume_retries(parts_));
  supervisor_->start();
  return {};
}

void Node::poke(queue::PartitionId partition) {
  if (engine_) engine_->poke(partition);
}

Result<io::Descriptor> Node::connect() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return io::system_error(errno, "socketpair");
  }
  server_->adopt(io::Descriptor(ends[1]));
  return io::Descriptor(ends[0]);
}

net::Task<> Node::close(std::int64_t grace_ms) {
  const net::Instant deadline = net::in_ms(grace_ms);
  const auto left_ms = [deadline] {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - net::in_ms(0));
    return std::max<std::int64_t>(left.count(), 0);
  };
  if (engine_) engine_->stop_taking();
  if (supervisor_) co_await supervisor_->stop();
  pipeline_->stop();
  search_->stop_soon();
  co_await crawl_->stop();
  filesets_->stop();
  co_await curator_->stop();
  co_await research_->stop();
  if (timers_) co_await timers_->stop();
  if (engine_) co_await engine_->stop(left_ms());
  co_await search_->stop();
  const std::size_t cut = co_await server_->stop(left_ms());
  if (cut > 0) log_warn("serve.cut", {{"requests", cut}});
  // The pool's jobs wait for the other two, so those go first.
  writer_->stop();
  readers_->stop();
  pool_->stop();
  // Everybody has been answered now; let those that were still waiting end before their parts do.
  co_await server_->stop(0);
}

}  // namespace quern::app
