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
  if (pattern.size() != path.size()) return false;
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

}  // namespace

void Router::add(Route route) {
  const Result<net::Target> target = net::parse_target(route.pattern);
  CHECK_OK(target);
  entries_.push_back({std::move(route), target->segments});
}

Result<> Router::guard(const net::Exchange& exchange) const {
  if (exchange.peer() == net::PeerKind::Unix) return {};
  const net::Headers& headers = exchange.request().headers;
  const std::string* host = headers.find("Host");
  if (host == nullptr) return Error{Errc::Denied, "a Host header is needed"};
  if (rule_ == HostRule::LoopbackOnly) {
    // A Host without a port is one for parse() once it has any.
    Result<net::Endpoint> named = net::Endpoint::parse(*host);
    if (!named.ok()) named = net::Endpoint::parse(*host + ":80");
    if (!named.ok() || named->kind != net::Endpoint::Kind::Tcp || !named->is_local()) {
      return Error{
          Errc::Denied,
          fmt::format("Host '{}' does not name this machine; use 127.0.0.1 or localhost", *host)};
    }
  }
  const std::string* origin = headers.find("Origin");
  if (origin != nullptr && *origin != "http://" + *host && *origin != "https://" + *host) {
    return Error{Errc::Denied, fmt::format("pages of {} may not use this server", *origin)};
  }
  return {};
}

// Names come from here to the store, which takes text only.
Result<> Router::expect_text(const net::Target& target) {
  const auto is_text = [](const std::string& text) { return is_valid_utf8(text); };
  bool all = std::all_of(target.segments.begin(), target.segments.end(), is_text);
  for (const auto& [name, value] : target.parameters) all = all && is_text(name) && is_text(value);
  if (all) return {};
  return Error{Errc::Invalid, "the address must be UTF-8 (percent-encoded)"};
}

net::Task<Result<>> Router::handle(net::Exchange& exchange) const {
  CO_TRY(guard(exchange));
  CO_TRY_ASSIGN(const net::Target target, net::parse_target(exchange.request().target));
  CO_TRY(expect_text(target));
  const net::Method asked = exchange.request().method;
  const net::Method method = asked == net::Method::Head ? net::Method::Get : asked;
  std::set<std::string> allowed;
  std::vector<std::string> values;
  for (const Entry& entry : entries_) {
    if (!matches(entry.segments, target.segments, values)) continue;
    if (entry.route.method == method) {
      // Named: g++ 12 destroys a braced temporary of a co_await expression twice.
      Call call{exchange, target, std::move(values)};
      co_return co_await entry.route.handler(std::move(call));
    }
    allowed.insert(std::string(net::to_string(entry.route.method)));
  }
  if (allowed.empty()) co_return Error{Errc::Missing, "there is nothing at this address"};
  const std::string allow = fmt::format("{}", fmt::join(allowed, ", "));
  net::Response refusal = net::problem(405, "this address takes " + allow).with("Allow", allow);
  co_return co_await exchange.respond(std::move(refusal));
}

std::string Router::openapi() const {
  json::object paths;
  for (const Entry& entry : entries_) {
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
