// quern searcher
#include <fmt/format.h>
#include <sys/random.h>

#include <boost/json.hpp>

#include "app/output.h"
#include "app/search_command.h"
#include "app/stop_signal.h"
#include "base/log.h"
#include "io/file.h"
#include "io/owner_lock.h"
#include "model/name.h"
#include "net/server.h"
#include "search/searcher.h"

namespace quern::app {
namespace {

constexpr char kIdFile[] = "searcher.id";
constexpr std::size_t kIdBytesMax = 256;

// The same after a restart, so that it is known for what it holds.
Result<std::string> load_id(const io::Path& folder, const std::string& named) {
  if (!named.empty()) {
    TRY(model::validate_name("a searcher", named));
    return named;
  }
  const Result<std::string> known = io::read_file(folder / kIdFile, kIdBytesMax);
  if (known.ok()) return known;
  if (known.error().kind() != Errc::Missing) return known;
  std::uint64_t bits[2];
  CHECK(::getrandom(bits, sizeof bits, 0) == sizeof bits);
  std::string id = fmt::format("{:016x}{:016x}", bits[0], bits[1]);
  TRY(io::write_file_durably(folder / kIdFile, id));
  return id;
}

}  // namespace

net::Task<Result<int>> serve_searcher(Command command, SearcherOrder order) {
  const Config& config = command.config;
  if (!config.server) {
    co_return Error{Errc::Invalid, "a searcher belongs to a server: say --server URL"};
  }
  if (!config.listen.is_local() && !config.insecure) {
    co_return Error{Errc::Denied,
                    fmt::format("listen = {}: other machines could reach it, and a searcher asks "
                                "nobody for a token; listen on 127.0.0.1, or say --insecure",
                                config.listen.to_string())};
  }
  StopSignal stop(command.loop);
  const io::Path folder = config.data / "searcher";
  CO_TRY(io::make_folders_durably(folder));
  CO_TRY_ASSIGN(const std::optional<io::OwnerLock> lock, io::OwnerLock::try_acquire(folder));
  if (!lock) co_return Error{Errc::Busy, fmt::format("{} is in use", folder.string())};
  search::SearcherOptions options;
  CO_TRY_ASSIGN(options.id, load_id(folder, order.id));
  CO_TRY_ASSIGN(const std::unique_ptr<search::PackFolder> packs,
                search::PackFolder::open(folder / "packs", search::PackFolder::Owner::Only));
  std::shared_ptr<search::Searcher> searcher;
  net::ServerOptions serving;
  serving.listen.push_back(config.listen);
  CO_TRY_ASSIGN(net::Server server,
                net::Server::open(command.loop, std::move(serving),
                                  [&searcher](net::Exchange& e) { return searcher->handle(e); }));
  options.address = order.address.empty() ? server.endpoints().front().to_string() : order.address;
  options.space_mb = order.space_mb;
  options.free_mb_min = config.free_bytes_min / (1024 * 1024);
  net::ClientOptions asking;
  asking.authorization = config.authorization;
  net::Client client(command.loop, *config.server, std::move(asking));
  searcher = std::make_shared<search::Searcher>(command.loop, std::move(client), *packs, options);
  const Result<> told =
      print_line(command.format == OutputFormat::Json
                     ? boost::json::serialize(boost::json::object{{"searcher", options.id},
                                                                  {"address", options.address}})
                     : fmt::format("searcher {} answers at {}", options.id, options.address));
  if (!told.ok()) log_warn("serve.unheard", {{"error", told.error().message()}});
  searcher->start();
  co_await stop.asked();
  co_await searcher->stop();
  co_await server.stop(config.grace_ms);
  co_return kExitDone;
}

}  // namespace quern::app
