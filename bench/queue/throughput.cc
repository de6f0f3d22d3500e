// Items per second from the first put to the last completion, with puts going on beside the work.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/queue/child.h"
#include "bench/queue/plan.h"
#include "bench/queue/raw.h"
#include "bench/queue/rig.h"

namespace quern::bench {
namespace {

constexpr char kGroup[] = "100 at a time";
constexpr char kSingle[] = "one a commit";

struct Case {
  Store store = Store::Sqlite;
  int owners = 1;
  int at_once = 1;  // items of a put, and running at once in a partition
  std::int64_t items = 0;

  std::string name() const {
    return fmt::format("{}, {} owners", at_once == 1 ? kSingle : kGroup, owners);
  }
  // SQLite has one writer, whoever owns.
  std::string raw_name() const {
    const int connections = store == Store::Sqlite ? 1 : owners;
    return fmt::format("raw {}, {} connections", at_once == 1 ? kSingle : kGroup, connections);
  }
  std::size_t batch_ops_max() const { return at_once == 1 ? 1 : 512; }
};

class Owners {
 public:
  // On SQLite engines of this process, on PostgreSQL processes.
  Owners(Rig& rig, const Case& one, const std::string& url) {
    for (int i = 0; i < one.owners; ++i) {
      if (one.store == Store::Postgres) {
        processes_.push_back(start_owner({.url = url, .batch_ops_max = one.batch_ops_max()}));
      } else {
        rig.start_engine({{kBenchKind, queue::make_processor([](const queue::Work&) {
                             return queue::Outcome::complete();
                           })}},
                         {.in_flight_per_handler_max = kInFlightMax});
      }
    }
    wait_until([&] { return rig.owners() == one.owners; });
  }

 private:
  std::vector<std::unique_ptr<support::Program>> processes_;
};

double run_case(Stores& stores, const Case& one) {
  const std::string url = fresh_url(stores, one.store);
  // One connection commits one item at a time, so as many put as work.
  const int lanes = one.at_once == 1 ? one.owners : 2;
  Rig rig({.url = url, .lanes = lanes, .batch_ops_max = one.batch_ops_max()});
  const Owners owners(rig, one, url);
  PutPlan puts;
  puts.items = one.items;
  puts.per_put = one.at_once;
  queue::PartitionConfig config;
  config.kind = kBenchKind;
  config.concurrency = one.at_once;
  for (int i = 0; i < one.owners; ++i) {
    puts.partitions.push_back(rig.make(fmt::format("p{}", i), config));
  }
  wait_until([&] { return rig.holding_owners() == one.owners; });
  rig.find_holders();
  const Instant begin = now();
  put_all(rig, puts);
  wait_until([&] { return rig.complete_items() == one.items; });
  return static_cast<double>(one.items) / seconds_since(begin);
}

double run_raw(Stores& stores, const Case& one) {
  const RawLoad load{static_cast<int>(one.items), one.at_once, one.owners};
  if (one.store == Store::Postgres) return raw_postgres(stores.fresh_postgres(), load);
  const std::string url = stores.fresh_sqlite();
  return raw_sqlite(url.substr(url.find(':') + 1), load);
}

}  // namespace

void measure_throughput(Stores& stores, const Plan& plan, const Report& report) {
  struct Rates {
    std::vector<double> raw, work, ratio;
  };
  std::vector<std::pair<Case, Rates>> cases;
  for (const Store store : {Store::Sqlite, Store::Postgres}) {
    for (const int at_once : {1, 100}) {
      for (const int owners : plan.owners) {
        // PostgreSQL joins the commits of many connections: there more of them go in the same time.
        const std::int64_t singles =
            store == Store::Postgres ? plan.singles * std::min(owners, 8) : plan.singles;
        const Case one{store, owners, at_once, at_once == 1 ? singles : plan.hundreds};
        const std::string name = name_of(store) + " " + one.name();
        if (name.find(plan.only) != std::string::npos) cases.push_back({one, {}});
      }
    }
  }
  for (int round = 0; round < plan.rounds; ++round) {
    for (auto& [one, rates] : cases) {
      rates.raw.push_back(run_raw(stores, one));
      rates.work.push_back(run_case(stores, one));
      rates.ratio.push_back(rates.work.back() / rates.raw.back());
    }
  }
  for (const auto& [one, rates] : cases) {
    report.add({name_of(one.store), one.name(), percentile(rates.work, 0.5), "items/s",
                fmt::format("{:.0f} rows/s, {}", percentile(rates.raw, 0.5), one.raw_name()),
                percentile(rates.ratio, 0.5)});
  }
}

}  // namespace quern::bench
