// What an engine costs that has many partitions and nothing to do.
#include <fmt/format.h>
#include <unistd.h>

#include "bench/queue/plan.h"
#include "bench/queue/rig.h"
#include "bench/queue/visits.h"
#include "support/proc.h"

namespace quern::bench {
namespace {

constexpr std::int64_t kHeldMax = 1000;
constexpr char kColumns[] =
    "INSERT INTO partition (name, version, kind, handler, declared, auto_close, manual_checkpoint,"
    " sealed, refuse_when_closed, max_retries, priority, concurrency, backoff_ms, backoff_ms_max,"
    " retain_ms, gate, status, token, ready_us, delayed_us, item_bytes_max, items, complete_items,"
    " failed_items, event_number, created_us, updated_us) SELECT 'idle-' || n, 1, '{}', '', {},"
    " {}, {}, {}, {}, 5, 0, 10, 1000, 300000, -1, 0, 1, 0, 9223372036854775807,"
    " 9223372036854775807, 0, 0, 0, 0, 0, 1, 1 ";

void add_idle(Rig& rig, Store store, std::int64_t count) {
  const bool sqlite = store == Store::Sqlite;
  const char* yes = sqlite ? "1" : "true";
  const char* no = sqlite ? "0" : "false";
  const std::string insert = fmt::format(fmt::runtime(kColumns), kBenchKind, yes, no, no, no, no);
  rig.script(insert + (sqlite ? fmt::format("FROM (WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL"
                                            " SELECT n + 1 FROM c WHERE n < {}) SELECT n FROM c)",
                                            count)
                              : fmt::format("FROM generate_series(1, {}) AS g (n)", count)));
  rig.script(sqlite ? "ANALYZE" : "VACUUM ANALYZE partition");
}

// PostgreSQL's own count, without the connection that asks.
std::int64_t postgres_statements(support::Postgres& postgres, const std::string& url) {
  return std::stoll(
      postgres.run_sql(url,
                       "SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements"
                       " WHERE query NOT LIKE '%pg_stat_statements%'"));
}

void measure_one(Store store, std::int64_t partitions, const Plan& plan, const Report& report,
                 Stores& stores) {
  const SqliteVisits counting;
  const std::string url = fresh_url(stores, store);
  if (store == Store::Postgres) {
    stores.postgres().run_sql(url, "CREATE EXTENSION pg_stat_statements");
  }
  Rig rig({.url = url});
  add_idle(rig, store, partitions);
  rig.start_engine({{kBenchKind, queue::make_processor([](const queue::Work&) {
                       return queue::Outcome::complete();
                     })}},
                   {.held_max = kHeldMax});
  const std::int64_t all = std::min(kHeldMax, partitions);
  wait_until([&] { return rig.held() == all; });
  const auto statements = [&] {
    return store == Store::Sqlite ? counting.total().statements
                                  : postgres_statements(stores.postgres(), url);
  };
  // The first turns of what was claimed are not idle yet.
  std::this_thread::sleep_for(std::chrono::seconds(2));
  const std::int64_t first = statements();
  const std::int64_t commits = rig.commits();
  std::this_thread::sleep_for(std::chrono::seconds(plan.idle_seconds));
  const double seconds = plan.idle_seconds;
  const std::string with = fmt::format("idle, {} partitions, ", partitions);
  report.add({name_of(store), with + "statements",
              static_cast<double>(statements() - first) / seconds, "/s"});
  report.add({name_of(store), with + "commits",
              static_cast<double>(rig.commits() - commits) / seconds, "/s"});
  const double memory_kb = static_cast<double>(support::rss_anon_kb(::getpid()));
  report.add({name_of(store), with + "memory of the process", memory_kb / 1024, "MB"});
}

}  // namespace

void measure_idle(Stores& stores, const Plan& plan, const Report& report) {
  for (const Store store : {Store::Sqlite, Store::Postgres}) {
    for (const std::int64_t partitions : {plan.idle_partitions / 100, plan.idle_partitions}) {
      measure_one(store, partitions, plan, report, stores);
    }
  }
}

}  // namespace quern::bench
