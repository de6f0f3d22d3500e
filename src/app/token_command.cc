#include "app/token_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <memory>

#include "access/token.h"
#include "app/ask.h"
#include "app/output.h"
#include "net/target.h"

namespace quern::app {
namespace {

namespace json = boost::json;

constexpr char kTokens[] = "/api/v1/tokens";

std::string text_or(const json::object& object, std::string_view name, std::string otherwise) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_string()) return otherwise;
  return std::string(value->get_string());
}

Result<> print_token(const Command& command, const json::object& token) {
  if (command.format == OutputFormat::Json) return print_line(json::serialize(token));
  return print_line(fmt::format("{:>6}  {:<7} {:<24} {:<8} {}", token.at("token").as_int64(),
                                text_or(token, "role", ""), text_or(token, "collection", "(all)"),
                                token.at("revoked").is_null() ? "good" : "revoked",
                                text_or(token, "note", "")));
}

// The secret is made here and only its digest is sent: so the request may be repeated, and is
// nowhere to be read on the way.
net::Task<Result<int>> run_create(Command command, Door& door, TokenOrder order) {
  const std::string secret = access::make_secret();
  json::object body{
      {"role", order.role}, {"note", order.note}, {"sha256", access::digest_of(secret)}};
  if (!order.collection.empty()) body["collection"] = order.collection;
  net::Request request = net::post_request(kTokens, json::serialize(body), "application/json");
  CO_TRY_ASSIGN(const json::value answer, co_await call(door, std::move(request)));
  json::object token = answer.as_object();
  if (command.format == OutputFormat::Json) {
    token["secret"] = secret;
    CO_TRY(print_line(json::serialize(token)));
    co_return kExitDone;
  }
  CO_TRY(print_line(secret));
  complain(fmt::format("quern: token {}, role {}; it is not shown again",
                       token.at("token").as_int64(), order.role));
  co_return kExitDone;
}

net::Task<Result<int>> run_list(Command command, Door& door) {
  const Each print = [command](const json::object& token) { return print_token(command, token); };
  co_return co_await walk_pages(door, kTokens, print);
}

net::Task<Result<int>> run_revoke(Command command, Door& door, std::string id) {
  net::Request request;
  request.method = net::Method::Delete;
  request.target = kTokens;
  net::append_segment(request.target, id);
  CO_TRY_ASSIGN(const json::value answer, co_await call(door, std::move(request)));
  CO_TRY(print_token(command, answer.as_object()));
  co_return kExitDone;
}

}  // namespace

net::Task<Result<int>> create_token(Command command, TokenOrder order) {
  return with_door(command, run_create, std::move(order));
}

net::Task<Result<int>> list_tokens(Command command) {
  return with_door(command, run_list);
}

net::Task<Result<int>> revoke_token(Command command, std::string id) {
  return with_door(command, run_revoke, std::move(id));
}

void add_token_commands(CLI::App& app, Run& run) {
  CLI::App* token = app.add_subcommand("token", "Tokens: who may come from other machines.");
  token->require_subcommand(1);
  token->footer(
      "A reader reads; an editor also adds, changes and deletes; a worker takes tasks and holds\n"
      "segments; an admin does everything, tokens too.\n"
      "Examples:\n"
      "  quern token create --role editor --note 'Ann' > ann.token\n"
      "  quern search memo --server http://10.0.0.1:8080 --token ann.token\n"
      "  quern token list\n"
      "  quern token revoke 3");
  CLI::App* create = token->add_subcommand("create", "Make one; its secret is shown this once.");
  auto order = std::make_shared<TokenOrder>();
  create->add_option("--role", order->role, "reader, editor, worker or admin")
      ->type_name("ROLE")
      ->required();
  create->add_option("--collection", order->collection, "only this one (default: all)")
      ->type_name("NAME");
  create->add_option("--note", order->note, "whose it is, for people")->type_name("TEXT");
  create->callback([&run, order] { run = [order](Command c) { return create_token(c, *order); }; });

  CLI::App* list = token->add_subcommand("list", "All tokens, without their secrets.");
  list->callback([&run] { run = [](Command c) { return list_tokens(c); }; });

  CLI::App* revoke = token->add_subcommand("revoke", "End a token.");
  auto id = std::make_shared<std::string>();
  revoke->add_option("TOKEN", *id, "its number")->required();
  revoke->callback([&run, id] { run = [id](Command c) { return revoke_token(c, *id); }; });
}

}  // namespace quern::app
