// Connection: serves the requests of one socket, one after the other. For use inside net only.
//
//   idle -> head -> handler -> answered -> rest of the body dropped -> idle
//     \______________\____________\___________________\____________-> (linger) -> closed
#pragma once

#include <memory>
#include <optional>

#include "net/exchange.h"
#include "net/server_core.h"
#include "net/stream.h"

namespace quern::net {

class Waiter;

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<ServerCore> core, int fd);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // The coroutine keeps the connection alive.
  static Task<> serve(std::shared_ptr<Connection> self);
  // Answers 503 and closes.
  static Task<> refuse(std::shared_ptr<Connection> self);

  // The server stops: an idle connection closes, a long poll ends.
  void stopping();
  // Ends everything it waits for on its socket.
  void cut();

 private:
  friend class Exchange;
  friend class LongPoll;
  enum class Next { Request, Close, Linger };

  Task<Next> serve_one();
  Task<std::optional<RequestHead>> read_head();
  Task<Result<std::size_t>> find_head();
  Task<Next> answer_request(RequestHead head);
  Task<> run_handler(Exchange& exchange);
  Task<> conclude(Exchange& exchange, Result<> outcome);
  Task<Next> after_answer(Exchange& exchange);
  Task<> refuse_request(int status, std::string_view detail);
  Task<> linger();

  std::shared_ptr<ServerCore> core_;
  std::shared_ptr<Stream> stream_;
  PeerKind peer_;
  Waiter* waiter_ = nullptr;  // of the long poll, if it is one
  bool idle_ = false;         // waits for the first byte of a request
  bool served_before_ = false;
  bool malformed_ = false;  // answered an error; the peer may still be sending
};

}  // namespace quern::net
