// Router: finds the handler of a request, guards the door, and describes itself as OpenAPI.
//
// One table of routes is the truth: requests are matched against it, and /api/v1/openapi.json is
// made from it, so that the description cannot drift from what is served.
//
// The guard: a browser on this machine must not be made to talk to Quern by somebody else's page.
// Requests by TCP need a Host that names this machine, unless they prove who they are with a token
// (or any address may connect: AnyHost), and an Origin, if there is one, that equals the Host. Unix
// sockets are guarded by their file's mode.
//
// And whatever is answered by TCP tells a browser not to run, frame or reinterpret it.
//
// Then api/access.h says who asks, and the route's needs whether they may: 401, or 403. A route
// that says nothing is for readers where it reads and for editors where it changes something.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/access.h"
#include "api/scope.h"
#include "net/exchange.h"
#include "net/target.h"

namespace quern::api {

// A request that matched: the values of the {names} in its pattern, in order.
struct Call {
  net::Exchange& exchange;
  const net::Target& target;
  std::vector<std::string> values;
  Caller caller;
};

using RouteHandler = std::function<net::Task<Result<>>(Call)>;

struct Route {
  net::Method method;
  std::string pattern;  // "/api/v1/counters/{name}"; a last "{name...}" takes what follows, too
  std::string summary;  // a sentence for the description; empty: it stays out of it
  RouteHandler handler;
  Needs needs = Needs::ByMethod;
  About about = About::ByPattern;
};

class Router {
 public:
  Router(std::shared_ptr<Access> access, Scope scope)
      : access_(std::move(access)), scope_(std::move(scope)) {}

  void add(Route route);
  // Answers people, who ask for a page, where there is nothing.
  void set_missing_page(RouteHandler handler) { missing_page_ = std::move(handler); }
  // 401, Missing, 405 with Allow, Denied by the guard or the needs, or what the handler makes of
  // it.
  net::Task<Result<>> handle(net::Exchange& exchange) const;
  std::string openapi() const;

 private:
  struct Entry {
    Route route;
    std::vector<std::string> segments;  // of the pattern
  };
  struct Match {
    const Route* route = nullptr;
    std::vector<std::string> values;
    std::string allowed;  // where the address is known and the method is not
  };
  Match match(const net::Target& target, net::Method method) const;
  static Result<> expect_text(const net::Target& target);

  net::Task<Result<>> expect_right(const net::Exchange& exchange, const Caller& caller,
                                   const Match& found, const net::Target& target) const;

  std::shared_ptr<Access> access_;
  Scope scope_;
  std::vector<Entry> entries_;
  RouteHandler missing_page_;
};

}  // namespace quern::api
