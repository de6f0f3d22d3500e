#include "net/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace quern::net {
namespace {

constexpr std::size_t kSunPathMax = sizeof(sockaddr_un::sun_path) - 1;

Errc kind_of(int error_number) {
  switch (error_number) {
    case EADDRINUSE:
    case EEXIST:
      return Errc::Conflict;
    case EACCES:
    case EPERM:
      return Errc::Denied;
    case ENOENT:
      return Errc::Missing;
    case EMFILE:
    case ENFILE:
      return Errc::Busy;
    case EADDRNOTAVAIL:
    case ENOTDIR:
    case ENAMETOOLONG:
    case EINVAL:
      return Errc::Invalid;
    default:
      return Errc::Unavailable;
  }
}

std::uint64_t socket_inode(int folder, const std::string& name) {
  struct stat status {};
  if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return 0;
  return S_ISSOCK(status.st_mode) ? status.st_ino : 0;
}

Result<> refuse_other_than_socket(const UnixAddress& address, const std::string& path) {
  struct stat status {};
  if (::fstatat(address.folder(), address.name().c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    return {};
  if (S_ISSOCK(status.st_mode)) return {};
  return Error{Errc::Conflict, fmt::format("{} exists and is not a socket", path)};
}

Result<> bind_and_listen(int fd, const sockaddr_storage& storage, int backlog) {
  const auto* address = reinterpret_cast<const sockaddr*>(&storage);
  if (::bind(fd, address, address_size(storage)) != 0) return socket_error("binding", errno);
  if (::listen(fd, backlog) != 0) return socket_error("listening", errno);
  return {};
}

// Bound under a name of its own, given its mode, listened on, and only then renamed into place.
Result<Listening> listen_unix(const Endpoint& endpoint, int backlog, unsigned mode) {
  TRY_ASSIGN(const UnixAddress address, UnixAddress::open(endpoint.path));
  TRY(refuse_other_than_socket(address, endpoint.path));
  io::Descriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return socket_error("creating a socket", errno);

  const std::string temporary = fmt::format(".{}.{}", ::getpid(), fd.get());
  ::unlinkat(address.folder(), temporary.c_str(), 0);
  TRY_ASSIGN(const sockaddr_storage storage, address.storage(temporary));
  const auto* raw = reinterpret_cast<const sockaddr*>(&storage);
  if (::bind(fd.get(), raw, address_size(storage)) != 0) return socket_error("binding", errno);
  // The name of a socket holds no data, so none of this is a durable write.
  if (::fchmodat(address.folder(), temporary.c_str(), mode, 0) != 0 ||
      ::listen(fd.get(), backlog) != 0 ||
      ::renameat(address.folder(), temporary.c_str(), address.folder(), address.name().c_str()) !=
          0) {
    const int failure = errno;
    ::unlinkat(address.folder(), temporary.c_str(), 0);
    return socket_error("listening on " + endpoint.path, failure);
  }
  const std::uint64_t inode = socket_inode(address.folder(), address.name());
  return Listening{std::move(fd), endpoint, inode};
}

std::uint16_t bound_port(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return 0;
  if (storage.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<sockaddr_in&>(storage).sin_port);
  }
  return ntohs(reinterpret_cast<sockaddr_in6&>(storage).sin6_port);
}

// A host name is looked up here, blocking: servers listen once, at their start.
Result<SocketAddress> listening_address(const Endpoint& endpoint) {
  if (auto numeric = numeric_addresses(endpoint); !numeric.empty()) return numeric[0];
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(endpoint.port);
  if (const int failure = ::getaddrinfo(endpoint.host.c_str(), port.c_str(), &hints, &found)) {
    return Error{Errc::Invalid, fmt::format("{}: {}", endpoint.host, ::gai_strerror(failure))};
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, ::freeaddrinfo);
  SocketAddress address;
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  address.size = found->ai_addrlen;
  return address;
}

Result<Listening> listen_tcp(const Endpoint& endpoint, int backlog) {
  TRY_ASSIGN(const SocketAddress address, listening_address(endpoint));
  const int family = address.storage.ss_family;
  io::Descriptor fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return socket_error("creating a socket", errno);
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (family == AF_INET6) ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  TRY(bind_and_listen(fd.get(), address.storage, backlog).with_context(endpoint.to_string()));
  Listening listening{std::move(fd), endpoint, 0};
  listening.endpoint.port = bound_port(listening.fd.get());
  return listening;
}

bool is_loopback(const sockaddr_storage& storage) {
  if (storage.ss_family == AF_INET) {
    const auto& address = reinterpret_cast<const sockaddr_in&>(storage);
    return (ntohl(address.sin_addr.s_addr) >> 24) == 127;
  }
  const auto& address = reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&address)) return address.s6_addr[12] == 127;
  return IN6_IS_ADDR_LOOPBACK(&address);
}

}  // namespace

Error socket_error(std::string_view doing, int error_number) {
  return Error{kind_of(error_number), fmt::format("{}: {}", doing, std::strerror(error_number))};
}

Result<UnixAddress> UnixAddress::open(const std::string& path) {
  UnixAddress address;
  const auto slash = path.rfind('/');
  address.name_ = slash == std::string::npos ? path : path.substr(slash + 1);
  address.folder_path_ = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  address.folder_ =
      io::Descriptor(::open(address.folder_path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (address.folder_.get() < 0) return socket_error("opening " + address.folder_path_, errno);
  return address;
}

Result<sockaddr_storage> UnixAddress::storage(const std::string& name) const {
  std::string path = folder_path_ == "." ? name : folder_path_ + name;
  if (path.size() > kSunPathMax) path = fmt::format("/proc/self/fd/{}/{}", folder_.get(), name);
  if (path.size() > kSunPathMax) return socket_error("naming the socket " + name, ENAMETOOLONG);
  sockaddr_storage storage{};
  auto& address = reinterpret_cast<sockaddr_un&>(storage);
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return storage;
}

Result<Listening> listen_on(const Endpoint& endpoint, int backlog, unsigned unix_mode) {
  if (endpoint.kind == Endpoint::Kind::Unix) return listen_unix(endpoint, backlog, unix_mode);
  return listen_tcp(endpoint, backlog);
}

void remove_name(const Listening& listening) {
  if (listening.inode == 0) return;
  const auto address = UnixAddress::open(listening.endpoint.path);
  if (!address || socket_inode(address->folder(), address->name()) != listening.inode) return;
  ::unlinkat(address->folder(), address->name().c_str(), 0);
}

std::vector<SocketAddress> numeric_addresses(const Endpoint& endpoint) {
  SocketAddress address;
  auto& v4 = reinterpret_cast<sockaddr_in&>(address.storage);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(address.storage);
  if (::inet_pton(AF_INET, endpoint.host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(endpoint.port);
  } else if (::inet_pton(AF_INET6, endpoint.host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(endpoint.port);
  } else {
    return {};
  }
  address.size = address_size(address.storage);
  return {address};
}

socklen_t address_size(const sockaddr_storage& storage) {
  switch (storage.ss_family) {
    case AF_INET:
      return sizeof(sockaddr_in);
    case AF_INET6:
      return sizeof(sockaddr_in6);
    default:
      return sizeof(sockaddr_un);
  }
}

PeerKind peer_kind(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0)
    return PeerKind::TcpOther;
  if (storage.ss_family == AF_UNIX) return PeerKind::Unix;
  return is_loopback(storage) ? PeerKind::TcpLoopback : PeerKind::TcpOther;
}

std::string peer_address(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return "";
  if (storage.ss_family == AF_UNIX) return "local";
  char text[NI_MAXHOST] = {};
  const int failed = ::getnameinfo(reinterpret_cast<const sockaddr*>(&storage), size, text,
                                   sizeof text, nullptr, 0, NI_NUMERICHOST);
  return failed == 0 ? text : "";
}

void prepare_stream(int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // fails on a Unix socket, rightly
}

}  // namespace quern::net
