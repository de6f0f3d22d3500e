// What a run of bench_queue measures, and the stores it measures with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/queue/report.h"
#include "support/postgres.h"
#include "support/temp_folder.h"

namespace quern::bench {

struct Plan {
  int rounds = 3;
  std::string only;  // of the throughput's cases, those whose names contain it
  std::vector<int> owners = {1, 8, 64};
  std::int64_t singles = 2000;     // items of a case with one item a commit
  std::int64_t hundreds = 60'000;  // ... with a hundred
  int latencies = 200;
  std::vector<std::int64_t> finished = {10'000, 0, 1'000'000};  // compared with the first
  std::vector<std::int64_t> waiting = {5'000, 100'000};
  std::int64_t idle_partitions = 100'000;
  int idle_seconds = 10;
  int recoveries = 5;

  static Plan smoke();
};

// Fresh databases of both kinds.
class Stores {
 public:
  Stores();
  // Of a database that is not there yet, or empty.
  std::string fresh_sqlite();
  std::string fresh_postgres() { return postgres_.create_database(); }
  support::Postgres& postgres() { return postgres_; }

 private:
  support::TempFolder folder_;
  support::Postgres postgres_;
  int files_ = 0;
};

enum class Store { Sqlite, Postgres };
std::string name_of(Store store);
std::string fresh_url(Stores& stores, Store store);

void measure_throughput(Stores& stores, const Plan& plan, const Report& report);
void measure_latency(Stores& stores, const Plan& plan, const Report& report);
void measure_finished(Stores& stores, const Plan& plan, const Report& report);
void measure_idle(Stores& stores, const Plan& plan, const Report& report);
void measure_recovery(Stores& stores, const Plan& plan, const Report& report);

}  // namespace quern::bench
