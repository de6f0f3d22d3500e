// Question: what does the work engine cost over bare inserts? From the put of an item to its stored
// completion, with a processor in the process that answers at once, for 1, 8 and 64 owners, one
// item a commit and a hundred at a time; how long an item waits for its start; whether finished
// items, idle partitions or deaths slow it down.
// Expect: an item is written four times (put, taken, completed, and its event), with three index
// entries each time, so a hundred at a time reach 0.15 of raw rows or more; nothing depends on how
// many items are finished or how many partitions are idle; a handler's death is noticed within 100
// ms, an owner's within its lease and a scan.
//
// Owners are engines of this process on SQLite, and processes of their own on PostgreSQL, which the
// parent only puts for. Every case has a fresh database, full durability, and rows of 200 bytes.
// Rounds of all cases are interleaved, medians are reported. Arguments: --smoke, --json,
// names of the parts to run (throughput latency finished idle recovery; all by default),
// --rounds=N,
// --items=N (of a case with a hundred at a time) and --only=TEXT: of the throughput's cases, those
// whose names contain it.
#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "bench/queue/child.h"
#include "bench/queue/plan.h"

namespace quern::bench {

Plan Plan::smoke() {
  Plan plan;
  plan.rounds = 1;
  plan.owners = {1, 3};
  plan.singles = 60;
  plan.hundreds = 1200;
  plan.latencies = 8;
  plan.finished = {1000, 0};
  plan.waiting = {500, 2000};
  plan.idle_partitions = 500;
  plan.idle_seconds = 1;
  plan.recoveries = 1;
  return plan;
}

Stores::Stores()
    : postgres_({.settings = {"shared_buffers=256MB", "max_wal_size=1GB", "max_connections=400",
                              "shared_preload_libraries='pg_stat_statements'"}}) {}

std::string Stores::fresh_sqlite() {
  return "sqlite:" + (folder_ / fmt::format("{}.db", files_++)).string();
}

std::string name_of(Store store) {
  return store == Store::Sqlite ? "sqlite" : "postgres";
}

std::string fresh_url(Stores& stores, Store store) {
  return store == Store::Sqlite ? stores.fresh_sqlite() : stores.fresh_postgres();
}

namespace {

using Measure = void (*)(Stores&, const Plan&, const Report&);

int run(const std::vector<std::string>& arguments) {
  const auto has = [&](std::string_view wanted) {
    return std::find(arguments.begin(), arguments.end(), wanted) != arguments.end();
  };
  Plan plan = has("--smoke") ? Plan::smoke() : Plan();
  for (const std::string& argument : arguments) {
    if (argument.starts_with("--only=")) plan.only = argument.substr(7);
    if (argument.starts_with("--rounds=")) plan.rounds = std::stoi(argument.substr(9));
    if (argument.starts_with("--items=")) plan.hundreds = std::stoll(argument.substr(8));
  }
  const Report report(has("--json") ? Report::Format::Json : Report::Format::Table);
  const auto names = std::count_if(arguments.begin(), arguments.end(),
                                   [](const auto& text) { return !text.starts_with("--"); });
  const std::vector<std::pair<std::string, Measure>> parts = {
      {"throughput", &measure_throughput}, {"latency", &measure_latency},
      {"finished", &measure_finished},     {"idle", &measure_idle},
      {"recovery", &measure_recovery},
  };
  Stores stores;
  for (const auto& [name, measure] : parts) {
    if (names == 0 || has(name)) measure(stores, plan, report);
  }
  return 0;
}

}  // namespace
}  // namespace quern::bench

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  quern::set_log(quern::LogLevel::Warn, quern::LogFormat::Human);
  if (const auto code = quern::bench::run_child(arguments)) return *code;
  return quern::bench::run(arguments);
}
