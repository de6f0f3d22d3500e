// For tests of fetching: a site that says exactly what it is told to, one thread a connection.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include "net/raw_peer.h"
#include "web/fetcher.h"

namespace quern::web {

class ScriptedSite {
 public:
  using Script = std::function<void(net::RawPeer&)>;

  explicit ScriptedSite(Script script) : script_(std::move(script)) {
    listener_ = io::Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    CHECK(::listen(listener_.get(), 128) == 0);
    socklen_t size = sizeof address;
    CHECK(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { accept_all(); });
  }
  ~ScriptedSite() {
    stopping_ = true;
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
    {
      const std::scoped_lock lock(mutex_);
      for (const auto& peer : peers_) ::shutdown(peer.fd(), SHUT_RDWR);
    }
    for (std::thread& thread : threads_) thread.join();
  }

  int port() const { return port_; }
  int connections() const { return connections_; }
  std::string url(std::string_view path = "/") const {
    return "http://127.0.0.1:" + std::to_string(port_) + std::string(path);
  }
  std::string place() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  void accept_all() {
    for (;;) {
      io::Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket.is_open() || stopping_) return;
      ++connections_;
      const std::scoped_lock lock(mutex_);
      net::RawPeer& peer = peers_.emplace_back(std::move(socket));
      threads_.emplace_back([this, &peer] {
        script_(peer);
        ::shutdown(peer.fd(), SHUT_RDWR);
      });
    }
  }

  Script script_;
  io::Descriptor listener_;
  int port_ = 0;
  std::atomic<int> connections_ = 0;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  std::list<net::RawPeer> peers_;
  std::list<std::thread> threads_;
  std::thread thread_;
};

// The head of the next request; empty where none came before the end.
inline std::string next_request(net::RawPeer& peer) {
  char first = 0;
  if (::recv(peer.fd(), &first, 1, MSG_PEEK) <= 0) return "";
  return peer.read_until("\r\n\r\n");
}

// Reads one request's head, says that, and closes.
inline ScriptedSite::Script says(std::string answer) {
  return [answer = std::move(answer)](net::RawPeer& peer) {
    if (!next_request(peer).empty()) (void)peer.send_some(answer);
  };
}

inline FetchOrder order_to(const std::string& url, std::string_view allowed = "127.0.0.1") {
  FetchOrder order(Url::parse(url).value());
  order.allowed = AllowedHosts::parse(allowed).value();
  return order;
}

inline Fetched fetch_now(Fetcher& fetcher, FetchOrder order) {
  auto promise = std::make_shared<std::promise<Fetched>>();
  auto future = promise->get_future();
  fetcher.fetch(std::move(order),
                [promise](Fetched fetched) { promise->set_value(std::move(fetched)); });
  if (future.wait_for(std::chrono::seconds(net::kPatienceS)) != std::future_status::ready) {
    ADD_FAILURE() << "the fetch does not end";
    return {};
  }
  return future.get();
}

}  // namespace quern::web
