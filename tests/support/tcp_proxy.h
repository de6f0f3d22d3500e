// TcpProxy: a proxy between PostgreSQL and its clients that fails on command.
//
// It forwards until told otherwise: to cut, to stall, or to run code (kill the server, say) when a
// client runs a statement that contains a word, at an exact instant of that statement's life. So a
// test can lose the answer of a COMMIT that happened. One thread forwards all connections. Its
// buffers are bounded: it stops reading from a peer while the other one does not take what it has.
// All functions are safe from any thread; they take effect before they return, except that
// set_rule() holds for messages that have not been read yet.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "support/postgres.h"

namespace quern::support {

enum class ProxyInstant {
  BeforeForwarding,  // the server does not know of the statement
  AfterForwarding,   // it has the statement up to the end of its query or pipeline (Sync)
  AfterReply,        // it has done it and says so; the client has not heard
};
enum class ProxyThen {
  Drop,    // both connections are closed
  PassOn,  // as if nothing had happened
  Stall,   // the connection stays and carries nothing any more
};

struct ProxyRule {
  // In the text of a simple query, or of the prepared statement that a Bind names.
  std::string word;
  ProxyInstant at = ProxyInstant::BeforeForwarding;
  ProxyThen then = ProxyThen::Drop;
  int nth = 1;                // of the statements with that word, from 1; only this one
  std::function<void()> run;  // at the instant, on the proxy's thread, before `then`
};

class TcpProxy {
 public:
  // By Unix sockets, or by TCP on 127.0.0.1: to the client and to the server alike.
  enum class Transport { UnixSocket, Tcp };
  // With Tcp the server listens on TCP too.
  explicit TcpProxy(const Postgres& server, Transport transport = Transport::UnixSocket);
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  // The same database by way of the proxy.
  std::string url(const std::string& server_url) const;

  // Replaces the rule before, and counts from 0.
  void set_rule(ProxyRule rule);
  void clear_rule();
  // Statements with the rule's word, since set_rule().
  int hits() const;
  // False where the rule did not come true within that time. What its code wrote can be read after.
  bool wait_until_fired(std::chrono::milliseconds longest = std::chrono::seconds(60));

  // Every connection, and each new one, carries nothing until resume().
  void stall();
  void resume();
  void drop_all();
  int connections() const;

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace quern::support
