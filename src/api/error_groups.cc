// /api/v1/errors/groups: errors by kind and message, the largest groups first.
#include "tree/error_groups.h"

#include <boost/json.hpp>

#include "api/await.h"
#include "api/job_json.h"
#include "api/request.h"
#include "api/service.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using PartsPtr = std::shared_ptr<const Parts>;
using store::Tx;

struct GroupOrder {
  std::string collection;
  std::optional<tree::JobId> job;
};

Result<GroupOrder> parse_order(const net::Target& target) {
  Parameters parameters(target);
  GroupOrder order;
  order.collection = parameters.text("collection");
  if (const auto job = parameters.number("job", 1)) order.job = tree::JobId{*job};
  TRY(parameters.finish());
  return order;
}

// A collection that is named must be there; a job knows its own.
Result<std::string> resolve(Tx& tx, const GroupOrder& order) {
  if (!order.collection.empty()) {
    TRY(tree::load_ledger(tx, order.collection));
    return order.collection;
  }
  if (!order.job) return std::string(kDefaultCollection);
  TRY_ASSIGN(const tree::Job job, tree::load_job(tx, *order.job));
  return job.collection_name;
}

json::object group_json(const tree::ErrorGroup& group) {
  json::array examples;
  for (const auto& [file, filename] : group.examples) {
    examples.push_back({{"file", file.value}, {"filename", filename}});
  }
  return {{"kind", group.kind},
          {"message", group.message},
          {"count", group.count},
          {"superseded", group.superseded},
          {"examples", std::move(examples)}};
}

json::object groups_json(const tree::ErrorGroups& groups, bool exact) {
  json::array items;
  std::int64_t others = groups.counted();
  for (const tree::ErrorGroup& group : groups.largest()) {
    items.push_back(group_json(group));
    others -= group.count;
  }
  return {{"items", std::move(items)},
          {"others", others},
          {"counted", groups.counted()},
          {"counted_is", exact ? "exact" : "at_least"}};
}

// In many short reads: an import that runs meanwhile is not held up.
net::Task<Result<>> list_groups(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const GroupOrder order, parse_order(call.target));
  auto find = [order](Tx& tx) { return resolve(tx, order); };
  CO_TRY_ASSIGN(const std::string collection,
                co_await read(parts->loop, parts->readers, std::move(find)));
  tree::ErrorGroups groups;
  tree::FileCursor after;
  bool exact = false;
  while (!exact && groups.has_room()) {
    auto load = [collection, after](Tx& tx) {
      return tree::list_error_rows(tx, collection, after, tree::kErrorsPerRead);
    };
    CO_TRY_ASSIGN(const std::vector<tree::ErrorRow> rows,
                  co_await read(parts->loop, parts->readers, std::move(load)));
    groups.look_at(rows, order.job);
    exact = rows.size() < tree::kErrorsPerRead;
    if (!rows.empty()) after = rows.back().place;
  }
  const std::string body = json::serialize(groups_json(groups, exact));
  co_return co_await call.exchange.respond(net::json_response(200, body));
}

}  // namespace

void add_error_group_routes(Router& router, PartsPtr parts) {
  router.add({net::Method::Get, "/api/v1/errors/groups",
              "Errors by kind and message, the largest groups first (collection, job).",
              [parts](Call call) { return list_groups(parts, std::move(call)); }, Needs::ByMethod,
              About::Query});
}

}  // namespace quern::api
