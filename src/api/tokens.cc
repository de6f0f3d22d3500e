// /api/v1/tokens: who may come from other machines. By TCP for admins with a token only.
#include <fmt/format.h>

#include <boost/json.hpp>
#include <charconv>

#include "access/token.h"
#include "api/await.h"
#include "api/queue_json.h"
#include "api/request.h"
#include "api/service.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using access::NewToken;
using access::Token;
using access::TokenId;
using PartsPtr = std::shared_ptr<const Parts>;
using AccessPtr = std::shared_ptr<Access>;
using store::Tx;

json::object to_json(const Token& token) {
  json::object object{
      {"token", token.id.value}, {"role", access::to_string(token.role)},  {"collection", nullptr},
      {"note", token.note},      {"created", time_json(token.created_us)}, {"revoked", nullptr}};
  if (token.collection) object["collection"] = *token.collection;
  if (token.revoked_us) object["revoked"] = time_json(*token.revoked_us);
  return object;
}

Result<> read_field(std::string_view name, const json::value& given, NewToken& token,
                    bool& has_role) {
  if (!given.is_string()) return Error{Errc::Invalid, fmt::format("'{}' must be a text", name)};
  const std::string text(given.get_string());
  if (name == "role") {
    const std::optional<access::Role> role = access::parse_role(text);
    if (!role) return Error{Errc::Invalid, "a role is reader, editor, worker or admin"};
    token.role = *role;
    has_role = true;
  } else if (name == "collection") {
    token.collection = text;
  } else if (name == "note") {
    token.note = text;
  } else if (name == "sha256") {
    token.sha256 = text;
  } else {
    return Error{Errc::Invalid, fmt::format("field '{}' is unknown; there are role, collection, "
                                            "note and sha256",
                                            name)};
  }
  return {};
}

Result<NewToken> parse_token(const std::string& body) {
  TRY_ASSIGN(const json::object object, parse_object(body));
  NewToken token;
  bool has_role = false;
  for (const auto& [name, given] : object) {
    if (given.is_null() && name == "collection") continue;
    TRY(read_field(name, given, token, has_role));
  }
  if (!has_role) return Error{Errc::Invalid, "a token needs a role"};
  return token;
}

// Without a digest the secret is made here, and told this once.
net::Task<Result<>> create(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const std::string body, co_await call.exchange.read_all(kJsonBodyBytesMax));
  CO_TRY_ASSIGN(NewToken wanted, parse_token(body));
  std::string secret;
  if (wanted.sha256.empty()) {
    secret = access::make_secret();
    wanted.sha256 = access::digest_of(secret);
  }
  CO_TRY(access::validate(wanted));
  auto make = [wanted](Tx& tx) { return access::create(tx, wanted); };
  CO_TRY_ASSIGN(const Token token,
                co_await write(parts->loop, parts->writer.lane({}), std::move(make)));
  json::object answer = to_json(token);
  if (!secret.empty()) answer["secret"] = secret;
  net::Response response = net::json_response(201, json::serialize(answer));
  response.headers.set("Cache-Control", "no-store");
  co_return co_await call.exchange.respond(std::move(response));
}

net::Task<Result<>> list(PartsPtr parts, Call call) {
  Parameters parameters(call.target);
  const TokenId after{parameters.number("after").value_or(0)};
  const std::size_t limit = parameters.limit(access::kTokensListedMax);
  CO_TRY(parameters.finish());
  auto load = [after, limit](Tx& tx) { return access::list_tokens(tx, after, limit); };
  CO_TRY_ASSIGN(const std::vector<Token> tokens,
                co_await read(parts->loop, parts->readers, std::move(load)));
  json::array items;
  for (const Token& token : tokens) items.push_back(to_json(token));
  std::optional<json::value> next;
  if (tokens.size() == limit) next = json::value(tokens.back().id.value);
  co_return co_await call.exchange.respond(page_response(std::move(items), std::move(next)));
}

Result<TokenId> parse_id(const std::string& text) {
  std::int64_t id = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (failed == std::errc{} && end == text.data() + text.size() && id > 0) return TokenId{id};
  return Error{Errc::Invalid, "a token is named by its number, never by its secret"};
}

net::Task<Result<>> revoke(PartsPtr parts, AccessPtr access, Call call) {
  CO_TRY_ASSIGN(const TokenId id, parse_id(call.values[0]));
  auto end = [id](Tx& tx) { return access::revoke(tx, id); };
  CO_TRY_ASSIGN(const Token token,
                co_await write(parts->loop, parts->writer.lane({}), std::move(end)));
  access->forget();
  const std::string text = json::serialize(to_json(token));
  co_return co_await call.exchange.respond(net::json_response(200, text));
}

}  // namespace

void add_token_routes(Router& router, PartsPtr parts, AccessPtr access) {
  using net::Method;
  router.add({Method::Post, "/api/v1/tokens",
              "Makes a token (role, collection, note; sha256 of a secret made elsewhere).",
              [parts](Call call) { return create(parts, std::move(call)); }, Needs::TokenAdmin});
  router.add({Method::Get, "/api/v1/tokens", "Tokens by number (after, limit), without secrets.",
              [parts](Call call) { return list(parts, std::move(call)); }, Needs::TokenAdmin});
  router.add({Method::Delete, "/api/v1/tokens/{token}", "Revokes a token; its row stays.",
              [parts, access](Call call) { return revoke(parts, access, std::move(call)); },
              Needs::TokenAdmin});
}

}  // namespace quern::api
