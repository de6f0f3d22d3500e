#include "bench/queue/latency.h"

#include <fmt/format.h>

#include "bench/queue/plan.h"

namespace quern::bench {
namespace {

constexpr std::int64_t kFirstNumber = 100'000'000;  // names that no other items have

void report_latency(const Report& report, const std::string& store, const std::string& name,
                    const std::vector<double>& samples) {
  report.add({store, name + ", p50", percentile(samples, 0.5), "ms"});
  report.add({store, name + ", p99", percentile(samples, 0.99), "ms"});
}

// Time from the put's answer to the call.
double start_one(Rig& rig, NotingProcessor& processor, queue::PartitionId id, std::int64_t number) {
  queue::PutItems put{id, {{item_name(number), 0, kItemData}}};
  const std::int64_t before = rig.complete_items();
  const auto reply = rig.writer().run(queue::lane_of(id), std::move(put));
  const Instant answered = now();
  CHECK_OK(reply);
  rig.poke(id);
  const double waited_ms = ms_between(answered, processor.take_call());
  wait_until([&] { return rig.complete_items() > before; });
  return std::max(waited_ms, 0.0);
}

}  // namespace

void NotingProcessor::process(queue::Work /*work*/, queue::Answered answered) {
  {
    const std::scoped_lock lock(mutex_);
    calls_.push_back(now());
  }
  changed_.notify_all();
  answered(queue::Outcome::complete());
}

Instant NotingProcessor::take_call() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !calls_.empty(); });
  const Instant call = calls_.front();
  calls_.erase(calls_.begin());
  return call;
}

std::vector<double> start_latencies(Rig& rig, NotingProcessor& processor, queue::PartitionId id,
                                    int count) {
  std::vector<double> samples;
  for (int i = 0; i < count; ++i) {
    samples.push_back(start_one(rig, processor, id, kFirstNumber + i));
  }
  return samples;
}

void measure_latency(Stores& stores, const Plan& plan, const Report& report) {
  queue::PartitionConfig config;
  config.kind = kBenchKind;
  for (const Store store : {Store::Sqlite, Store::Postgres}) {
    Rig rig({.url = fresh_url(stores, store)});
    auto processor = std::make_shared<NotingProcessor>();
    queue::Engine& engine = rig.start_engine({{kBenchKind, processor}}, {});
    const queue::PartitionId held = rig.make("held", config);
    rig.poke(held);
    wait_until([&] { return engine.stats().held == 1 || rig.holding_owners() == 1; });
    report_latency(report, name_of(store), "start in a held partition",
                   start_latencies(rig, *processor, held, plan.latencies));
    std::vector<double> fresh;
    for (int i = 0; i < plan.latencies / 4; ++i) {
      const queue::PartitionId id = rig.make(fmt::format("new{}", i), config);
      fresh.push_back(start_one(rig, *processor, id, i));
    }
    report_latency(report, name_of(store), "start in a new partition", fresh);
  }
}

}  // namespace quern::bench
