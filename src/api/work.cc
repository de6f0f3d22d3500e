// /api/v1/jobs/{job}/work, /api/v1/workers: what is being done right now, by whom, and what it has
// cost.
#include <boost/json.hpp>

#include "api/await.h"
#include "api/job_json.h"
#include "api/request.h"
#include "api/service.h"
#include "tree/step_sums.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using PartsPtr = std::shared_ptr<const Parts>;
using step::TaskView;

constexpr std::size_t kTasksShownMax = 100;

json::string name_of(model::StepId step) {
  return json::string(model::to_string(step));
}

double seconds(std::int64_t ms) {
  return static_cast<double>(ms) / 1000;
}

json::object task_json(const TaskView& task) {
  return {{"file", task.file.value},      {"filename", task.filename},
          {"files", task.files},          {"step", name_of(task.worker.step)},
          {"worker", task.worker.worker}, {"seconds", seconds(task.ms)},
          {"progress", task.progress}};
}

// In the order in which files go through them.
json::array steps_json(const tree::StepSums& sums, const std::vector<TaskView>& tasks) {
  std::map<model::StepId, std::int64_t> running;
  for (const TaskView& task : tasks) running[task.worker.step] += task.files;
  json::array steps;
  for (const model::StepId step : model::kSteps) {
    const auto found = sums.find(std::string(model::to_string(step)));
    if (found == sums.end()) continue;
    const tree::StepSum& sum = found->second;
    const std::int64_t left = sum.entered - sum.ended;
    // What ends between the two looks is not worked on twice.
    const std::int64_t now = std::min(running[step], left);
    steps.push_back({{"step", name_of(step)},
                     {"entered", sum.entered},
                     {"ended", sum.ended},
                     {"failed", sum.failed},
                     {"waiting", left - now},
                     {"running", now},
                     {"wall_ms", sum.wall_ms},
                     {"cpu_ms", sum.cpu_ms}});
  }
  return steps;
}

net::Task<Result<>> show_work(PartsPtr parts, Call call) {
  CO_TRY(Parameters(call.target).finish());
  CO_TRY_ASSIGN(const tree::JobId id, parse_id<tree::JobId>("job", call.values[0]));
  auto load = [id](store::Tx& tx) -> Result<tree::StepSums> {
    TRY(tree::load_job(tx, id));
    return tree::load_steps(tx, id);
  };
  CO_TRY_ASSIGN(const tree::StepSums sums,
                co_await read(parts->loop, parts->readers, std::move(load)));
  const std::vector<TaskView> tasks = parts->pipeline.tasks(id);
  json::array shown;
  for (const TaskView& task : tasks) {
    if (shown.size() < kTasksShownMax) shown.push_back(task_json(task));
  }
  const json::object body{
      {"job", id.value}, {"steps", steps_json(sums, tasks)}, {"tasks", std::move(shown)}};
  const std::string text = json::serialize(body);
  co_return co_await call.exchange.respond(net::json_response(200, text));
}

std::int64_t ms_since(net::Instant then) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(net::in_ms(0) - then).count();
}

net::Task<Result<>> list_workers(PartsPtr parts, Call call) {
  CO_TRY(Parameters(call.target).finish());
  std::map<step::WorkerKey, json::array> tasks;
  std::map<step::WorkerKey, std::int64_t> busy_ms;
  for (const TaskView& task : parts->pipeline.tasks(std::nullopt)) {
    busy_ms[task.worker] += task.ms;
    json::array& of = tasks[task.worker];
    if (of.size() < kTasksShownMax) of.push_back(task_json(task));
  }
  json::array items;
  for (const auto& [key, worker] : parts->pipeline.workers()) {
    const bool here = worker.polling + worker.running > 0;
    items.push_back({{"worker", key.worker},
                     {"step", name_of(key.step)},
                     {"version", worker.version},
                     {"box", worker.box},
                     {"polling", worker.polling},
                     {"running", worker.running},
                     {"finished", worker.finished},
                     {"failed", worker.failed},
                     {"busy_ms", worker.busy_ms + busy_ms[key]},
                     {"seconds_since_seen", here ? 0 : seconds(ms_since(worker.seen))},
                     {"tasks", std::move(tasks[key])}});
  }
  net::Response answer = page_response(std::move(items), std::nullopt);
  co_return co_await call.exchange.respond(std::move(answer));
}

}  // namespace

void add_work_routes(Router& router, PartsPtr parts) {
  router.add({net::Method::Get, "/api/v1/jobs/{job}/work",
              "What the steps have done of a job, and what is worked on right now.",
              [parts](Call call) { return show_work(parts, std::move(call)); }});
  router.add({net::Method::Get, "/api/v1/workers",
              "Who takes tasks from this server, and what they have in hand.",
              [parts](Call call) { return list_workers(parts, std::move(call)); }});
}

}  // namespace quern::api
