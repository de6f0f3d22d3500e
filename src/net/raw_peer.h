// For tests of net: a peer that says exactly what it is told to, and a server on a thread of its
// own.
//
// A RawPeer blocks, and fails the test after kPatienceS instead of hanging.
#pragma once

#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <future>
#include <string>
#include <string_view>
#include <thread>

#include "net/loop.h"
#include "net/server.h"
#include "net/socket.h"

namespace quern::net {

inline constexpr int kPatienceS = 20;

class RawPeer {
 public:
  explicit RawPeer(io::Descriptor socket) : socket_(std::move(socket)) {
    const timeval patience{kPatienceS, 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    const int on = 1;
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  explicit RawPeer(const Endpoint& endpoint) : RawPeer(connected(endpoint)) {}

  void send(std::string_view bytes) { EXPECT_EQ(send_some(bytes), bytes.size()); }
  // How many went out before the peer closed.
  std::size_t send_some(std::string_view bytes) {
    std::size_t sent = 0;
    while (sent < bytes.size()) {
      const ssize_t n =
          ::send(socket_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) break;
      sent += static_cast<std::size_t>(n);
    }
    return sent;
  }
  void end_sending() { ::shutdown(socket_.get(), SHUT_WR); }
  void close() { socket_.close(); }
  // So that the other side gets a reset instead of an end.
  void reset() {
    const linger now{1, 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
    socket_.close();
  }

  // Up to and with the text; what follows is kept for the next call.
  std::string read_until(std::string_view text) {
    for (;;) {
      const auto at = received_.find(text);
      if (at != std::string::npos) return take(at + text.size());
      if (!receive()) {
        ADD_FAILURE() << "the end came before '" << text << "', after: " << received_;
        return take(received_.size());
      }
    }
  }
  std::string read_bytes(std::size_t bytes) {
    while (received_.size() < bytes && receive()) {
    }
    EXPECT_GE(received_.size(), bytes) << received_;
    return take(std::min(bytes, received_.size()));
  }
  std::string read_to_end() {
    while (receive()) {
    }
    return take(received_.size());
  }
  // Head and body of an answer that has a Content-Length.
  std::string read_answer() {
    const std::string head = read_until("\r\n\r\n");
    const auto at = head.find("Content-Length: ");
    if (at == std::string::npos) return head;
    return head + read_bytes(std::stoul(head.substr(at + 16)));
  }
  // "200" of the next answer.
  std::string read_status() { return read_answer().substr(9, 3); }
  int fd() const { return socket_.get(); }

 private:
  static io::Descriptor connected(const Endpoint& endpoint) {
    SocketAddress address;
    const bool is_unix = endpoint.kind == Endpoint::Kind::Unix;
    const auto name = UnixAddress::open(is_unix ? endpoint.path : "/");
    if (is_unix) {
      address.storage = *name->storage();
    } else {
      address = numeric_addresses(endpoint).at(0);
    }
    io::Descriptor socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address.storage),
                        address_size(address.storage)),
              0)
        << endpoint.to_string();
    return socket;
  }

  bool receive() {
    char buffer[4096];
    const ssize_t n = ::recv(socket_.get(), buffer, sizeof buffer, 0);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      ADD_FAILURE() << "the peer says nothing";
    if (n <= 0) return false;
    received_.append(buffer, static_cast<std::size_t>(n));
    return true;
  }
  std::string take(std::size_t bytes) {
    std::string taken = received_.substr(0, bytes);
    received_.erase(0, bytes);
    return taken;
  }

  io::Descriptor socket_;
  std::string received_;
};

// A server whose loop has a thread. Stops, cutting, when destroyed.
class ServerOnThread {
 public:
  ServerOnThread(ServerOptions options, Handler handler) {
    if (options.listen.empty()) options.listen = {*Endpoint::parse("127.0.0.1:0")};
    auto opened = Server::open(loop_, std::move(options), std::move(handler));
    CHECK_OK(opened);
    server_ = std::make_unique<Server>(*std::move(opened));
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~ServerOnThread() {
    if (server_) (void)stop(0);
    loop_.stop();
    thread_.join();
  }

  // Ends as Server::stop does.
  std::future<std::size_t> begin_stop(std::int64_t grace_ms) {
    auto promise = std::make_shared<std::promise<std::size_t>>();
    auto future = promise->get_future();
    loop_.post(
        [this, grace_ms, promise] { loop_.spawn("stop", stopping(this, grace_ms, promise)); });
    return future;
  }
  std::size_t stop(std::int64_t grace_ms) { return begin_stop(grace_ms).get(); }

  // The result of a function run on the loop's thread.
  template <class Function>
  auto on_loop(Function function) {
    std::promise<decltype(function())> promise;
    loop_.post([&] { promise.set_value(function()); });
    return promise.get_future().get();
  }
  ServerMetrics metrics() {
    return on_loop([this] { return server_->metrics(); });
  }
  // For what no signal tells: looks until it is so, or patience ends.
  template <class Condition>
  bool reaches(Condition condition) {
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(kPatienceS);
    while (std::chrono::steady_clock::now() < patience) {
      if (condition(metrics())) return true;
      std::this_thread::yield();
    }
    return false;
  }
  const Endpoint& endpoint(std::size_t i = 0) const { return server_->endpoints().at(i); }
  RawPeer peer() const { return RawPeer(endpoint()); }
  Server& server() { return *server_; }
  Loop& loop() { return loop_; }

 private:
  static Task<> stopping(ServerOnThread* self, std::int64_t grace_ms,
                         std::shared_ptr<std::promise<std::size_t>> promise) {
    const std::size_t cut = co_await self->server_->stop(grace_ms);
    promise->set_value(cut);
  }

  Loop loop_;
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

inline std::string request_text(std::string_view method, std::string_view target,
                                std::string_view fields = {}, std::string_view body = {}) {
  std::string text = std::string(method) + " " + std::string(target) + " HTTP/1.1\r\nHost: x\r\n";
  text += fields;
  if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return text + "\r\n" + std::string(body);
}

}  // namespace quern::net
