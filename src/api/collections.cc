// /api/v1/collections: the ledger. And how jobs and collections are deleted.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "api/await.h"
#include "api/file_json.h"
#include "api/job_json.h"
#include "api/removal.h"
#include "api/request.h"
#include "api/service.h"
#include "tree/remove.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using PartsPtr = std::shared_ptr<const Parts>;
using store::Tx;

// Each line sums over its jobs: a page is short.
constexpr std::size_t kCollectionsMax = 100;

net::Task<Result<>> list(PartsPtr parts, Call call) {
  Parameters parameters(call.target);
  const std::string after = parameters.text("after");
  const std::size_t limit = parameters.limit(kCollectionsMax);
  CO_TRY(parameters.finish());
  auto load = [after, limit](Tx& tx) { return tree::list_ledger(tx, after, limit); };
  CO_TRY_ASSIGN(const std::vector<tree::Collection> collections,
                co_await read(parts->loop, parts->readers, std::move(load)));
  json::array items;
  for (const tree::Collection& collection : collections) items.push_back(ledger_line(collection));
  std::optional<json::value> next;
  if (collections.size() == limit) next = json::value(collections.back().name);
  co_return co_await call.exchange.respond(page_response(std::move(items), std::move(next)));
}

net::Task<Result<>> show(PartsPtr parts, Call call) {
  CO_TRY(Parameters(call.target).finish());
  auto load = [name = call.values[0]](Tx& tx) { return tree::load_ledger(tx, name); };
  CO_TRY_ASSIGN(const tree::Collection collection,
                co_await read(parts->loop, parts->readers, std::move(load)));
  const std::string body = json::serialize(ledger_line(collection));
  co_return co_await call.exchange.respond(net::json_response(200, body));
}

// 200 where it is gone; 202 where it goes on behind our back.
net::Task<Result<>> answer(PartsPtr parts, Call call, std::vector<tree::JobId> jobs) {
  const bool gone = co_await wait_for_removals(parts, jobs);
  const json::object body{{"jobs", jobs.size()}, {"gone", gone}};
  const std::string text = json::serialize(body);
  co_return co_await call.exchange.respond(net::json_response(gone ? 200 : 202, text));
}

net::Task<Result<>> delete_job(PartsPtr parts, Call call) {
  CO_TRY(Parameters(call.target).finish());
  CO_TRY_ASSIGN(const tree::JobId id, parse_id<tree::JobId>("job", call.values[0]));
  auto mark = [id](Tx& tx) { return tree::mark_deleting(tx, id); };
  CO_TRY(co_await write(parts->loop, parts->writer.lane({}), std::move(mark)));
  std::vector<tree::JobId> jobs{id};
  co_return co_await answer(parts, std::move(call), std::move(jobs));
}

net::Task<Result<>> delete_collection(PartsPtr parts, Call call) {
  CO_TRY(Parameters(call.target).finish());
  std::vector<tree::JobId> jobs;
  while (true) {
    auto mark = [name = call.values[0]](Tx& tx) { return tree::mark_collection(tx, name); };
    CO_TRY_ASSIGN(const std::vector<tree::JobId> marked,
                  co_await write(parts->loop, parts->writer.lane({}), std::move(mark)));
    jobs.insert(jobs.end(), marked.begin(), marked.end());
    if (marked.size() < tree::kListMax) break;
  }
  co_return co_await answer(parts, std::move(call), std::move(jobs));
}

}  // namespace

void add_collection_routes(Router& router, PartsPtr parts) {
  const auto bound = [&parts](net::Task<Result<>> (*handler)(PartsPtr, Call)) -> RouteHandler {
    return [parts, handler](Call call) { return handler(parts, std::move(call)); };
  };
  using net::Method;
  router.add({Method::Get, "/api/v1/collections",
              "The ledger: what came in and what became of it (after=NAME, limit).", bound(list)});
  router.add({Method::Get, "/api/v1/collections/{collection}", "The ledger of one collection.",
              bound(show)});
  router.add({Method::Delete, "/api/v1/collections/{collection}",
              "Deletes a collection with all its jobs; 202 while that goes on.",
              bound(delete_collection)});
  router.add({Method::Delete, "/api/v1/jobs/{job}",
              "Deletes a job with all its files; 202 while that goes on.", bound(delete_job)});
}

}  // namespace quern::api
