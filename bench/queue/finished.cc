// The same work in a partition that has many finished items: looking for work must not meet them.
#include <fmt/format.h>

#include "bench/queue/latency.h"
#include "bench/queue/plan.h"
#include "bench/queue/visits.h"

namespace quern::bench {
namespace {

constexpr char kColumns[] =
    "INSERT INTO item (partition, name, version, gate, status, priority, due_us, retry_count,"
    " calls, interruptions, steps, errors, data, put_digest, created_us, updated_us)"
    " SELECT {}, 'done-' || n, 3, 0, 4, 0, 9223372036854775807, 0, 1, 0, 1, '', {}, {}, 1, 1 ";

void add_finished(Rig& rig, Store store, queue::PartitionId id, std::int64_t count) {
  if (count == 0) return;
  std::string insert;
  if (store == Store::Sqlite) {
    insert = fmt::format(fmt::runtime(kColumns), id.value, "zeroblob(200)", "zeroblob(16)") +
             fmt::format(
                 "FROM (WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c"
                 " WHERE n < {}) SELECT n FROM c)",
                 count);
  } else {
    insert = fmt::format(fmt::runtime(kColumns), id.value, "decode(repeat('78', 200), 'hex')",
                         "decode(repeat('78', 16), 'hex')") +
             fmt::format("FROM generate_series(1, {}) AS g (n)", count);
  }
  rig.script(insert);
  rig.script(
      fmt::format("UPDATE partition SET items = items + {0},"
                  " complete_items = complete_items + {0} WHERE id = {1}",
                  count, id.value));
  // What the server's own autovacuum would do by and by.
  rig.script(store == Store::Sqlite ? "ANALYZE" : "VACUUM ANALYZE item");
}

struct Measured {
  double rate = 0;
  double visited = 0;  // per item: the store's own count
  std::vector<double> latencies;
};

void start_and_hold(Rig& rig, const std::shared_ptr<queue::Processor>& processor) {
  rig.start_engine({{kBenchKind, processor}}, {.in_flight_per_handler_max = kInFlightMax});
  wait_until([&] { return rig.holding_owners() == 1; });
}

double run_items(Rig& rig, queue::PartitionId id, std::int64_t items) {
  const std::int64_t before = rig.complete_items();
  const Instant begin = now();
  put_all(rig, {{id}, items, 100});
  wait_until([&] { return rig.complete_items() - before == items; });
  return static_cast<double>(items) / seconds_since(begin);
}

Measured run_one(Stores& stores, const Plan& plan, Store store, std::int64_t finished) {
  Measured measured;
  const SqliteVisits counting;
  const std::string url = fresh_url(stores, store);
  queue::PartitionConfig config;
  config.kind = kBenchKind;
  config.concurrency = 100;
  {
    Rig rig({.url = url, .lanes = 2});
    add_finished(rig, store, rig.make("big", config), finished);
  }
  const Visits before = counting.total();
  queue::PartitionId id;
  {
    Rig rig({.url = url, .lanes = 2});
    id = rig.make("big", config);
    start_and_hold(rig, std::make_shared<NotingProcessor>());
    measured.rate = run_items(rig, id, plan.hundreds);
  }
  const double visited =
      store == Store::Sqlite
          ? static_cast<double>((counting.total() - before).vm_steps)
          : static_cast<double>(postgres_visits(stores.postgres(), url).of_work());
  measured.visited = visited / static_cast<double>(plan.hundreds);
  Rig rig({.url = url});
  auto processor = std::make_shared<NotingProcessor>();
  start_and_hold(rig, processor);
  measured.latencies = start_latencies(rig, *processor, id, plan.latencies);
  return measured;
}

}  // namespace

void measure_finished(Stores& stores, const Plan& plan, const Report& report) {
  for (const Store store : {Store::Sqlite, Store::Postgres}) {
    const std::string unit = store == Store::Sqlite ? "steps" : "rows";
    double alone = 0;
    double least = 0;
    for (const std::int64_t finished : plan.finished) {
      const Measured one = run_one(stores, plan, store, finished);
      if (alone == 0) alone = one.rate;
      if (least == 0) least = one.visited;
      const std::string with = fmt::format("with {} finished", finished);
      report.add({name_of(store), "100 at a time, 1 owner, " + with, one.rate, "items/s",
                  "the same with none", one.rate / alone});
      report.add({name_of(store), "visited per item, " + with, one.visited, unit,
                  "the same with none", one.visited / least});
      report.add({name_of(store),
                  "start, " + with + ", p50",
                  percentile(one.latencies, 0.5),
                  "ms",
                  {},
                  {}});
      report.add({name_of(store),
                  "start, " + with + ", p99",
                  percentile(one.latencies, 0.99),
                  "ms",
                  {},
                  {}});
    }
  }
}

}  // namespace quern::bench
