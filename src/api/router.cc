#include "api/router.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "base/utf8.h"
#include "net/endpoint.h"

namespace quern::api {
namespace {

namespace json = boost::json;

bool is_placeholder(std::string_view segment) {
  return segment.size() > 2 && segment.front() == '{' && segment.back() == '}';
}

bool matches(const std::vector<std::string>& pattern, const std::vector<std::string>& path,
             std::vector<std::string>& values) {
  const bool open_end = !pattern.empty() && pattern.back().ends_with("...}");
  if (open_end ? path.size() < pattern.size() : pattern.size() != path.size()) return false;
  values.clear();
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (is_placeholder(pattern[i])) {
      values.push_back(path[i]);
    } else if (pattern[i] != path[i]) {
      return false;
    }
  }
  return true;
}

// The description wants each address once, with its methods below it.
json::object describe(const Route& route, const std::vector<std::string>& segments) {
  json::array parameters;
  for (const std::string& segment : segments) {
    if (!is_placeholder(segment)) continue;
    parameters.push_back({{"name", segment.substr(1, segment.size() - 2)},
                          {"in", "path"},
                          {"required", true},
                          {"schema", {{"type", "string"}}}});
  }
  const json::object problem{
      {"description", "A problem, as RFC 9457 has it"},
      {"content", {{"application/problem+json", {{"schema", {{"type", "object"}}}}}}}};
  return {{"summary", route.summary},
          {"parameters", std::move(parameters)},
          {"responses", {{"2XX", {{"description", "Done"}}}, {"default", problem}}}};
}

std::string lower_method(net::Method method) {
  std::string text(net::to_string(method));
  for (char& c : text) c = static_cast<char>(c | 0x20);
  return text;
}

About about_by_pattern(const std::vector<std::string>& segments) {
  const auto first = std::find_if(segments.begin(), segments.end(), is_placeholder);
  if (first == segments.end()) return About::Nothing;
  return about_of(std::string_view(*first).substr(1, first->size() - 2));
}

Result<> expect_local_host(const std::string& host) {
  // A Host without a port is one for parse() once it has any.
  Result<net::Endpoint> named = net::Endpoint::parse(host);
  if (!named.ok()) named = net::Endpoint::parse(host + ":80");
  const bool tcp = named.ok() && named->kind == net::Endpoint::Kind::Tcp;
  if (tcp && named->is_local()) return {};
  return Error{Errc::Denied,
               fmt::format("Host '{}' does not name this machine; use 127.0.0.1 or localhost, or "
                           "send a token to a server that listens for other machines",
                           host)};
}

Result<> guard(const net::Exchange& exchange, HostRule rule) {
  if (exchange.peer() == net::PeerKind::Unix) return {};
  const net::Headers& headers = exchange.request().headers;
  const std::string* host = headers.find("Host");
  if (host == nullptr) return Error{Errc::Denied, "a Host header is needed"};
  if (rule == HostRule::LoopbackOnly) TRY(expect_local_host(*host));
  const std::string* origin = headers.find("Origin");
  if (origin != nullptr && *origin != "http://" + *host && *origin != "https://" + *host) {
    return Error{Errc::Denied, fmt::format("pages of {} may not use this server", *origin)};
  }
  return {};
}

// What a browser must not do with an answer of ours: guess its type, run it, frame it, lend it to
// pages of others. The UI's own page has a policy of its own.
const net::Headers& browser_rules() {
  static const net::Headers rules{
      {"X-Content-Type-Options", "nosniff"},
      {"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"Referrer-Policy", "no-referrer"},
  };
  return rules;
}

bool asks_for_page(const net::RequestHead& request) {
  return request.method == net::Method::Get && request.headers.has_token("Accept", "text/html");
}

// Who is believed because of where they are could be a browser that was led here by another name.
Result<> guard_place(const net::Exchange& exchange, HostRule rule, const Caller& caller) {
  if (rule != HostRule::Tokens || caller.by != Caller::By::Place) return {};
  return expect_local_host(*exchange.request().headers.find("Host"));
}

}  // namespace

void Router::add(Route route) {
  const Result<net::Target> target = net::parse_target(route.pattern);
  CHECK_OK(target);
  if (route.about == About::ByPattern) route.about = about_by_pattern(target->segments);
  entries_.push_back({std::move(route), target->segments});
}

// Names come from here to the store, which takes text only.
Result<> Router::expect_text(const net::Target& target) {
  const auto is_text = [](const std::string& text) { return is_valid_utf8(text); };
  bool all = std::all_of(target.segments.begin(), target.segments.end(), is_text);
  for (const auto& [name, value] : target.parameters) all = all && is_text(name) && is_text(value);
  if (all) return {};
  return Error{Errc::Invalid, "the address must be UTF-8 (percent-encoded)"};
}

Router::Match Router::match(const net::Target& target, net::Method method) const {
  Match found;
  std::set<std::string> allowed;
  for (const Entry& entry : entries_) {
    if (!matches(entry.segments, target.segments, found.values)) continue;
    if (entry.route.method == method) {
      found.route = &entry.route;
      return found;
    }
    allowed.insert(std::string(net::to_string(entry.route.method)));
  }
  found.allowed = fmt::format("{}", fmt::join(allowed, ", "));
  return found;
}

net::Task<Result<>> Router::expect_right(const net::Exchange& exchange, const Caller& caller,
                                         const Match& found, const net::Target& target) const {
  CO_TRY(guard_place(exchange, access_->rule(), caller));
  CO_TRY(expect_allowed(caller, found.route->needs, found.route->method));
  const Scope::Asked asked{found.route->about, found.values, target};
  co_return co_await scope_.expect(caller, asked);
}

net::Task<Result<>> Router::handle(net::Exchange& exchange) const {
  if (exchange.peer() != net::PeerKind::Unix) exchange.set_default_headers(&browser_rules());
  CO_TRY(guard(exchange, access_->rule()));
  CO_TRY_ASSIGN(const net::Target target, net::parse_target(exchange.request().target));
  CO_TRY(expect_text(target));
  const net::Method asked = exchange.request().method;
  const net::Method method = asked == net::Method::Head ? net::Method::Get : asked;
  Match found = match(target, method);
  const bool missing = found.route == nullptr && found.allowed.empty();
  if (missing && missing_page_ && asks_for_page(exchange.request())) {
    Call call{exchange, target, {}, Caller{Caller::By::Place, access::Role::Reader, std::nullopt}};
    co_return co_await missing_page_(std::move(call));
  }
  const bool open = found.route != nullptr && found.route->needs == Needs::Nobody;
  Result<Access::Identity> who =
      co_await access_->identify(exchange.peer(), exchange.request().headers);
  // Health is told while the store is away, too.
  if (!who.ok() && open) who = Access::Identity{};
  if (!who.ok()) co_return who.error();
  if (!who->caller && (who->refused || !open)) {
    co_return co_await exchange.respond(unauthorized(*who));
  }
  if (missing) {
    co_return Error{Errc::Missing, "there is nothing at this address"};
  }
  if (found.route == nullptr) {
    const std::string detail = "this address takes " + found.allowed;
    net::Response refusal = net::problem(405, detail).with("Allow", found.allowed);
    co_return co_await exchange.respond(std::move(refusal));
  }
  const Caller caller = who->caller.value_or(Caller{Caller::By::Place, access::Role::Reader});
  if (!open) CO_TRY(co_await expect_right(exchange, caller, found, target));
  // Named: g++ 12 destroys a braced temporary of a co_await expression twice.
  Call call{exchange, target, std::move(found.values), caller};
  co_return co_await found.route->handler(std::move(call));
}

std::string Router::openapi() const {
  json::object paths;
  for (const Entry& entry : entries_) {
    if (entry.route.summary.empty()) continue;
    json::value& path = paths[entry.route.pattern];
    if (!path.is_object()) path = json::object();
    path.as_object()[lower_method(entry.route.method)] = describe(entry.route, entry.segments);
  }
  return json::serialize(json::object{
      {"openapi", "3.1.0"},
      {"info", {{"title", "Quern"}, {"version", "1"}}},
      {"paths", std::move(paths)},
  });
}

}  // namespace quern::api
