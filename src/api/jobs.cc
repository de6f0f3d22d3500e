// /api/v1/jobs: what users asked for.
#include <fmt/format.h>
#include <sys/random.h>

#include <boost/json.hpp>

#include "api/await.h"
#include "api/job_json.h"
#include "api/request.h"
#include "api/service.h"
#include "crawl/service.h"
#include "research/curator.h"
#include "step/import.h"
#include "step/pipeline.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using PartsPtr = std::shared_ptr<const Parts>;

Result<tree::JobId> parse_job(const std::string& text) {
  return parse_id<tree::JobId>("job", text);
}

Result<std::string> text_field(const json::object& body, std::string_view name) {
  const json::value* found = body.if_contains(name);
  if (found == nullptr) return std::string();
  if (!found->is_string()) return Error{Errc::Invalid, fmt::format("'{}' must be a text", name)};
  return std::string(found->get_string());
}

Result<tree::NewJob> parse_order(const Parts& parts, const json::object& body) {
  for (const auto& [name, value] : body) {
    if (name != "collection" && name != "key" && name != "resumes" && name != "source") {
      return Error{Errc::Invalid, fmt::format("field '{}' is unknown; there are collection, key, "
                                              "resumes and source",
                                              std::string_view(name))};
    }
  }
  tree::NewJob order;
  TRY_ASSIGN(order.collection, text_field(body, "collection"));
  if (order.collection.empty()) order.collection = kDefaultCollection;
  TRY_ASSIGN(order.key, text_field(body, "key"));
  if (order.key.empty()) order.key = random_key();
  TRY_ASSIGN(order.resumes, text_field(body, "resumes"));
  TRY_ASSIGN(order.source, text_field(body, "source"));
  order.shards = parts.shards;
  TRY(tree::validate(order));
  return order;
}

net::Task<Result<>> create(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const std::string text, co_await call.exchange.read_all(kJsonBodyBytesMax));
  CO_TRY_ASSIGN(const json::object body, parse_object(text));
  CO_TRY_ASSIGN(const tree::NewJob order, parse_order(*parts, body));
  CO_TRY(expect_within(call.caller, order.collection));
  CO_TRY_ASSIGN(const tree::Job job, co_await open_job(parts, order));
  const std::string answer = json::serialize(to_json(*parts, job));
  co_return co_await call.exchange.respond(net::json_response(201, answer));
}

net::Task<Result<tree::Job>> load(PartsPtr parts, tree::JobId id) {
  auto load_one = [id](store::Tx& tx) { return tree::load_job(tx, id); };
  co_return co_await read(parts->loop, parts->readers, std::move(load_one));
}

net::Task<Result<>> show(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const tree::JobId id, parse_job(call.values[0]));
  CO_TRY_ASSIGN(const tree::Job job, co_await load(parts, id));
  const std::string answer = json::serialize(to_json(*parts, job));
  co_return co_await call.exchange.respond(net::json_response(200, answer));
}

net::Task<Result<>> list(PartsPtr parts, Call call) {
  Parameters parameters(call.target);
  tree::JobFilter filter;
  filter.collection = parameters.text("collection");
  filter.before = parameters.number("before").value_or(0);
  filter.limit = parameters.limit(tree::kListMax);
  CO_TRY(parameters.finish());
  auto load_page = [filter](store::Tx& tx) { return tree::list_jobs(tx, filter); };
  CO_TRY_ASSIGN(const std::vector<tree::Job> jobs,
                co_await read(parts->loop, parts->readers, std::move(load_page)));
  json::array items;
  for (const tree::Job& job : jobs) items.push_back(to_json(*parts, job));
  std::optional<json::value> next;
  if (jobs.size() == filter.limit) next = jobs.back().id.value;
  co_return co_await call.exchange.respond(page_response(std::move(items), std::move(next)));
}

net::Task<Result<>> seal(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const tree::JobId id, parse_job(call.values[0]));
  CO_TRY_ASSIGN(const std::string text, co_await call.exchange.read_all(kJsonBodyBytesMax));
  CO_TRY_ASSIGN(const json::object body, parse_object(text));
  const json::value* given = body.if_contains("skipped");
  if (given != nullptr && (!given->is_int64() || given->get_int64() < 0)) {
    co_return Error{Errc::Invalid, "'skipped' must be a number of files"};
  }
  const std::int64_t skipped = given == nullptr ? 0 : given->get_int64();
  auto close = [id, skipped](store::Tx& tx) { return tree::seal_job(tx, id, skipped); };
  CO_TRY_ASSIGN(const tree::Job job,
                co_await write(parts->loop, parts->writer.lane({}), std::move(close)));
  parts->pipeline.poke(id);
  const std::string answer = json::serialize(to_json(*parts, job));
  co_return co_await call.exchange.respond(net::json_response(200, answer));
}

net::Task<Result<>> cancel(PartsPtr parts, Call call) {
  CO_TRY_ASSIGN(const tree::JobId id, parse_job(call.values[0]));
  auto stop = [id](store::Tx& tx) { return tree::cancel_job(tx, id); };
  CO_TRY_ASSIGN(const tree::Job job,
                co_await write(parts->loop, parts->writer.lane({}), std::move(stop)));
  if (parts->crawl != nullptr) parts->crawl->jobs_changed({id});
  parts->pipeline.poke(id);
  if (parts->curator != nullptr) co_await parts->curator->job_canceled(id);
  const std::string answer = json::serialize(to_json(*parts, job));
  co_return co_await call.exchange.respond(net::json_response(200, answer));
}

}  // namespace

std::string random_key() {
  std::uint64_t bits[2];
  CHECK(::getrandom(bits, sizeof bits, 0) == sizeof bits);
  return fmt::format("{:016x}{:016x}", bits[0], bits[1]);
}

json::object to_json(const Parts& parts, const tree::Job& job) {
  const tree::Sums& sums = job.sums;
  double progress = job.progress();
  if (job.state == tree::JobState::Running && sums.weight > 0) {
    const double in_flight = parts.pipeline.progress_in_flight(job.id);
    progress = std::min(0.9999, (sums.progress + in_flight) / sums.weight);
  }
  json::object object{{"job", job.id.value},
                      {"kind", job.kind},
                      {"collection", job.collection_name},
                      {"key", job.key},
                      {"source", job.source},
                      {"state", std::string(tree::to_string(job.state))},
                      {"sealed", job.sealed},
                      {"canceling", job.canceled && job.state == tree::JobState::Running},
                      {"progress", progress},
                      {"roots", sums.roots},
                      {"roots_done", sums.roots_ingested},
                      {"files", sums.files},
                      {"files_done", sums.classified()},
                      {"documents", sums.documents},
                      {"containers", sums.containers},
                      {"converted", sums.converted},
                      {"empty", sums.empty},
                      {"errors", sums.errors},
                      {"skipped", job.skipped},
                      {"bytes", sums.bytes_in},
                      {"created_us", job.created_us}};
  if (job.finished_us) {
    object["finished_us"] = *job.finished_us;
    object["seconds"] = static_cast<double>(*job.finished_us - job.created_us) / 1e6;
  }
  return object;
}

net::Task<Result<tree::Job>> open_job(PartsPtr parts, tree::NewJob order) {
  auto open = [parts, order] {
    return step::open_import(parts->writer, parts->readers, order, parts->poke);
  };
  co_return co_await offload(parts->loop, parts->pool, std::move(open));
}

void add_job_routes(Router& router, PartsPtr parts) {
  const auto bound = [&parts](net::Task<Result<>> (*handler)(PartsPtr, Call)) -> RouteHandler {
    return [parts, handler](Call call) { return handler(parts, std::move(call)); };
  };
  using net::Method;
  router.add(
      {Method::Post, "/api/v1/jobs",
       "Begins an import (collection, key, source; resumes: goes on with a running job whose "
       "key begins so).",
       bound(create), Needs::ByMethod, About::Handler});
  router.add({Method::Get, "/api/v1/jobs",
              "Jobs, the newest first (collection, before=JOB, limit).", bound(list),
              Needs::ByMethod, About::Query});
  router.add(
      {Method::Get, "/api/v1/jobs/{job}", "One job, with its sums and progress.", bound(show)});
  router.add({Method::Post, "/api/v1/jobs/{job}/seal",
              "No file comes any more (skipped: how many were left out).", bound(seal)});
  router.add({Method::Post, "/api/v1/jobs/{job}/cancel",
              "Ends what is left of a job; what was made stays.", bound(cancel)});
}

}  // namespace quern::api
