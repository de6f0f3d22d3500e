// /healthz and /metrics. Health is red only for Quern's own parts.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "api/await.h"
#include "api/service.h"
#include "io/file.h"
#include "model/steps.h"
#include "net/event.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using PartsPtr = std::shared_ptr<const Parts>;

// Below this, uploads would soon fail half-way.
constexpr std::int64_t kFreeBytesMin = 1LL << 30;
constexpr double kFreeShareMin = 0.02;

constexpr store::Sql kOne{"SELECT 1"};
// Whoever asks for the health wants to know soon that something hangs.
constexpr std::int64_t kHealthMs = 3000;

std::string store_problem(const Parts& parts, const Result<int>& answered) {
  if (!answered.ok()) return answered.error().message();
  for (const store::LaneStats& lane : parts.writer.stats()) {
    if (!lane.down_because.empty()) return lane.down_because;
  }
  return {};
}

std::string space_problem(const Result<io::FreeSpace>& space) {
  if (!space.ok()) return space.error().message();
  const auto share =
      static_cast<std::int64_t>(static_cast<double>(space->total_bytes) * kFreeShareMin);
  if (space->free_bytes >= std::min(kFreeBytesMin, share)) return {};
  return fmt::format("only {} MiB are free in the data folder", space->free_bytes >> 20);
}

// A question to the database that outlives the patience of whoever asked it.
struct Probe {
  explicit Probe(net::Loop& loop) : done(loop) {}
  net::Event done;
  Result<int> answer = Error{Errc::Timeout, "the database does not answer"};
  bool ended = false;
};

net::Task<> ask_store(PartsPtr parts, std::shared_ptr<Probe> probe) {
  auto ask = [](store::Tx& tx) { return tx.value<int>(kOne); };
  probe->answer = co_await read(parts->loop, parts->readers, std::move(ask));
  probe->ended = true;
  probe->done.notify_all();
}

net::Task<Result<int>> ask_within(PartsPtr parts, std::int64_t wait_ms) {
  auto probe = std::make_shared<Probe>(parts->loop);
  parts->loop.spawn("health", ask_store(parts, probe));
  if (!probe->ended) co_await probe->done.wait(net::in_ms(wait_ms));
  if (probe->ended) co_return probe->answer;
  co_return Error{Errc::Timeout, "the database does not answer"};
}

net::Task<Result<>> health(PartsPtr parts, Call call) {
  const Result<int> answered = co_await ask_within(parts, kHealthMs);
  auto measure = [parts] { return io::free_space(parts->data); };
  const Result<io::FreeSpace> space =
      co_await offload(parts->loop, parts->pool, std::move(measure));
  json::object named;
  bool healthy = true;
  const auto note = [&](std::string_view part, const std::string& problem) {
    named[part] = problem.empty() ? "ok" : problem;
    healthy = healthy && problem.empty();
  };
  note("store", store_problem(*parts, answered));
  note("space", space_problem(space));
  note("engine", parts->engine().trouble);
  // A handler is its user's: it is named, and Quern works all the same.
  const std::map<std::string, std::string> handlers = parts->handler_trouble();
  for (const auto& [handler, problem] : handlers) named["handler " + handler] = problem;
  // Converters work in a box that this machine does not let be whole.
  bool boxed = true;
  for (const auto& [step, stats] : parts->pipeline.stats()) {
    if (stats.box_lacks.empty()) continue;
    named[fmt::format("box of {}", model::to_string(step))] = "it lacks " + stats.box_lacks;
    boxed = false;
  }
  const char* status = !healthy ? "red" : handlers.empty() && boxed ? "ok" : "degraded";
  const json::object answer{{"status", status}, {"parts", std::move(named)}};
  co_return co_await call.exchange.respond(
      net::json_response(healthy ? 200 : 503, json::serialize(answer)));
}

// Prometheus' text format: a type line for each family, then its samples.
class Exposition {
 public:
  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_ += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
  }
  void sample(std::uint64_t value) { text_ += fmt::format("{} {}\n", name_, value); }
  void sample(std::string_view labels, std::int64_t value) {
    text_ += fmt::format("{}{{{}}} {}\n", name_, labels, value);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string name_;
  std::string text_;
};

void expose_writer(Exposition& out, const std::vector<store::LaneStats>& lanes) {
  const auto each = [&](std::string_view name, std::string_view type, std::string_view help,
                        auto value) {
    out.family(name, type, help);
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      out.sample(fmt::format("lane=\"{}\"", i), static_cast<std::int64_t>(value(lanes[i])));
    }
  };
  using Stats = store::LaneStats;
  each("quern_writer_queued", "gauge", "Operations waiting for the writer.",
       [](const Stats& s) { return s.queued; });
  each("quern_writer_operations_total", "counter", "Operations answered.",
       [](const Stats& s) { return s.operations; });
  each("quern_writer_failures_total", "counter", "Operations answered with an error.",
       [](const Stats& s) { return s.failures; });
  each("quern_writer_commits_total", "counter", "Transactions committed.",
       [](const Stats& s) { return s.commits; });
  each("quern_writer_reruns_total", "counter", "Batches run again because an operation failed.",
       [](const Stats& s) { return s.reruns; });
  each("quern_writer_reconnects_total", "counter", "Connections made again.",
       [](const Stats& s) { return s.reconnects; });
  each("quern_writer_down", "gauge", "1 while the database does not answer.",
       [](const Stats& s) { return s.down_because.empty() ? 0 : 1; });
}

void expose_http(Exposition& out, const net::ServerMetrics& http) {
  const auto one = [&](std::string_view name, std::string_view type, std::string_view help,
                       std::uint64_t value) {
    out.family(name, type, help);
    out.sample(value);
  };
  one("quern_http_connections", "gauge", "Connections open.", http.connections_open);
  one("quern_http_connections_total", "counter", "Connections accepted.", http.connections_total);
  one("quern_http_connections_refused_total", "counter", "Connections answered 503.",
      http.connections_refused);
  one("quern_http_requests_in_flight", "gauge", "Requests being answered.",
      http.requests_in_flight);
  one("quern_http_requests_total", "counter", "Requests received.", http.requests_total);
  one("quern_http_requests_malformed_total", "counter", "Requests that were not HTTP.",
      http.requests_malformed);
  one("quern_http_accept_pauses_total", "counter", "Pauses in accepting: out of descriptors.",
      http.accept_pauses);
  one("quern_http_received_bytes_total", "counter", "Bytes received.", http.bytes_in);
  one("quern_http_sent_bytes_total", "counter", "Bytes sent.", http.bytes_out);
}

void expose_engine(Exposition& out, const queue::EngineStats& engine) {
  const auto one = [&](std::string_view name, std::string_view type, std::string_view help,
                       std::int64_t value) {
    out.family(name, type, help);
    out.sample(static_cast<std::uint64_t>(value));
  };
  one("quern_engine_held", "gauge", "Partitions held.", engine.held);
  one("quern_engine_in_flight", "gauge", "Items being processed.", engine.in_flight);
  one("quern_engine_down", "gauge", "1 while it cannot renew or scan.",
      engine.trouble.empty() ? 0 : 1);
  one("quern_engine_claimed_total", "counter", "Partitions claimed.", engine.claimed);
  one("quern_engine_renewed_total", "counter", "Renewals of all that is held.", engine.renewals);
  one("quern_engine_lost_total", "counter", "Partitions that turned out to be another's.",
      engine.lost);
  one("quern_engine_released_total", "counter", "Partitions given up.", engine.released);
  one("quern_engine_taken_total", "counter", "Items taken.", engine.taken);
  one("quern_engine_completed_total", "counter", "Items completed.", engine.completed);
  one("quern_engine_moved_total", "counter", "Items moved on without being complete.",
      engine.moved);
  one("quern_engine_retried_total", "counter", "Attempts that failed and are made again.",
      engine.retried);
  one("quern_engine_dead_total", "counter", "Items that failed for good.", engine.dead);
}

net::Task<Result<>> metrics(PartsPtr parts, Call call) {
  Exposition out;
  expose_writer(out, parts->writer.stats());
  expose_http(out, parts->http());
  expose_engine(out, parts->engine());
  net::Response response = net::text_response(200, out.take());
  response.headers.set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  co_return co_await call.exchange.respond(std::move(response));
}

}  // namespace

void add_health_routes(Router& router, PartsPtr parts) {
  router.add({net::Method::Get, "/healthz", "Whether Quern's own parts work; names what does not.",
              [parts](Call call) { return health(parts, std::move(call)); }, Needs::Nobody});
  router.add({net::Method::Get, "/metrics", "Counters and gauges in Prometheus' text format.",
              [parts](Call call) { return metrics(parts, std::move(call)); }});
}

}  // namespace quern::api
