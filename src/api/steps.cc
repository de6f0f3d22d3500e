// /steps: the worker protocol; /api/v1/steps: how the steps are doing.
#include <boost/json.hpp>

#include "api/service.h"
#include "step/pipeline.h"
#include "step/worker_protocol.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using PartsPtr = std::shared_ptr<const Parts>;

net::Task<Result<>> poll(PartsPtr parts, Call call) {
  co_return co_await step::serve_poll(parts->pipeline, call.exchange, call.target, call.values[0]);
}

step::TaskAddress address_of(const Call& call) {
  return {call.values[0], call.values[1], call.values.size() > 2 ? call.values[2] : ""};
}

net::Task<Result<>> task(PartsPtr parts, Call call) {
  step::TaskAddress address = address_of(call);
  co_return co_await step::serve_task(parts->pipeline, call.exchange, std::move(address));
}

net::Task<Result<>> input(PartsPtr parts, Call call) {
  step::TaskAddress address = address_of(call);
  co_return co_await step::serve_input(parts->pipeline, call.exchange, std::move(address));
}

net::Task<Result<>> fragments(PartsPtr parts, Call call) {
  step::TaskAddress address = address_of(call);
  co_return co_await step::serve_fragments(parts->pipeline, call.exchange, std::move(address));
}

net::Task<Result<>> fragment(PartsPtr parts, Call call) {
  step::TaskAddress address = address_of(call);
  co_return co_await step::serve_fragment(parts->pipeline, call.exchange, std::move(address));
}

net::Task<Result<>> list(PartsPtr parts, Call call) {
  json::array items;
  for (const auto& [step, stats] : parts->pipeline.stats()) {
    const std::int64_t workers = stats.running + stats.polling;
    const double busy = workers == 0 ? 0 : static_cast<double>(stats.running) / workers;
    items.push_back(json::object{{"step", std::string(model::to_string(step))},
                                 {"waiting", stats.waiting},
                                 {"running", stats.running},
                                 {"workers", workers},
                                 {"busy", busy},
                                 {"finished", stats.finished},
                                 {"failed", stats.failed},
                                 {"longest_wait_ms", stats.longest_wait_ms},
                                 {"busy_ms", stats.busy_ms}});
  }
  const json::object answer{{"items", std::move(items)}};
  co_return co_await call.exchange.respond(net::json_response(200, json::serialize(answer)));
}

}  // namespace

void add_step_routes(Router& router, PartsPtr parts) {
  const auto bound = [&parts](net::Task<Result<>> (*handler)(PartsPtr, Call)) -> RouteHandler {
    return [parts, handler](Call call) { return handler(parts, std::move(call)); };
  };
  using net::Method;
  router.add({Method::Get, "/api/v1/steps",
              "What waits and runs, and how many workers there are, for each step.", bound(list)});
  router.add({Method::Post, "/steps/{step}", "A worker asks for a task (long poll).", bound(poll),
              Needs::Worker});
  // The task's id is the secret: converters of others know nothing but its address.
  const Needs open = Needs::Nobody;
  router.add({Method::Get, "/steps/{step}/{task}", "The task once more.", bound(task), open});
  router.add({Method::Head, "/steps/{step}/{task}", "A heartbeat; 404 when the task is over.",
              bound(task), open});
  router.add({Method::Post, "/steps/{step}/{task}", "What the worker made of it, in parts.",
              bound(fragments), open});
  router.add({Method::Get, "/steps/{step}/{task}/{name}", "The input: blob, or metadata.",
              bound(input), open});
  router.add(
      {Method::Head, "/steps/{step}/{task}/{name}", "The input's size.", bound(input), open});
  router.add({Method::Post, "/steps/{step}/{task}/{name}", "One part.", bound(fragment), open});
}

}  // namespace quern::api
