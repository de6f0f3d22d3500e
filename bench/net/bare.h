// Bare sockets on loopback, without HTTP: the physical limit that net is compared with.
#pragma once

#include <string>
#include <thread>

#include "io/descriptor.h"
#include "net/endpoint.h"

namespace quern::bench {

// Answers every `request_bytes` it reads with the same bytes: an epoll loop on a thread, nothing
// more.
class EchoServer {
 public:
  EchoServer(std::size_t request_bytes, std::string response);
  ~EchoServer();
  const net::Endpoint& endpoint() const { return endpoint_; }

 private:
  void run();

  std::size_t request_bytes_;
  std::string response_;
  net::Endpoint endpoint_;
  io::Descriptor listening_;
  io::Descriptor stop_;
  std::thread thread_;
};

struct PingPong {
  std::string request;
  std::size_t response_bytes;
  int connections;
  double seconds;
};
// Requests per second: each connection sends again as soon as its response is complete. One thread.
double ping_pong_rate(const net::Endpoint& endpoint, const PingPong& options);

// Bytes of the answer to this request.
std::size_t probe_response(const net::Endpoint& endpoint, const std::string& request);

// Bytes per second from one thread to another through one connection, in pieces of that size.
double copy_rate(std::size_t piece_bytes, double seconds);

}  // namespace quern::bench
