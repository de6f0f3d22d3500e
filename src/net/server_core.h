// What the connections of a server share. For use inside net only.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "net/server.h"
#include "net/socket.h"
#include "net/stream.h"

namespace quern::net {

class Connection;

class ServerCore : public std::enable_shared_from_this<ServerCore> {
 public:
  struct Listener {
    Listening listening;
    std::unique_ptr<boost::asio::posix::stream_descriptor> descriptor;  // owns the number
  };

  ServerCore(Loop& loop, ServerOptions options, Handler handler);

  Result<> listen();
  void adopt(io::Descriptor socket);
  void close_listeners();
  void begin_stopping();
  std::size_t cut_all();
  // "Sun, 06 Nov 1994 08:49:37 GMT", made once a second.
  const std::string& date();

  Loop& loop;
  const ServerOptions options;
  const Handler handler;
  std::vector<Listener> listeners;
  std::vector<Endpoint> endpoints;
  std::unordered_set<Connection*> connections;
  std::size_t refusals = 0;
  bool stopping = false;
  Event connection_gone;
  ServerMetrics metrics;
  ByteCounts bytes;

 private:
  static Task<> accept_loop(std::shared_ptr<ServerCore> core, std::size_t listener);
  // The errno that stopped it; 0 where there is nobody more to accept for now.
  int accept_some(int listening);

  std::int64_t date_s_ = -1;
  std::string date_;
};

}  // namespace quern::net
