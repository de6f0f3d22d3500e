#include "bench/net/bare.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "net/socket.h"

namespace quern::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void watch(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  CHECK(::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
}

io::Descriptor connected(const net::Endpoint& endpoint) {
  const net::SocketAddress address = net::numeric_addresses(endpoint).at(0);
  io::Descriptor socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  CHECK(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address.storage),
                  address.size) == 0);
  net::prepare_stream(socket.get());
  return socket;
}

net::Listening listening() {
  auto listening = net::listen_on(*net::Endpoint::parse("127.0.0.1:0"), 1024, 0600);
  CHECK_OK(listening);
  return *std::move(listening);
}

void send_all(int fd, const std::string& bytes) {
  CHECK(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
}

}  // namespace

EchoServer::EchoServer(std::size_t request_bytes, std::string response)
    : request_bytes_(request_bytes),
      response_(std::move(response)),
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  net::Listening opened = listening();
  endpoint_ = opened.endpoint;
  listening_ = std::move(opened.fd);
  thread_ = std::thread([this] { run(); });
}

EchoServer::~EchoServer() {
  CHECK(::eventfd_write(stop_.get(), 1) == 0);
  thread_.join();
}

void EchoServer::run() {
  const io::Descriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
  watch(epoll.get(), listening_.get());
  watch(epoll.get(), stop_.get());
  std::unordered_map<int, io::Descriptor> open;
  std::unordered_map<int, std::size_t> received;
  char buffer[4096];
  epoll_event events[64];
  for (;;) {
    const int ready = ::epoll_wait(epoll.get(), events, std::size(events), -1);
    for (int i = 0; i < ready; ++i) {
      const int fd = events[i].data.fd;
      if (fd == stop_.get()) return;
      if (fd == listening_.get()) {
        io::Descriptor peer(::accept4(fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!peer.is_open()) continue;
        net::prepare_stream(peer.get());
        watch(epoll.get(), peer.get());
        open.emplace(peer.get(), std::move(peer));
        continue;
      }
      const ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
      if (n <= 0) {
        received.erase(fd);
        open.erase(fd);
        continue;
      }
      std::size_t& bytes = received[fd];
      for (bytes += static_cast<std::size_t>(n); bytes >= request_bytes_; bytes -= request_bytes_) {
        send_all(fd, response_);
      }
    }
  }
}

double ping_pong_rate(const net::Endpoint& endpoint, const PingPong& options) {
  const io::Descriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
  std::vector<io::Descriptor> sockets;
  std::unordered_map<int, std::size_t> received;
  for (int i = 0; i < options.connections; ++i) {
    sockets.push_back(connected(endpoint));
    watch(epoll.get(), sockets.back().get());
    send_all(sockets.back().get(), options.request);
  }
  char buffer[4096];
  epoll_event events[64];
  std::uint64_t answers = 0;
  const auto begin = Clock::now();
  while (seconds_since(begin) < options.seconds) {
    const int ready = ::epoll_wait(epoll.get(), events, std::size(events), 1000);
    for (int i = 0; i < ready; ++i) {
      const int fd = events[i].data.fd;
      const ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
      CHECK(n > 0);
      std::size_t& bytes = received[fd];
      bytes += static_cast<std::size_t>(n);
      if (bytes < options.response_bytes) continue;
      CHECK(bytes == options.response_bytes);
      bytes = 0;
      ++answers;
      send_all(fd, options.request);
    }
  }
  return static_cast<double>(answers) / seconds_since(begin);
}

std::size_t probe_response(const net::Endpoint& endpoint, const std::string& request) {
  const io::Descriptor socket = connected(endpoint);
  const int flags_off = 0;
  ::ioctl(socket.get(), FIONBIO, &flags_off);
  send_all(socket.get(), request);
  char buffer[4096];
  const ssize_t n = ::recv(socket.get(), buffer, sizeof buffer, 0);
  CHECK(n > 0);
  return static_cast<std::size_t>(n);
}

double copy_rate(std::size_t piece_bytes, double seconds) {
  net::Listening server = listening();
  const io::Descriptor sending = connected(server.endpoint);
  const io::Descriptor receiving(::accept4(server.fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
  CHECK(receiving.is_open());
  const int blocking = 0;
  ::ioctl(sending.get(), FIONBIO, &blocking);
  std::atomic<bool> stop{false};
  std::thread sender([&] {
    const std::string piece(piece_bytes, 'x');
    while (!stop && ::send(sending.get(), piece.data(), piece.size(), MSG_NOSIGNAL) > 0) {
    }
    ::shutdown(sending.get(), SHUT_WR);
  });
  std::vector<char> buffer(piece_bytes);
  std::uint64_t total = 0;
  const auto begin = Clock::now();
  double elapsed = 0;
  for (;;) {
    const ssize_t n = ::recv(receiving.get(), buffer.data(), buffer.size(), 0);
    if (n <= 0) break;
    total += static_cast<std::uint64_t>(n);
    elapsed = seconds_since(begin);
    if (elapsed >= seconds) stop = true;
  }
  sender.join();
  return static_cast<double>(total) / elapsed;
}

}  // namespace quern::bench
