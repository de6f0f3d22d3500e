#include "api/events.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "api/await.h"
#include "api/request.h"
#include "api/service.h"
#include "base/log.h"
#include "tree/file.h"

namespace quern::api {
namespace {

namespace json = boost::json;

constexpr std::int64_t kProgressMs = 200;

std::string as_event(std::string_view type, const json::object& data) {
  return fmt::format("event: {}\ndata: {}\n\n", type, json::serialize(data));
}

}  // namespace

struct EventBus::Listener {
  explicit Listener(net::Loop& loop) : wake(loop) {}

  std::string collection;
  std::deque<Text> waiting;
  bool lagged = false;
  net::Event wake;
};

EventBus::~EventBus() {
  for (const auto& listener : *listeners_) listener->wake.notify_all();
}

void EventBus::publish(std::string_view type, const json::object& data) {
  if (listeners_->empty()) return;
  const auto text = std::make_shared<const std::string>(as_event(type, data));
  const json::value* of = data.if_contains("collection");
  const std::string_view collection =
      of != nullptr && of->is_string() ? std::string_view(of->get_string()) : "";
  for (const auto& listener : *listeners_) {
    const bool other = !listener->collection.empty() && listener->collection != collection;
    if (other || listener->lagged) continue;
    if (listener->waiting.size() >= kEventsPerListenerMax) {
      listener->lagged = true;
      listener->waiting.clear();
    } else {
      listener->waiting.push_back(text);
    }
    listener->wake.notify_all();
  }
}

net::Task<Result<>> EventBus::serve(net::Exchange& exchange, std::string collection) {
  if (listeners_->size() >= kListenersMax) co_return Error{Errc::Busy, "too many listen already"};
  auto listener = std::make_shared<Listener>(loop_);
  listener->collection = std::move(collection);
  listeners_->push_back(listener);
  // However this ends, the bus forgets it.
  struct Leaving {
    std::shared_ptr<Listeners> all;
    std::shared_ptr<Listener> self;
    ~Leaving() { all->remove(self); }
  } leaving{listeners_, listener};

  net::ResponseHead head;
  head.headers.add("Content-Type", "text/event-stream");
  head.headers.add("Cache-Control", "no-store");
  CO_TRY(co_await exchange.start(std::move(head), std::nullopt));
  CO_TRY(co_await exchange.write(": quern\n\n"));
  while (true) {
    while (!listener->waiting.empty()) {
      const Text text = listener->waiting.front();
      listener->waiting.pop_front();
      CO_TRY(co_await exchange.write(*text));
    }
    if (listener->lagged) {
      const std::string last =
          as_event("lagged", {{"reason", "you read too slowly; ask the lists and listen again"}});
      CO_TRY(co_await exchange.write(last));
      co_return co_await exchange.finish();
    }
    const net::WaitEnd end = co_await exchange.wait(listener->wake, net::in_ms(kEventsHeartbeatMs));
    if (end == net::WaitEnd::TimedOut) CO_TRY(co_await exchange.write(": still here\n\n"));
    const bool over = end == net::WaitEnd::PeerGone || end == net::WaitEnd::Stopping ||
                      end == net::WaitEnd::Interrupted;
    if (over) co_return co_await exchange.finish();
  }
}

// -- what the pipeline tells --

struct PipelineFeed::Core : std::enable_shared_from_this<Core> {
  Core(Sources from, EventBus& to) : sources(std::move(from)), bus(&to) {}

  struct Known {
    Estimate estimate;
    bool loading = false;  // a report is under way, or waits for its time
    bool again = false;    // and something has changed since
  };

  void changed(tree::JobId job);
  static net::Task<> report(std::shared_ptr<Core> self, tree::JobId job);
  static net::Task<> tell_files(std::shared_ptr<Core> self, tree::JobId job,
                                std::vector<tree::IngestedFile> files);
  void publish(const tree::Job& job, Known& known);

  Sources sources;
  EventBus* bus;  // null: it is over
  std::map<tree::JobId, Known> jobs;
};

namespace {

double now_seconds() {
  return std::chrono::duration<double>(net::in_ms(0).time_since_epoch()).count();
}

json::value or_null(std::optional<double> number) {
  return number ? json::value(*number) : json::value();
}

}  // namespace

void PipelineFeed::Core::changed(tree::JobId job) {
  if (!bus->has_listeners()) {
    jobs.clear();
    return;
  }
  Known& known = jobs[job];
  known.again = true;
  if (known.loading) return;
  known.loading = true;
  sources.loop.spawn("api.progress", report(shared_from_this(), job));
}

void PipelineFeed::Core::publish(const tree::Job& job, Known& known) {
  double progress = job.progress();
  if (job.state == tree::JobState::Running && job.sums.weight > 0) {
    progress = std::min(0.9999, (job.sums.progress + sources.in_flight(job.id)) / job.sums.weight);
  }
  known.estimate.add(now_seconds(), progress, job.sums.classified());
  const bool ended = job.state != tree::JobState::Running;
  const json::object data{
      {"job", job.id.value},
      {"collection", job.collection_name},
      {"state", json::string(tree::to_string(job.state))},
      {"progress", progress},
      {"files", job.sums.files},
      {"files_done", job.sums.classified()},
      {"documents", job.sums.documents},
      {"errors", job.sums.errors},
      {"files_per_second", or_null(known.estimate.rate())},
      {"seconds_left", ended ? json::value(0) : or_null(known.estimate.seconds_left())}};
  bus->publish("job.progress", data);
  if (ended) bus->publish("job.finished", data);
}

net::Task<> PipelineFeed::Core::report(std::shared_ptr<Core> self, tree::JobId id) {
  while (true) {
    self->jobs[id].again = false;
    auto load = [id](store::Tx& tx) { return tree::load_job(tx, id); };
    const Result<tree::Job> job =
        co_await read(self->sources.loop, self->sources.readers, std::move(load));
    if (self->bus == nullptr) co_return;
    Known& known = self->jobs[id];
    if (job.ok()) self->publish(*job, known);
    if (!job.ok() || job->state != tree::JobState::Running) break;
    co_await self->sources.loop.sleep_until(net::in_ms(kProgressMs));
    if (self->bus == nullptr) co_return;
    if (!self->jobs[id].again) {
      self->jobs[id].loading = false;
      co_return;
    }
  }
  self->jobs.erase(id);
}

net::Task<> PipelineFeed::Core::tell_files(std::shared_ptr<Core> self, tree::JobId id,
                                           std::vector<tree::IngestedFile> files) {
  auto load = [id, files](store::Tx& tx) -> Result<std::pair<tree::Job, std::vector<tree::File>>> {
    std::pair<tree::Job, std::vector<tree::File>> found;
    TRY_ASSIGN(found.first, tree::load_job(tx, id));
    for (const tree::IngestedFile& file : files) {
      TRY_ASSIGN(tree::File row, tree::load_file(tx, file.id));
      found.second.push_back(std::move(row));
    }
    return found;
  };
  const auto found = co_await read(self->sources.loop, self->sources.readers, std::move(load));
  if (!found.ok() || self->bus == nullptr) co_return;
  for (const tree::File& file : found->second) {
    json::object data{{"file", file.id.value},
                      {"job", id.value},
                      {"collection", found->first.collection_name},
                      {"filename", file.filename},
                      {"class", json::string(model::to_string(file.became))}};
    self->bus->publish("file.ingested", data);
    if (file.became == model::FileClass::Document) {
      data["document"] = file.id.value;
      self->bus->publish("document.created", data);
    }
    if (file.became == model::FileClass::Error) {
      data["kind"] = file.error_kind;
      data["message"] = file.processing_error;
      self->bus->publish("error.created", data);
    }
  }
}

PipelineFeed::PipelineFeed(Sources sources, EventBus& bus)
    : core_(std::make_shared<Core>(std::move(sources), bus)),
      bus_(bus),
      workers_(core_->sources.loop,
               [&bus](const json::object& data) { bus.publish("worker.changed", data); }),
      partitions_(core_->sources.loop,
                  [&bus](const json::object& data) { bus.publish("partition.changed", data); }) {}

PipelineFeed::~PipelineFeed() {
  core_->bus = nullptr;
}

void PipelineFeed::changed(tree::JobId job) {
  core_->changed(job);
}

void PipelineFeed::ingested(tree::JobId job, const std::vector<tree::IngestedFile>& files) {
  if (!core_->bus->has_listeners()) return;
  core_->sources.loop.spawn("api.ingested", Core::tell_files(core_, job, files));
}

void PipelineFeed::worker_changed(const step::WorkerKey& worker, step::WorkerState state) {
  if (!bus_.has_listeners()) return;
  const std::string_view step = model::to_string(worker.step);
  workers_.say(fmt::format("{} {}", step, worker.worker),
               {{"worker", worker.worker},
                {"step", json::string(step)},
                {"state", json::string(step::to_string(state))}});
}

void PipelineFeed::partition_changed(const std::string& partition) {
  if (bus_.has_listeners()) partitions_.say(partition, {{"partition", partition}});
}

namespace {

net::Task<Result<>> listen(std::shared_ptr<const Parts> parts, Call call) {
  Parameters parameters(call.target);
  const std::string collection = parameters.text("collection");
  CO_TRY(parameters.finish());
  if (parts->events == nullptr) co_return Error{Errc::Unavailable, "nothing is told here"};
  co_return co_await parts->events->serve(call.exchange, collection);
}

}  // namespace

void add_event_routes(Router& router, std::shared_ptr<const Parts> parts) {
  router.add({net::Method::Get, "/api/v1/events",
              "What happens, as server-sent events (collection).",
              [parts](Call call) { return listen(parts, std::move(call)); }, Needs::ByMethod,
              About::Query});
}

}  // namespace quern::api
