// /api/v1/partitions/{partition}/gates: how far each of its gates is.
#include "queue/gates.h"

#include <boost/json.hpp>

#include "api/await.h"
#include "api/request.h"
#include "api/service.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using PartsPtr = std::shared_ptr<const Parts>;
using store::Tx;

json::object to_json(const queue::GateCount& gate) {
  json::object line{{"gate", gate.gate},           {"items", gate.items()},
                    {"available", gate.available}, {"running", gate.running},
                    {"failed", gate.failed},       {"complete", gate.complete}};
  if (gate.at_least) line["at_least"] = true;
  return line;
}

net::Task<Result<>> list(PartsPtr parts, Call call) {
  Parameters parameters(call.target);
  const std::int64_t after = parameters.number("after", 0, queue::kGateMax).value_or(-1);
  const std::size_t limit = parameters.limit(queue::kGatesMax);
  CO_TRY(parameters.finish());
  const std::string name = call.values[0];
  auto load = [name, after, limit](Tx& tx) -> Result<queue::GatePage> {
    TRY_ASSIGN(const queue::Partition partition, queue::load_partition(tx, name));
    return queue::list_gates(tx, partition.id, after, limit);
  };
  CO_TRY_ASSIGN(const queue::GatePage page,
                co_await read(parts->loop, parts->readers, std::move(load)));
  json::array items;
  for (const queue::GateCount& gate : page.gates) items.push_back(to_json(gate));
  std::optional<json::value> next;
  if (page.more && !page.gates.empty()) next = json::value(page.gates.back().gate);
  co_return co_await call.exchange.respond(page_response(std::move(items), std::move(next)));
}

}  // namespace

void add_gate_routes(Router& router, PartsPtr parts) {
  router.add({net::Method::Get, "/api/v1/partitions/{partition}/gates",
              "Its gates that have items, and how many of each state (after=GATE, limit).",
              [parts](Call call) { return list(parts, std::move(call)); }});
}

}  // namespace quern::api
