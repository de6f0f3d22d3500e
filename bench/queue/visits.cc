#include "bench/queue/visits.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <atomic>
#include <cstdio>

#include "base/check.h"

namespace quern::bench {
namespace {

std::atomic<std::int64_t> g_statements{0};
std::atomic<std::int64_t> g_vm_steps{0};
std::atomic<std::int64_t> g_scanned_rows{0};

int on_statement_end(unsigned /*what*/, void* /*context*/, void* statement, void* /*time_ns*/) {
  auto* ended = static_cast<sqlite3_stmt*>(statement);
  g_statements += 1;
  g_vm_steps += sqlite3_stmt_status(ended, SQLITE_STMTSTATUS_VM_STEP, 1);
  g_scanned_rows += sqlite3_stmt_status(ended, SQLITE_STMTSTATUS_FULLSCAN_STEP, 1);
  return 0;
}

int on_connection(sqlite3* database, char** /*message*/, const void* /*api*/) {
  return sqlite3_trace_v2(database, SQLITE_TRACE_PROFILE, &on_statement_end, nullptr);
}

void (*extension())() {
  return reinterpret_cast<void (*)()>(&on_connection);
}

}  // namespace

Visits operator-(Visits a, const Visits& b) {
  a.statements -= b.statements;
  a.vm_steps -= b.vm_steps;
  a.scanned_rows -= b.scanned_rows;
  return a;
}

SqliteVisits::SqliteVisits() {
  CHECK(sqlite3_auto_extension(extension()) == SQLITE_OK);
}

SqliteVisits::~SqliteVisits() {
  sqlite3_cancel_auto_extension(extension());
}

Visits SqliteVisits::total() const {
  return {g_statements, g_vm_steps, g_scanned_rows};
}

PostgresVisits postgres_visits(support::Postgres& postgres, const std::string& url) {
  const std::string text = postgres.run_sql(
      url,
      "SELECT (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'item') || ' ' ||"
      " coalesce(idx_tup_fetch, 0) || ' ' || seq_tup_read FROM pg_stat_user_tables"
      " WHERE relname = 'item'");
  PostgresVisits visits;
  CHECK(std::sscanf(text.c_str(), "%ld %ld %ld", &visits.index_entries, &visits.rows,
                    &visits.scanned_rows) == 3);
  return visits;
}

}  // namespace quern::bench
