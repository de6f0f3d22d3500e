// Server: HTTP/1.1 on TCP and Unix sockets, one handler for all requests.
//
// Guarantee: whatever a peer does (lies, stalls, vanishes, floods), it costs a bounded amount of
// memory for a bounded time, and no other connection notices. ServerOptions names every bound. How:
// a coroutine per connection, requests of a connection one after the other, deadlines on every wait
// for the peer. Malformed requests get 400 (431, 408, 417) and the connection is closed.
//
// Beyond connections_max a connection is accepted, answered 503 with Retry-After and closed: left
// in the kernel's queue, a health check or a person would wait without knowing why. Out of
// descriptors, it pauses accepting instead, with backoff, since there is nothing to answer with.
//
// Threads: the loop's only. Lifetime: destroying a server cuts its connections, but handlers that
// wait for something else go on until they have it: what they use must outlive them, or co_await
// stop(). A server is destroyed before its loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/descriptor.h"
#include "net/endpoint.h"
#include "net/exchange.h"
#include "net/loop.h"

namespace quern::net {

using Handler = std::function<Task<Result<>>(Exchange&)>;

struct ServerOptions {
  std::vector<Endpoint> listen;
  std::size_t connections_max = 16'384;
  std::size_t refusals_max = 64;  // 503s under way at once; connections beyond are just closed
  std::size_t head_bytes_max = kHeadBytesMaxDefault;
  std::uint64_t body_bytes_max = 1024 * 1024;  // unless the handler says otherwise
  std::int64_t head_ms = 30'000;               // from its first byte, or from the connection
  std::int64_t idle_ms = 120'000;              // longer than the 90 s of Go's clients
  std::int64_t body_stall_ms = 60'000;
  std::int64_t write_stall_ms = 60'000;
  // What a handler left unread of a body is read and dropped within these, so that the connection
  // can be used again; beyond, it is closed.
  std::uint64_t drain_bytes_max = 256 * 1024;
  std::int64_t drain_ms = 5'000;
  // A connection closed by us while its peer still sends: how long it may go on, so that it reads
  // our answer before the reset.
  std::int64_t linger_ms = 2'000;
  std::uint64_t linger_bytes_max = 8 * 1024 * 1024;
  unsigned unix_mode = 0600;
  int backlog = 4096;
};

struct ServerMetrics {
  std::uint64_t connections_open = 0;
  std::uint64_t connections_total = 0;
  std::uint64_t connections_refused = 0;
  std::uint64_t requests_in_flight = 0;
  std::uint64_t requests_total = 0;
  std::uint64_t requests_malformed = 0;
  std::uint64_t accept_pauses = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
};

class Server {
 public:
  // Listens on all endpoints, or on none and says why: Conflict where an address is taken, Denied,
  // Invalid. Of a Unix socket's path the caller is the owner: a socket found there is replaced.
  static Result<Server> open(Loop& loop, ServerOptions options, Handler handler);
  Server(Server&&) noexcept;
  Server& operator=(Server&&) noexcept;
  ~Server();

  // As listened on; port 0 has become the real one.
  const std::vector<Endpoint>& endpoints() const;
  // Serves a connected socket (one end of a socketpair, say) like an accepted one.
  void adopt(io::Descriptor socket);

  // Stops accepting, closes idle connections, ends long polls with Stopping, lets requests in
  // flight finish for that long, then cuts them. Returns when every connection has gone, or when
  // kCutWaitMs after the cut some handler still waits for something else; says how many were cut.
  Task<std::size_t> stop(std::int64_t grace_ms);
  ServerMetrics metrics() const;

 private:
  explicit Server(std::shared_ptr<class ServerCore> core);

  std::shared_ptr<class ServerCore> core_;
};

inline constexpr std::int64_t kCutWaitMs = 1'000;

}  // namespace quern::net
