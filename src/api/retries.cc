// /api/v1/files/{file}/retry, /api/v1/retry: files that failed are tried again.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "api/await.h"
#include "api/job_json.h"
#include "api/removal.h"
#include "api/request.h"
#include "api/service.h"
#include "base/log.h"
#include "step/child_file.h"
#include "step/import.h"
#include "tree/retry.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using PartsPtr = std::shared_ptr<const Parts>;
using store::Tx;

// Each makes a job of its own; a client goes on behind `next`.
constexpr std::size_t kRetriedAtOnce = 200;

net::Task<Result<tree::Job>> retry_one(PartsPtr parts, tree::FileId id) {
  auto plan = [id](Tx& tx) { return tree::plan_retry(tx, id); };
  CO_TRY_ASSIGN(const tree::Retry retry,
                co_await read(parts->loop, parts->readers, std::move(plan)));
  CO_TRY_ASSIGN(const tree::Job job, co_await open_job(parts, retry.order));
  auto find = [parts, job] { return step::shard_of_root(parts->readers, job.id, 0); };
  CO_TRY_ASSIGN(const tree::ShardId shard,
                co_await offload(parts->loop, parts->pool, std::move(find)));
  const bool ocr = step::parse_options(retry.file.options).ocr;
  const step::Pipeline::Decision decision =
      parts->pipeline.decide(retry.file.content_type, ocr ? model::Ocr::Yes : model::Ocr::No);
  const tree::RetryRoot root{job.id, shard, id, decision.step, decision.failure};
  auto add = store::Fenced{store::Fence{shard.value, 0},
                           [root](Tx& tx) { return tree::add_retry_root(tx, root); }};
  store::Lane& lane = parts->writer.lane({static_cast<std::uint64_t>(shard.value)});
  CO_TRY_ASSIGN(const tree::Job begun, co_await write(parts->loop, lane, std::move(add)));
  parts->pipeline.poke(begun.id);
  co_return begun;
}

net::Task<Result<>> retry_file(PartsPtr parts, Call call) {
  CO_TRY(Parameters(call.target).finish());
  CO_TRY_ASSIGN(const tree::FileId id, parse_id<tree::FileId>("file", call.values[0]));
  CO_TRY_ASSIGN(const tree::Job job, co_await retry_one(parts, id));
  const std::string body = json::serialize(to_json(*parts, job));
  co_return co_await call.exchange.respond(net::json_response(201, body));
}

struct RetryOrder {
  tree::FileFilter filter;
  std::string kind;
  std::string message;  // exactly; empty: any
};

Result<RetryOrder> parse_order(const net::Target& target) {
  Parameters parameters(target);
  RetryOrder order;
  order.filter.listed = tree::Listed::Errors;
  order.filter.limit = kRetriedAtOnce;
  order.filter.collection = parameters.text("collection");
  if (order.filter.collection.empty()) order.filter.collection = kDefaultCollection;
  order.kind = parameters.text("kind");
  order.message = parameters.text("message");
  if (!model::parse_error_kind(order.kind)) {
    parameters.refuse({Errc::Invalid, fmt::format("kind='{}' is no kind of error", order.kind)});
  }
  if (const std::string after = parameters.text("after"); !after.empty()) {
    Result<tree::FileCursor> cursor = tree::parse_cursor(after);
    if (!cursor.ok()) parameters.refuse(cursor.error());
    if (cursor.ok()) order.filter.after = *std::move(cursor);
  }
  TRY(parameters.finish());
  return order;
}

bool is_wanted(const tree::File& file, const RetryOrder& order) {
  if (!order.message.empty() && file.processing_error != order.message) return false;
  return file.error_kind == order.kind && !file.superseded && file.blob;
}

net::Task<Result<>> retry_kind(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const RetryOrder order, parse_order(call.target));
  auto load = [order](Tx& tx) -> Result<tree::FilePage> {
    TRY(tree::load_ledger(tx, order.filter.collection));
    return tree::list_files(tx, order.filter);
  };
  CO_TRY_ASSIGN(const tree::FilePage page,
                co_await read(parts->loop, parts->readers, std::move(load)));
  json::array jobs;
  for (const tree::File& file : page.files) {
    if (!is_wanted(file, order)) continue;
    const Result<tree::Job> job = co_await retry_one(parts, file.id);
    // One that was retried or deleted since the page was read is none of ours any more.
    const bool passed =
        !job.ok() && (job.error().kind() == Errc::Conflict || job.error().kind() == Errc::Missing);
    if (passed) continue;
    if (!job.ok()) co_return job.error();
    jobs.push_back(job->id.value);
  }
  json::object body{{"retried", jobs.size()}, {"jobs", std::move(jobs)}};
  if (page.next) body["next"] = tree::to_string(*page.next);
  co_return co_await call.exchange.respond(net::json_response(200, json::serialize(body)));
}

}  // namespace

net::Task<> resume_retries(PartsPtr parts) {
  auto find = [](Tx& tx) { return tree::list_begun_retries(tx, kRetriedAtOnce); };
  const Result<std::vector<tree::FileId>> files =
      co_await read(parts->loop, parts->readers, std::move(find));
  if (!files.ok()) co_return;
  for (const tree::FileId file : *files) {
    const Result<tree::Job> job = co_await retry_one(parts, file);
    if (!job.ok()) {
      log_info("api.retry_left", {{"file", file.value}, {"because", job.error().message()}});
    }
  }
}

void add_retry_routes(Router& router, PartsPtr parts) {
  router.add({net::Method::Post, "/api/v1/files/{file}/retry",
              "Tries a file that failed again, in a job of its own.",
              [parts](Call call) { return retry_file(parts, std::move(call)); }});
  router.add({net::Method::Post, "/api/v1/retry",
              "Tries files that failed in one way again (kind, message, collection, after).",
              [parts](Call call) { return retry_kind(parts, std::move(call)); }, Needs::ByMethod,
              About::Query});
}

}  // namespace quern::api
