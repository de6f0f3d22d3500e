// /api/v1/queues and /api/v1/timers: the messages of seed 003 over HTTP.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "api/await.h"
#include "api/queue_json.h"
#include "api/request.h"
#include "api/service.h"
#include "base/utf8.h"
#include "queue/message.h"
#include "queue/timer.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using PartsPtr = std::shared_ptr<const Parts>;

json::value parsed_or_text(const std::string& text) {
  boost::system::error_code failed;
  json::value value = json::parse(text, failed);
  return failed ? json::value(valid_utf8(text)) : value;
}

json::object message_json(const queue::Item& item) {
  const json::object as_item = to_json(item, queue::Partition{});
  json::object message{{"message", item.name}};
  for (const char* field : {"status", "retry_count", "error_messages", "created", "updated"}) {
    message[field] = as_item.at(field);
  }
  message["body"] = parsed_or_text(item.data);
  return message;
}

// 300, not 3E2.
json::value seconds_json(std::int64_t time_us) {
  if (time_us % 1'000'000 == 0) return time_us / 1'000'000;
  return static_cast<double>(time_us) / 1e6;
}

json::object timer_json(const queue::Timer& timer) {
  return {{"timer", timer.key},
          {"due", time_json(timer.due_us)},
          {"timeout", seconds_json(timer.timeout_us)},
          {"callback_queue", timer.callback_queue},
          {"callback_msg", parsed_or_text(timer.callback_msg)}};
}

Result<queue::NewItem> read_message(const Caller& caller, const std::string& queue,
                                    const std::string& body, const std::string* key) {
  TRY_ASSIGN(const queue::Message message, queue::parse_message(queue, body));
  TRY(expect_poster(caller, message.type));
  if (key != nullptr) TRY(queue::validate_message_key(*key));
  return queue::message_item(message, key == nullptr ? "" : *key);
}

net::Task<Result<>> post(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const std::string queue, queue::canonical_queue(call.values[0]));
  CO_TRY_ASSIGN(const std::string body, co_await call.exchange.read_all(queue::kMessageBytesMax));
  const std::string* key = call.exchange.request().headers.find("Idempotency-Key");
  CO_TRY_ASSIGN(const queue::NewItem item, read_message(call.caller, queue, body, key));
  auto ensure = [parts, queue] {
    return queue::ensure_queue(parts->writer, parts->readers, queue);
  };
  CO_TRY_ASSIGN(const queue::PartitionId partition,
                co_await offload(parts->loop, parts->pool, std::move(ensure)));
  queue::PutItems put{partition, {item}};
  store::Lane& lane = parts->writer.lane(queue::lane_of(partition));
  CO_TRY_ASSIGN(const auto results, co_await write(parts->loop, lane, std::move(put)));
  parts->poke(partition);
  const json::object answer{
      {"queue", queue}, {"message", item.name}, {"repeated", results[0].put == queue::Put::Same}};
  co_return co_await call.exchange.respond(net::json_response(202, json::serialize(answer)));
}

Result<queue::ItemFilter> read_filter(const net::Target& target) {
  Parameters parameters(target);
  queue::ItemFilter filter;
  filter.after = parameters.text("after");
  filter.limit = parameters.limit(queue::kMessagesListedMax);
  const std::string status = parameters.text("status");
  if (!status.empty()) {
    filter.status = queue::parse_status(status);
    if (!filter.status) {
      parameters.refuse({Errc::Invalid, fmt::format("there is no status '{}'", status)});
    }
  }
  TRY(parameters.finish());
  return filter;
}

net::Task<Result<>> peek(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const std::string queue, queue::canonical_queue(call.values[0]));
  CO_TRY(expect_peeker(call.caller, queue));
  CO_TRY_ASSIGN(const queue::ItemFilter filter, read_filter(call.target));
  auto list = [queue, filter](store::Tx& tx) { return queue::list_messages(tx, queue, filter); };
  CO_TRY_ASSIGN(const std::vector<queue::Item> items,
                co_await read(parts->loop, parts->readers, std::move(list)));
  json::array shown;
  for (const queue::Item& item : items) shown.push_back(message_json(item));
  std::optional<json::value> next;
  if (items.size() == filter.limit) next = json::value(items.back().name);
  co_return co_await call.exchange.respond(page_response(std::move(shown), std::move(next)));
}

net::Task<Result<>> list_timers(PartsPtr parts, Call call) {
  Parameters parameters(call.target);
  const std::string after = parameters.text("after");
  const std::size_t limit = parameters.limit(kPageDefault);
  CO_TRY(parameters.finish());
  auto list = [after, limit](store::Tx& tx) { return queue::list_timers(tx, after, limit); };
  CO_TRY_ASSIGN(const std::vector<queue::Timer> timers,
                co_await read(parts->loop, parts->readers, std::move(list)));
  json::array shown;
  for (const queue::Timer& timer : timers) shown.push_back(timer_json(timer));
  std::optional<json::value> next;
  if (timers.size() == limit) next = json::value(timers.back().key);
  co_return co_await call.exchange.respond(page_response(std::move(shown), std::move(next)));
}

net::Task<Result<>> show_timer(PartsPtr parts, Call call) {
  const std::string key = call.values[0];
  auto load = [key](store::Tx& tx) { return queue::load_timer(tx, key); };
  CO_TRY_ASSIGN(const queue::Timer timer,
                co_await read(parts->loop, parts->readers, std::move(load)));
  const std::string text = json::serialize(timer_json(timer));
  co_return co_await call.exchange.respond(net::json_response(200, text));
}

}  // namespace

void add_queue_routes(Router& router, PartsPtr parts) {
  const auto bound = [&parts](net::Task<Result<>> (*handler)(PartsPtr, Call)) -> RouteHandler {
    return [parts, handler](Call call) { return handler(parts, std::move(call)); };
  };
  using net::Method;
  router.add({Method::Post, "/api/v1/queues/{queue}/messages",
              "Posts a message to a queue, once per key (the header Idempotency-Key).", bound(post),
              Needs::Poster});
  router.add({Method::Get, "/api/v1/queues/{queue}/messages",
              "Messages of a queue by name, a page at a time (after, limit, status).", bound(peek),
              Needs::ReaderOrWorker});
  router.add({Method::Get, "/api/v1/timers", "Timers by key, a page at a time (after, limit).",
              bound(list_timers)});
  router.add({Method::Get, "/api/v1/timers/{key}", "One timer.", bound(show_timer)});
}

}  // namespace quern::api
