// The same work in a partition that has many finished items, or many that wait: looking for the
// next ones must meet neither.
#include <fmt/format.h>

#include <optional>

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

queue::PartitionConfig big() {
  queue::PartitionConfig config;
  config.kind = kBenchKind;
  config.concurrency = 100;
  return config;
}

// What the store visited for this work. The connections of the work are closed.
class Visited {
 public:
  Visited(Stores& stores, Store store, std::string url)
      : stores_(stores), store_(store), url_(std::move(url)), before_(read()) {}
  double per_item(std::int64_t items) {
    return static_cast<double>(read() - before_) / static_cast<double>(items);
  }

 private:
  std::int64_t read() {
    if (store_ == Store::Sqlite) return counting_.total().vm_steps;
    return postgres_visits(stores_.postgres(), url_).of_work();
  }

  Stores& stores_;
  Store store_;
  std::string url_;
  SqliteVisits counting_;
  std::int64_t before_;
};

Measured run_beside_finished(Stores& stores, const Plan& plan, Store store, std::int64_t finished) {
  Measured measured;
  const std::string url = fresh_url(stores, store);
  {
    Rig rig({.url = url, .lanes = 2});
    add_finished(rig, store, rig.make("big", big()), finished);
  }
  Visited visited(stores, store, url);
  queue::PartitionId id;
  {
    Rig rig({.url = url, .lanes = 2});
    id = rig.make("big", big());
    start_and_hold(rig, std::make_shared<NotingProcessor>());
    measured.rate = run_items(rig, id, plan.hundreds);
  }
  measured.visited = visited.per_item(plan.hundreds);
  Rig rig({.url = url});
  auto processor = std::make_shared<NotingProcessor>();
  start_and_hold(rig, processor);
  measured.latencies = start_latencies(rig, *processor, id, plan.latencies);
  return measured;
}

// All are put before any is taken. Only the taking and completing is measured.
Measured run_waiting(Stores& stores, Store store, std::int64_t waiting) {
  Measured measured;
  const std::string url = fresh_url(stores, store);
  {
    Rig rig({.url = url, .lanes = 2});
    put_all(rig, {{rig.make("big", big())}, waiting, 1000});
  }
  Visited visited(stores, store, url);
  {
    Rig rig({.url = url, .lanes = 2});
    const Instant begin = now();
    start_and_hold(rig, std::make_shared<NotingProcessor>());
    wait_until([&] { return rig.complete_items() == waiting; });
    measured.rate = static_cast<double>(waiting) / seconds_since(begin);
  }
  measured.visited = visited.per_item(waiting);
  return measured;
}

// The first of a row is what the others are compared with.
class Comparison {
 public:
  Comparison(const Report& report, Store store, std::string first)
      : report_(report), store_(store), against_("with " + std::move(first)) {}

  void add(const std::string& with, const Measured& one) {
    if (!first_) first_ = one;
    const std::string unit = store_ == Store::Sqlite ? "steps" : "rows";
    report_.add({name_of(store_), "100 at a time, 1 owner, with " + with, one.rate, "items/s",
                 against_, one.rate / first_->rate});
    report_.add({name_of(store_), "visited per item, with " + with, one.visited, unit, against_,
                 one.visited / first_->visited});
    if (one.latencies.empty()) return;
    for (const int part : {50, 99}) {
      report_.add({name_of(store_), fmt::format("start, with {}, p{}", with, part),
                   percentile(one.latencies, part / 100.0), "ms"});
    }
  }

 private:
  const Report& report_;
  Store store_;
  std::string against_;
  std::optional<Measured> first_;
};

}  // namespace

void measure_finished(Stores& stores, const Plan& plan, const Report& report) {
  for (const Store store : {Store::Sqlite, Store::Postgres}) {
    Comparison finished(report, store, fmt::format("{} finished", plan.finished.front()));
    for (const std::int64_t count : plan.finished) {
      finished.add(fmt::format("{} finished", count),
                   run_beside_finished(stores, plan, store, count));
    }
    Comparison waiting(report, store, fmt::format("{} waiting", plan.waiting.front()));
    for (const std::int64_t count : plan.waiting) {
      waiting.add(fmt::format("{} waiting", count), run_waiting(stores, store, count));
    }
  }
}

}  // namespace quern::bench
