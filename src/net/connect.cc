// connect(): from an endpoint to a connected socket.
#include <fcntl.h>
#include <sys/socket.h>

#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <cstring>

#include "net/client.h"
#include "net/socket.h"
#include "net/stream.h"
#include "net/waiter.h"

namespace quern::net {
namespace asio = boost::asio;
namespace {

constexpr std::size_t kAddressesMax = 8;
// A Unix socket whose queue is full refuses at once instead of making us wait.
constexpr std::int64_t kUnixRetryMs = 10;

Error unavailable(std::string_view doing, int error_number) {
  const Error error = socket_error(doing, error_number);
  return Error{error.kind() == Errc::Denied ? Errc::Denied : Errc::Unavailable, error.message()};
}

Task<Result<io::Descriptor>> connect_unix(Loop* loop, std::string path, Instant deadline) {
  auto address = UnixAddress::open(path);
  if (!address) co_return Error{Errc::Unavailable, address.error().message()};
  CO_TRY_ASSIGN(const sockaddr_storage storage, address->storage());
  io::Descriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) co_return socket_error("creating a socket", errno);
  while (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&storage), address_size(storage)) !=
         0) {
    if (errno == EINTR) continue;
    if (errno != EAGAIN) co_return unavailable("connecting to " + path, errno);
    if (std::chrono::steady_clock::now() >= deadline) {
      co_return Error{Errc::Timeout, "connecting to " + path + ": its queue is full"};
    }
    co_await loop->sleep_until(std::min(deadline, in_ms(kUnixRetryMs)));
  }
  co_return fd;
}

Task<Result<io::Descriptor>> connect_tcp(Loop* loop, SocketAddress address, Instant deadline) {
  const int family = address.storage.ss_family;
  io::Descriptor fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) co_return socket_error("creating a socket", errno);
  prepare_stream(fd.get());
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.size) == 0) {
    co_return fd;
  }
  if (errno != EINPROGRESS && errno != EINTR) co_return unavailable("connecting", errno);
  // The stream waits on a second name of the socket, and takes it along when it goes.
  ByteCounts unused;
  const int second = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0);
  if (second < 0) co_return socket_error("connecting", errno);
  const auto stream = std::make_shared<Stream>(*loop, second, &unused);
  CO_TRY(co_await stream->wait_connected(deadline));
  co_return fd;
}

// What a lookup, which no deadline can stop, still writes to when nobody waits any more.
struct Lookup {
  explicit Lookup(Loop& loop) : resolver(loop.context()), done(loop) {}

  asio::ip::tcp::resolver resolver;
  Event done;
  bool finished = false;
  std::vector<SocketAddress> addresses;
  std::string failure;
};

void keep_addresses(Lookup& lookup, const asio::ip::tcp::resolver::results_type& results) {
  for (const auto& entry : results) {
    if (lookup.addresses.size() == kAddressesMax) break;
    SocketAddress address;
    std::memcpy(&address.storage, entry.endpoint().data(), entry.endpoint().size());
    address.size = static_cast<socklen_t>(entry.endpoint().size());
    lookup.addresses.push_back(address);
  }
}

Task<Result<std::vector<SocketAddress>>> resolve(Loop* loop, Endpoint endpoint, Instant deadline) {
  if (auto numeric = numeric_addresses(endpoint); !numeric.empty()) co_return numeric;
  auto lookup = std::make_shared<Lookup>(*loop);
  const auto found = [lookup](const boost::system::error_code& error, const auto& results) {
    lookup->finished = true;
    if (error) lookup->failure = error.message();
    keep_addresses(*lookup, results);
    lookup->done.notify_all();
  };
  lookup->resolver.async_resolve(endpoint.host, std::to_string(endpoint.port), found);
  while (!lookup->finished) {
    if (co_await lookup->done.wait(deadline) == WaitEnd::TimedOut) {
      co_return Error{Errc::Timeout, "looking up " + endpoint.host};
    }
  }
  if (lookup->addresses.empty()) {
    co_return Error{Errc::Unavailable, "looking up " + endpoint.host + ": " + lookup->failure};
  }
  co_return std::move(lookup->addresses);
}

}  // namespace

Task<Result<io::Descriptor>> connect(Loop& loop, Endpoint endpoint, std::int64_t connect_ms) {
  const Instant deadline = in_ms(connect_ms);
  if (endpoint.kind == Endpoint::Kind::Unix) {
    co_return co_await connect_unix(&loop, endpoint.path, deadline);
  }
  CO_TRY_ASSIGN(const auto addresses, co_await resolve(&loop, endpoint, deadline));
  Result<io::Descriptor> last = Error{Errc::Unavailable, "no address"};
  for (const SocketAddress& address : addresses) {
    last = co_await connect_tcp(&loop, address, deadline);
    if (last) break;
  }
  co_return std::move(last).with_context(endpoint.to_string());
}

}  // namespace quern::net
