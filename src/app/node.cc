#include "app/node.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include "base/log.h"
#include "io/file.h"
#include "io/system_error.h"

namespace quern::app {
namespace {

std::filesystem::path snapshot_folder(const Config& config) {
  return config.data / "snapshots";
}

std::filesystem::path folder_of(const std::filesystem::path& file) {
  return std::filesystem::absolute(file).parent_path();
}

Result<io::OwnerLock> own(const std::filesystem::path& folder) {
  TRY_ASSIGN(std::optional<io::OwnerLock> lock, io::OwnerLock::try_acquire(folder));
  if (!lock) return Error{Errc::Busy, fmt::format("{} is in use", folder.string())};
  return *std::move(lock);
}

}  // namespace

Result<std::unique_ptr<Node>> Node::open(net::Loop& loop, const Config& config, Listen listen) {
  std::unique_ptr<Node> node(new Node);
  TRY(node->open_folder(config));
  TRY(node->open_store(config));
  TRY(node->recover(config));
  TRY(node->serve(loop, config, listen));
  return node;
}

// Members go in reverse order, so the server is cut before what its handlers use is gone; and the
// lock is given up last.
Node::~Node() {
  server_.reset();
  pool_.reset();
  readers_.reset();
  writer_.reset();
}

Result<> Node::open_folder(const Config& config) {
  TRY(io::make_folders_durably(config.data));
  if (config.database.kind == store::StoreKind::Sqlite) {
    TRY_ASSIGN(lock_, own(config.data));
    const std::filesystem::path beside = folder_of(config.database.location);
    if (!std::filesystem::equivalent(beside, config.data)) {
      TRY_ASSIGN(file_lock_, own(beside));
    }
  }
  return io::make_folders_durably(snapshot_folder(config));
}

Result<> Node::open_store(const Config& config) {
  store::DatabaseOptions options;
  options.migrate = config.migrate ? store::MigratePolicy::Apply : store::MigratePolicy::Refuse;
  TRY_ASSIGN(database_, store::Database::open(config.database, options));
  TRY_ASSIGN(writer_, store::Writer::open(*database_, config.writer));
  TRY_ASSIGN(readers_, store::Readers::open(*database_, {}));
  pool_ = std::make_unique<io::Pool>(io::PoolOptions{});
  return {};
}

// With the folder's lock in hand, whatever a former owner left half-done is ours to clear. Nodes
// that share a PostgreSQL have no such lock, and leave it.
Result<> Node::recover(const Config& config) {
  if (!lock_) return {};
  TRY_ASSIGN(const int swept,
             counter::sweep_snapshots({*writer_, *readers_, snapshot_folder(config)}));
  if (swept > 0) log_info("counter.swept", {{"files", swept}});
  return {};
}

Result<> Node::serve(net::Loop& loop, const Config& config, Listen listen) {
  auto parts = std::make_shared<api::Parts>(
      api::Parts{loop, *writer_, *readers_, *pool_, config.data, snapshot_folder(config),
                 [this] { return server_ ? server_->metrics() : net::ServerMetrics{}; }});
  router_ = api::make_router(
      parts, config.insecure ? api::HostRule::AnyHost : api::HostRule::LoopbackOnly);
  net::ServerOptions options;
  if (lock_) options.listen.push_back(net::Endpoint::unix_path(config.socket_path().string()));
  if (listen == Listen::ConfiguredToo) options.listen.push_back(config.listen);
  TRY_ASSIGN(server_, net::Server::open(loop, std::move(options),
                                        [router = router_](net::Exchange& exchange) {
                                          return router->handle(exchange);
                                        }));
  return {};
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
  const std::size_t cut = co_await server_->stop(grace_ms);
  if (cut > 0) log_warn("serve.cut", {{"requests", cut}});
  pool_->stop();
  writer_->stop();
  readers_->stop();
}

}  // namespace quern::app
