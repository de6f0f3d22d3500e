// Line: a client to one server that can be cut at any instant; and the addresses of servers.
//
// net::Client cannot be told to give up. A line keeps a second name of its client's socket and
// shuts that down: whatever waits on it ends with Unavailable. For one request at a time.
//
// Threads: the loop's only. Lifetime: goes before its loop.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "net/client.h"

namespace quern::worker {

// Where a URL leads.
struct Address {
  net::Endpoint endpoint;
  std::string target;         // with the query; "" for a server's root
  std::string authorization;  // of "http://user:password@host", else ""
};
// "http://host[:port][/path]" or "unix:PATH". Invalid otherwise; https is not spoken here.
Result<Address> parse_address(std::string_view url);

std::string basic_authorization(std::string_view user, std::string_view password);

class Line {
 public:
  Line(net::Loop& loop, net::Endpoint endpoint, net::ClientOptions options);
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  // After an error the socket is shut: the server learns of it at once.
  net::Task<net::Sent> send(net::Request request);
  net::Task<Result<net::Response>> fetch(net::Request request, std::size_t body_bytes_max);
  // Ends what is under way. The next request connects again.
  void cut();

 private:
  std::shared_ptr<io::Descriptor> last_;
  net::Client client_;
};

// Requests that go on at the same time, each on a line of its own.
enum class Purpose { Poll, Fragments, Blob, Heartbeat };

// The lines of one lane: to its server, and to others that tasks may name.
class Lines {
 public:
  Lines(net::Loop& loop, Address server, net::ClientOptions options);

  struct Place {
    Line* line;
    std::string target;
  };
  // Where an absolute URL of the server leads.
  // `slot` tells lines of one purpose apart.
  Result<Place> find(std::string_view url, Purpose purpose, int slot = 0);
  Line& of_server(Purpose purpose) { return line(server_.endpoint, {purpose, 0}); }
  const Address& server() const { return server_; }
  void cut(Purpose purpose);
  void cut_all();

 private:
  using Kind = std::pair<Purpose, int>;
  Line& line(const net::Endpoint& endpoint, Kind kind);

  net::Loop& loop_;
  Address server_;
  net::ClientOptions options_;
  std::map<std::pair<Kind, std::string>, std::unique_ptr<Line>> lines_;
};

}  // namespace quern::worker
