// Router: finds the handler of a request, guards the door, and describes itself as OpenAPI.
//
// One table of routes is the truth: requests are matched against it, and /api/v1/openapi.json is
// made from it, so that the description cannot drift from what is served.
//
// The guard: a browser on this machine must not be made to talk to Quern by somebody else's page.
// Requests by TCP need a Host that names this machine (unless any address may connect: AnyHost),
// and an Origin, if there is one, that equals the Host. Unix sockets are guarded by their file's
// mode.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "net/exchange.h"
#include "net/target.h"

namespace quern::api {

// A request that matched: the values of the {names} in its pattern, in order.
struct Call {
  net::Exchange& exchange;
  const net::Target& target;
  std::vector<std::string> values;
};

using RouteHandler = std::function<net::Task<Result<>>(Call)>;

struct Route {
  net::Method method;
  std::string pattern;  // "/api/v1/counters/{name}"
  std::string summary;  // a sentence for the description
  RouteHandler handler;
};

enum class HostRule { LoopbackOnly, AnyHost };

class Router {
 public:
  explicit Router(HostRule rule) : rule_(rule) {}

  void add(Route route);
  // Missing, 405 with Allow, Denied by the guard, or whatever the handler makes of it.
  net::Task<Result<>> handle(net::Exchange& exchange) const;
  std::string openapi() const;

 private:
  struct Entry {
    Route route;
    std::vector<std::string> segments;  // of the pattern
  };
  Result<> guard(const net::Exchange& exchange) const;
  static Result<> expect_text(const net::Target& target);

  HostRule rule_;
  std::vector<Entry> entries_;
};

}  // namespace quern::api
