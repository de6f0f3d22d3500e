#include "support/reserved_port.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include "base/check.h"

namespace quern::support {

ReservedPort::ReservedPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int on = 1;
  CHECK(::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  CHECK(::bind(socket_.get(), generic, size) == 0);
  CHECK(::getsockname(socket_.get(), generic, &size) == 0);
  number_ = ::ntohs(address.sin_port);
}

}  // namespace quern::support
