// Goal: whatever the instant at which a process that curates, assigns and researches is killed,
// each pair has one result, no clip is stranded and no lease is left. Method: research_mill
// (programs/) is killed at each durable write and each crash point of its life
// (research.media.arrived, research.assign.leased, research.work.taken, research.report.stored,
// research.report.done, research.fingerprint.stored), and started again.
#include <gtest/gtest.h>

#include "support/kill_sweep.h"
#include "support/postgres.h"

namespace quern {
namespace {

using support::Ran;
using support::SweepReport;
using support::World;

Result<std::string> mill(World& world, const std::string& database) {
  TRY_ASSIGN(const Ran ran, world.run_to_end({"research_mill", {database, "story"}, {}, {}}));
  if (!ran.status.exited_with(0)) return Error{Errc::Internal, ran.standard_error};
  return ran.standard_output;
}

void expect_clean(const SweepReport& report) {
  EXPECT_TRUE(report.failures.empty()) << report.text();
  EXPECT_NE(report.outcome.find("10 curated, 0 leases, 24 results"), std::string::npos)
      << report.outcome;
  EXPECT_NE(report.outcome.find("24 results, idle true\n"), std::string::npos) << report.outcome;
  for (const char* point :
       {"research.media.arrived", "research.assign.leased", "research.work.taken",
        "research.report.stored", "research.report.done", "research.fingerprint.stored"}) {
    EXPECT_TRUE(report.visits_by_point.contains(point)) << point << " was never reached";
  }
}

TEST(LeaseSweepTest, EndsLikeTheCalmRunOnSqlite) {
  expect_clean(support::kill_sweep(
      [](World& world) { return mill(world, "sqlite:" + (world.folder() / "store.db").string()); },
      {.parallel = 2, .kills_max = support::kKillsOfSlowSweep}));
}

TEST(LeaseSweepTest, EndsLikeTheCalmRunOnPostgres) {
  support::ScratchDatabases databases;
  expect_clean(support::kill_sweep(
      [&databases](World& world) {
        return databases.lend([&](const std::string& database) { return mill(world, database); });
      },
      {.parallel = 2, .visits_per_point_max = 4, .kills_max = support::kKillsOfSlowSweep}));
}

}  // namespace
}  // namespace quern
