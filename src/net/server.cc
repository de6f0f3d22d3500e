#include "net/server.h"

#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/log.h"
#include "io/clock.h"
#include "net/connection.h"
#include "net/server_core.h"

namespace quern::net {
namespace asio = boost::asio;
namespace {

constexpr int kAcceptsAtOnceMax = 64;
constexpr std::int64_t kAcceptPauseMinMs = 20;
constexpr std::int64_t kAcceptPauseMaxMs = 1'000;

// Out of something that may come back; any other failure concerns the one connection.
bool is_exhaustion(int error_number) {
  return error_number == EMFILE || error_number == ENFILE || error_number == ENOMEM ||
         error_number == ENOBUFS;
}

}  // namespace

ServerCore::ServerCore(Loop& the_loop, ServerOptions the_options, Handler the_handler)
    : loop(the_loop),
      options(std::move(the_options)),
      handler(std::move(the_handler)),
      connection_gone(the_loop) {}

Result<> ServerCore::listen() {
  for (const Endpoint& endpoint : options.listen) {
    auto listening = listen_on(endpoint, options.backlog, options.unix_mode);
    if (!listening) {
      close_listeners();
      return std::move(listening).error().with_context("listening on " + endpoint.to_string());
    }
    endpoints.push_back(listening->endpoint);
    const int fd = listening->fd.release();
    listeners.push_back({*std::move(listening),
                         std::make_unique<asio::posix::stream_descriptor>(loop.context(), fd)});
  }
  for (std::size_t i = 0; i < listeners.size(); ++i) {
    loop.spawn("net.accept", accept_loop(shared_from_this(), i));
  }
  return {};
}

Task<> ServerCore::accept_loop(std::shared_ptr<ServerCore> core, std::size_t listener) {
  std::int64_t pause_ms = kAcceptPauseMinMs;
  while (!core->stopping) {
    auto& descriptor = *core->listeners[listener].descriptor;
    const auto [error] = co_await descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                                                        asio::as_tuple(asio::use_awaitable));
    if (error || core->stopping) co_return;
    const int failure = core->accept_some(descriptor.native_handle());
    if (failure == 0) {
      pause_ms = kAcceptPauseMinMs;
      continue;
    }
    ++core->metrics.accept_pauses;
    log_warn("net.accept_paused", {{"error", std::strerror(failure)}, {"pause_ms", pause_ms}});
    co_await core->loop.sleep_until(in_ms(pause_ms));
    pause_ms = std::min(pause_ms * 2, kAcceptPauseMaxMs);
  }
}

int ServerCore::accept_some(int listening) {
  for (int i = 0; i < kAcceptsAtOnceMax; ++i) {
    const int fd = ::accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      adopt(io::Descriptor(fd));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return 0;
    } else if (is_exhaustion(errno)) {
      return errno;
    }
    // Anything else (ECONNABORTED, EPROTO...) was the fate of one connection: go on with the next.
  }
  return 0;
}

void ServerCore::adopt(io::Descriptor socket) {
  ++metrics.connections_total;
  const bool full = connections.size() >= options.connections_max;
  if (full || stopping) ++metrics.connections_refused;
  if (stopping || (full && refusals >= options.refusals_max)) return;
  prepare_stream(socket.get());
  auto connection = std::make_shared<Connection>(shared_from_this(), socket.release());
  if (full) {
    ++refusals;
    loop.spawn("net.refusal", Connection::refuse(std::move(connection)));
  } else {
    loop.spawn("net.connection", Connection::serve(std::move(connection)));
  }
}

void ServerCore::close_listeners() {
  for (Listener& listener : listeners) {
    if (!listener.descriptor->is_open()) continue;
    remove_name(listener.listening);
    boost::system::error_code ignored;
    listener.descriptor->close(ignored);
  }
}

void ServerCore::begin_stopping() {
  stopping = true;
  close_listeners();
  // A copy: a connection may leave the set when told.
  const std::vector<Connection*> all(connections.begin(), connections.end());
  for (Connection* connection : all) connection->stopping();
}

std::size_t ServerCore::cut_all() {
  const std::vector<Connection*> all(connections.begin(), connections.end());
  for (Connection* connection : all) connection->cut();
  return all.size();
}

const std::string& ServerCore::date() {
  const std::int64_t now_s = io::system_clock().now_us() / 1'000'000;
  if (now_s == date_s_) return date_;
  date_s_ = now_s;
  const std::time_t time = now_s;
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  char text[64];
  // The C locale's names: nothing of ours sets another.
  const std::size_t size = std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
  date_.assign(text, size);
  return date_;
}

Result<Server> Server::open(Loop& loop, ServerOptions options, Handler handler) {
  auto core = std::make_shared<ServerCore>(loop, std::move(options), std::move(handler));
  TRY(core->listen());
  return Server(std::move(core));
}

Server::Server(std::shared_ptr<ServerCore> core) : core_(std::move(core)) {}
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;

Server::~Server() {
  if (!core_) return;
  core_->begin_stopping();
  core_->cut_all();
}

const std::vector<Endpoint>& Server::endpoints() const {
  return core_->endpoints;
}

void Server::adopt(io::Descriptor socket) {
  core_->adopt(std::move(socket));
}

ServerMetrics Server::metrics() const {
  ServerMetrics metrics = core_->metrics;
  metrics.connections_open = core_->connections.size();
  metrics.bytes_in = core_->bytes.in;
  metrics.bytes_out = core_->bytes.out;
  return metrics;
}

Task<std::size_t> Server::stop(std::int64_t grace_ms) {
  const auto core = core_;
  core->begin_stopping();
  const Instant grace_end = in_ms(grace_ms);
  while (!core->connections.empty()) {
    if (co_await core->connection_gone.wait(grace_end) == WaitEnd::TimedOut) break;
  }
  const std::size_t cut = core->cut_all();
  const Instant cut_end = in_ms(kCutWaitMs);
  while (!core->connections.empty()) {
    if (co_await core->connection_gone.wait(cut_end) == WaitEnd::TimedOut) break;
  }
  if (cut > 0) {
    log_warn("net.requests_cut", {{"cut", cut}, {"still_waiting", core->connections.size()}});
  }
  co_return cut;
}

}  // namespace quern::net
