// /api/v1/limits: how many items with a key may run at once, and how far apart they start.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "api/await.h"
#include "api/request.h"
#include "api/service.h"
#include "queue/limit.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using PartsPtr = std::shared_ptr<const Parts>;

json::object to_json(const queue::Limit& limit) {
  return {{"limit", limit.key},
          {"version", limit.version},
          {"concurrency", limit.concurrency},
          {"gap_ms", limit.gap_us / 1000}};
}

Result<queue::Limit> parse_limit(const std::string& key, const std::string& body) {
  queue::Limit limit{key};
  TRY_ASSIGN(const json::object object, parse_object(body));
  for (const auto& [field, given] : object) {
    const bool is_number =
        given.is_int64() && given.get_int64() >= 0 && given.get_int64() <= queue::kGapUsMax / 1000;
    if (field == "concurrency" && is_number) {
      limit.concurrency = given.get_int64();
    } else if (field == "gap_ms" && is_number) {
      limit.gap_us = given.get_int64() * 1000;
    } else {
      return Error{Errc::Invalid,
                   fmt::format("field '{}' is unknown or out of range; there are concurrency (a "
                               "whole number, 0 for any) and gap_ms (a whole number up to {})",
                               std::string_view(field), queue::kGapUsMax / 1000)};
    }
  }
  TRY(queue::validate(limit));
  return limit;
}

// Of a change that was made for a version, a conflict can only be that the version is another.
template <class T>
Result<T> stale_if(const std::optional<std::int64_t>& version, Result<T> done) {
  if (done.ok() || !version || done.error().kind() != Errc::Conflict) return done;
  return Error{Errc::Stale, done.error().message()};
}

net::Task<Result<>> list(PartsPtr parts, Call call) {
  Parameters parameters(call.target);
  const std::string after = parameters.text("after");
  const std::size_t limit = parameters.limit(queue::kListMax);
  CO_TRY(parameters.finish());
  auto load_page = [after, limit](store::Tx& tx) { return queue::list_limits(tx, after, limit); };
  CO_TRY_ASSIGN(const std::vector<queue::Limit> limits,
                co_await read(parts->loop, parts->readers, std::move(load_page)));
  json::array items;
  for (const queue::Limit& one : limits) items.push_back(to_json(one));
  std::optional<json::value> next;
  if (limits.size() == limit) next = json::value(limits.back().key);
  co_return co_await call.exchange.respond(page_response(std::move(items), std::move(next)));
}

net::Task<Result<>> show(PartsPtr parts, Call call) {
  const std::string key = call.values[0];
  auto load = [key](store::Tx& tx) { return queue::load_limit(tx, key); };
  CO_TRY_ASSIGN(const queue::Limit limit,
                co_await read(parts->loop, parts->readers, std::move(load)));
  co_return co_await call.exchange.respond(versioned(200, to_json(limit), limit.version));
}

net::Task<Result<>> put(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const Condition condition, put_condition(call.exchange.request().headers));
  CO_TRY_ASSIGN(const std::string body, co_await call.exchange.read_all(kJsonBodyBytesMax));
  CO_TRY_ASSIGN(const queue::Limit wanted, parse_limit(call.values[0], body));
  auto store = [wanted, condition](store::Tx& tx) {
    return stale_if(condition.version, queue::put_limit(tx, wanted, condition.version));
  };
  CO_TRY_ASSIGN(const queue::Limit limit,
                co_await write(parts->loop, parts->writer.lane({}), std::move(store)));
  const int status = limit.version == 1 ? 201 : 200;
  co_return co_await call.exchange.respond(versioned(status, to_json(limit), limit.version));
}

net::Task<Result<>> remove(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const auto version, if_match(call.exchange.request().headers));
  const std::string key = call.values[0];
  auto forget = [key, version](store::Tx& tx) {
    return stale_if(version, queue::delete_limit(tx, key, version));
  };
  CO_TRY(co_await write(parts->loop, parts->writer.lane({}), std::move(forget)));
  co_return co_await call.exchange.respond(net::empty_response(204));
}

}  // namespace

void add_limit_routes(Router& router, PartsPtr parts) {
  const auto bound = [&parts](net::Task<Result<>> (*handler)(PartsPtr, Call)) -> RouteHandler {
    return [parts, handler](Call call) { return handler(parts, std::move(call)); };
  };
  using net::Method;
  router.add({Method::Get, "/api/v1/limits", "Limits by key, a page at a time (after, limit).",
              bound(list)});
  router.add({Method::Get, "/api/v1/limits/{key}", "One limit.", bound(show)});
  router.add({Method::Put, "/api/v1/limits/{key}",
              "Makes or changes a limit (concurrency, gap_ms; If-Match: VERSION).", bound(put)});
  router.add({Method::Delete, "/api/v1/limits/{key}",
              "Takes a limit away (If-Match: VERSION): its items run freely.", bound(remove)});
}

}  // namespace quern::api
