#include "api/explain.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "api/await.h"
#include "api/file_json.h"
#include "api/job_json.h"
#include "api/request.h"
#include "api/service.h"
#include "queue/partition.h"
#include "step/import.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using model::FileClass;
using model::FileState;
using PartsPtr = std::shared_ptr<const Parts>;
using store::Tx;
using tree::File;

std::string worker_name(const std::string& name) {
  return name.empty() ? "a worker" : "worker " + name;
}

std::string waits_for_worker(const File& file, const Surroundings& around) {
  const step::StepStats& stats = around.stats;
  const std::string step = file.step.empty() ? "its step" : file.step;
  if (stats.running + stats.polling > 0) {
    return fmt::format("waits for a worker of {}: {} are busy, {} idle, {} files wait", step,
                       stats.running, stats.polling, stats.waiting);
  }
  if (around.installed) {
    return fmt::format("waits for a worker of {}: one is started as soon as there is room", step);
  }
  return fmt::format("waits for a worker of {}: none is installed or connected", step);
}

std::string waits_as_written(const File& file, const Surroundings& around) {
  if (around.lent_ms) {
    std::string text = fmt::format("lent to {} for {} s ({}", worker_name(around.lent_to),
                                   *around.lent_ms / 1000, file.step);
    if (around.fraction > 0) text += fmt::format(", {:.0f} % done", around.fraction * 100);
    return text + ")";
  }
  if (around.job.canceled) return "is about to end: its job was canceled";
  if (around.owner.empty() && !around.held_here) {
    return fmt::format("waits for {}: nobody works on job {} just now (quern serve does)",
                       file.step.empty() ? "its step" : file.step, around.job.id);
  }
  if (!around.held_here) {
    return fmt::format("waits for {}: its job is in the hands of {}", file.step, around.owner);
  }
  return waits_for_worker(file, around);
}

}  // namespace

std::string waits_for(const File& file, const Surroundings& around) {
  switch (file.state) {
    case FileState::Created:
      return "waits for the rest of its upload";
    case FileState::Written:
      return waits_as_written(file, around);
    case FileState::Processed:
      if (file.n_ingested_children < file.n_children) {
        return fmt::format("waits for {} of its {} children",
                           file.n_children - file.n_ingested_children, file.n_children);
      }
      return "waits to be ingested";
    case FileState::Ingested:
      return "";
  }
  return "";
}

std::string outcome_of(const File& file) {
  switch (file.became) {
    case FileClass::Document:
      return "it became a document";
    case FileClass::Container:
      return fmt::format("it is a container with {} files in it", file.n_children);
    case FileClass::Converted:
      return "it was converted: its child stands for it";
    case FileClass::Empty:
      return "there is nothing in it";
    case FileClass::Error:
      return fmt::format("it failed ({}): {}{}", file.error_kind, file.processing_error,
                         file.superseded ? " (and was tried again since)" : "");
    case FileClass::InProgress:
      break;
  }
  return "it is on its way";
}

namespace {

// The file and its parents, and what the store knows of its job.
struct Lineage {
  std::vector<File> files;  // the file, its parent, …
  Surroundings around;
};

Result<Lineage> load_background(Tx& tx, tree::FileId id) {
  Lineage lineage;
  TRY_ASSIGN(lineage.files, tree::load_lineage(tx, id));
  const File& file = lineage.files.front();
  TRY_ASSIGN(lineage.around.job, tree::load_job(tx, file.job));
  TRY_ASSIGN(const tree::ShardInfo shard, tree::load_shard(tx, file.shard));
  const std::string name = step::shard_name(file.job, shard.number);
  const Result<queue::Partition> partition = queue::load_partition(tx, name);
  if (!partition.ok() && partition.error().kind() != Errc::Missing) return partition.error();
  if (partition.ok()) lineage.around.owner = partition->owner_name;
  return lineage;
}

Surroundings around(const Parts& parts, const Lineage& lineage, const File& file) {
  Surroundings found = lineage.around;
  found.held_here = parts.pipeline.shards() > 0;
  if (const auto step = model::parse_step(file.step)) {
    found.stats = parts.pipeline.stats()[*step];
    found.installed = parts.pipeline.options().installed.contains(*step);
  }
  if (const step::LentPtr lent = parts.pipeline.find_file(file.id)) {
    const auto since = net::in_ms(0) - lent->lent_at;
    found.lent_ms = std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
    found.lent_to = lent->report.worker;
    found.fraction = lent->fraction;
  }
  return found;
}

json::object relative_json(const Parts& parts, const Lineage& lineage, const File& file) {
  json::object object{{"file", file.id.value}, {"filename", file.filename}};
  const std::string waits = waits_for(file, around(parts, lineage, file));
  object["says"] = waits.empty() ? outcome_of(file) : "it " + waits;
  return object;
}

net::Task<Result<>> explain(PartsPtr parts, Call call) {
  CO_TRY(Parameters(call.target).finish());
  CO_TRY_ASSIGN(const tree::FileId id, parse_id<tree::FileId>("file", call.values[0]));
  auto load = [id](Tx& tx) { return load_background(tx, id); };
  CO_TRY_ASSIGN(const Lineage lineage, co_await read(parts->loop, parts->readers, std::move(load)));
  const File& file = lineage.files.front();
  json::object answer = file_details(file);
  const std::string waits = waits_for(file, around(*parts, lineage, file));
  answer["collection"] = lineage.around.job.collection_name;
  answer["outcome"] = outcome_of(file);
  answer["waits_for"] = waits.empty() ? json::value() : json::value(waits);
  json::array parents;
  for (std::size_t i = 1; i < lineage.files.size(); ++i) {
    parents.push_back(relative_json(*parts, lineage, lineage.files[i]));
  }
  answer["parents"] = std::move(parents);
  co_return co_await call.exchange.respond(net::json_response(200, json::serialize(answer)));
}

}  // namespace

void add_explain_routes(Router& router, PartsPtr parts) {
  router.add({net::Method::Get, "/api/v1/files/{file}/explain",
              "Why a file is where it is: step, worker, attempts, cost, what it waits for.",
              [parts](Call call) { return explain(parts, std::move(call)); }});
}

}  // namespace quern::api
