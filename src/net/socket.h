// Sockets as plain descriptors: listening, and the addresses connect() takes. For use inside net
// only.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "io/descriptor.h"
#include "net/endpoint.h"

namespace quern::net {

// A Unix socket's name of any length: sun_path takes 107 bytes, so a longer one is reached through
// its folder's descriptor, which must stay open while the address is used.
class UnixAddress {
 public:
  static Result<UnixAddress> open(const std::string& path);

  // The address of a neighbour in the same folder, for binding under a temporary name.
  Result<sockaddr_storage> storage(const std::string& name) const;
  Result<sockaddr_storage> storage() const { return storage(name_); }
  int folder() const { return folder_.get(); }
  const std::string& name() const { return name_; }

 private:
  io::Descriptor folder_;
  std::string folder_path_;
  std::string name_;
};

struct Listening {
  io::Descriptor fd;
  Endpoint endpoint;        // with the port that was really taken
  std::uint64_t inode = 0;  // of a Unix socket's name, 0 for TCP
};
// A name that a dead process left is replaced, atomically and only when we already listen, so that
// no client meets a socket that refuses. Conflict where something else than a socket has the name,
// or where the port is taken.
Result<Listening> listen_on(const Endpoint& endpoint, int backlog, unsigned unix_mode);
// Removes a Unix socket's name if it is still ours.
void remove_name(const Listening& listening);

// Addresses to try in order, for an endpoint whose host is an address; empty for a name.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};
std::vector<SocketAddress> numeric_addresses(const Endpoint& endpoint);

socklen_t address_size(const sockaddr_storage& storage);
PeerKind peer_kind(int fd);
// "192.0.2.7", without its port; "local" for a Unix socket, "" where it has gone.
std::string peer_address(int fd);
// Non-blocking, and without Nagle's delay where it is TCP.
void prepare_stream(int fd);

Error socket_error(std::string_view doing, int error_number);

}  // namespace quern::net
