// How long it takes until a death is noticed and the work goes on.
#include <fmt/format.h>

#include <csignal>

#include "bench/queue/child.h"
#include "bench/queue/latency.h"
#include "bench/queue/plan.h"
#include "queue/http_processor.h"

namespace quern::bench {
namespace {

constexpr std::int64_t kLeaseMs = 2000;
constexpr std::int64_t kScanMs = 250;

void report_times(const Report& report, Store store, const std::string& name,
                  const std::vector<double>& samples) {
  report.add({name_of(store), name + ", median", percentile(samples, 0.5), "ms"});
  report.add({name_of(store), name + ", longest", percentile(samples, 1), "ms"});
}

queue::PartitionConfig config_of(const std::string& kind, const std::string& handler) {
  queue::PartitionConfig config;
  config.kind = kind;
  config.handler = handler;
  config.backoff_ms = 3'600'000;  // one attempt is enough
  config.backoff_ms_max = 3'600'000;
  return config;
}

// A handler is killed in mid-call: until the failed attempt is stored.
double kill_handler(Rig& rig, queue::Engine& engine, int number) {
  std::string address;
  auto handler = start_handler(address);
  const std::int64_t before = engine.stats().retried;
  const queue::PartitionId id =
      rig.make(fmt::format("h{}", number), config_of(queue::kHttpKind, address));
  rig.put(id, {{item_name(0), 0, kItemData}});
  first_call(*handler);
  const Instant killed = now();
  CHECK_OK(handler->signal(SIGKILL));
  wait_until([&] { return engine.stats().retried > before; }, std::chrono::microseconds(200));
  return ms_between(killed, now());
}

void measure_handler(Stores& stores, Store store, const Plan& plan, const Report& report) {
  Rig rig({.url = fresh_url(stores, store)});
  auto processor =
      std::make_shared<queue::HttpProcessor>(rig.loop(), queue::HttpProcessorOptions{});
  queue::Engine& engine = rig.start_engine({{queue::kHttpKind, processor}}, {});
  std::vector<double> samples;
  for (int i = 0; i < plan.recoveries; ++i) samples.push_back(kill_handler(rig, engine, i));
  report_times(report, store, "a handler is killed, attempt stored", samples);
}

// An owner is killed in mid-call: until another one calls with the item.
double kill_owner(const std::string& url) {
  Rig rig({.url = url});
  const queue::PartitionId id = rig.make("p", config_of(kBenchKind, ""));
  rig.put(id, {{item_name(0), 0, kItemData}});
  auto victim = start_owner(
      {.url = url, .lease_ms = kLeaseMs, .scan_ms = kScanMs, .work = OwnerOptions::Work::Hang});
  first_call(*victim);
  auto processor = std::make_shared<NotingProcessor>();
  queue::Engine& engine =
      rig.start_engine({{kBenchKind, processor}}, {.lease_ms = kLeaseMs, .scan_ms = kScanMs});
  wait_until([&] { return engine.stats().renewals > 0; });
  const Instant killed = now();
  CHECK_OK(victim->signal(SIGKILL));
  return ms_between(killed, processor->take_call());
}

// The only owner of a folder is killed: from the start of the next one until it calls.
double restart_owner(const std::string& url) {
  {
    Rig rig({.url = url});
    const queue::PartitionId id = rig.make("p", config_of(kBenchKind, ""));
    rig.put(id, {{item_name(0), 0, kItemData}});
  }
  const OwnerOptions options{.url = url, .work = OwnerOptions::Work::Hang};
  auto victim = start_owner(options);
  first_call(*victim);
  victim->kill();
  const Instant begin = now();
  auto next = start_owner(options);
  return ms_between(begin, first_call(*next));
}

}  // namespace

void measure_recovery(Stores& stores, const Plan& plan, const Report& report) {
  for (const Store store : {Store::Sqlite, Store::Postgres}) {
    measure_handler(stores, store, plan, report);
  }
  std::vector<double> taken_over;
  std::vector<double> restarted;
  for (int i = 0; i < plan.recoveries; ++i) {
    taken_over.push_back(kill_owner(stores.fresh_postgres()));
    restarted.push_back(restart_owner(stores.fresh_sqlite()));
  }
  report_times(report, Store::Postgres,
               fmt::format("an owner is killed, lease {} ms, scan {} ms", kLeaseMs, kScanMs),
               taken_over);
  report_times(report, Store::Sqlite, "the only owner is killed and started again", restarted);
}

}  // namespace quern::bench
