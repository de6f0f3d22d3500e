// /api/v1/session: who the caller is, and the login of browsers.
//
// A browser cannot send a header with a picture or an event stream, so a token that was shown once
// is kept in a cookie: out of reach of scripts, and never sent along by pages of others.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "api/request.h"
#include "api/service.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using AccessPtr = std::shared_ptr<Access>;

constexpr std::int64_t kCookieSeconds = 30 * 24 * 3600;
constexpr char kVersion[] = "0.1.0";

std::string_view name_of(Caller::By by) {
  switch (by) {
    case Caller::By::Socket:
      return "socket";
    case Caller::By::Place:
      return "place";
    case Caller::By::Token:
      return "token";
  }
  return "";
}

net::Response describe(const Caller& caller) {
  json::object body{{"role", access::to_string(caller.role)},
                    {"collection", nullptr},
                    {"by", name_of(caller.by)},
                    {"version", kVersion}};
  if (caller.collection) body["collection"] = *caller.collection;
  return net::json_response(200, json::serialize(body)).with("Cache-Control", "no-store");
}

std::string cookie(std::string_view secret, std::int64_t seconds, const net::Headers& request) {
  const std::string* origin = request.find("Origin");
  const bool https = origin != nullptr && origin->starts_with("https://");
  return fmt::format("{}={}; Path=/; Max-Age={}; HttpOnly; SameSite=Strict{}", kTokenCookie, secret,
                     seconds, https ? "; Secure" : "");
}

net::Task<Result<>> show(Call call) {
  CO_TRY(Parameters(call.target).finish());
  net::Response answer = describe(call.caller);
  co_return co_await call.exchange.respond(std::move(answer));
}

Result<std::string> parse_secret(const std::string& body) {
  TRY_ASSIGN(const json::object object, parse_object(body));
  const json::value* token = object.if_contains("token");
  if (token == nullptr || !token->is_string() || object.size() != 1) {
    return Error{Errc::Invalid, R"(expected {"token":"quern_…"})"};
  }
  return std::string(token->get_string());
}

net::Task<Result<>> sign_in(AccessPtr access, Call call) {
  CO_TRY(Parameters(call.target).finish());
  CO_TRY_ASSIGN(const std::string body, co_await call.exchange.read_all(kJsonBodyBytesMax));
  CO_TRY_ASSIGN(const std::string secret, parse_secret(body));
  CO_TRY_ASSIGN(const std::optional<Caller> caller, co_await access->find_secret(secret));
  if (!caller) {
    const Access::Identity refused{std::nullopt, true};
    co_return co_await call.exchange.respond(unauthorized(refused));
  }
  const std::string set = cookie(secret, kCookieSeconds, call.exchange.request().headers);
  net::Response answer = describe(*caller).with("Set-Cookie", set);
  co_return co_await call.exchange.respond(std::move(answer));
}

net::Task<Result<>> sign_out(Call call) {
  CO_TRY(Parameters(call.target).finish());
  const std::string unset = cookie("", 0, call.exchange.request().headers);
  net::Response answer = net::empty_response(204).with("Set-Cookie", unset);
  co_return co_await call.exchange.respond(std::move(answer));
}

}  // namespace

void add_session_routes(Router& router, AccessPtr access) {
  using net::Method;
  const std::string path = "/api/v1/session";
  router.add({Method::Get, path, "Who the server takes the caller for.", show, Needs::ByMethod,
              About::Handler});
  const auto enter = [access](Call call) { return sign_in(access, std::move(call)); };
  router.add(
      {Method::Post, path, "Keeps a token in a cookie, for browsers.", enter, Needs::Nobody});
  router.add({Method::Delete, path, "Forgets that cookie.", sign_out, Needs::Nobody});
}

}  // namespace quern::api
