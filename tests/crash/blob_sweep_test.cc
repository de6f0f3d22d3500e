// Goal: whatever the instant at which a process that puts, deletes and sweeps blobs is killed, each
// blob that is referred to is whole, and after the next sweep nothing else is left.
// Method: blob_mill (programs/) is killed at each durable write and each crash point of its life
// (blob.put.durable, blob.rows.stored, blob.sweep.deleted, blob.sweep.judged, blob.sweep.removed,
// blob.sweep.tidied), and once more while it recovers from a kill.
#include <gtest/gtest.h>

#include "support/kill_sweep.h"
#include "support/postgres.h"

namespace quern {
namespace {

using support::Ran;
using support::SweepReport;
using support::World;

Result<std::string> mill(World& world, const std::string& database, const std::string& order) {
  TRY_ASSIGN(const Ran ran,
             world.run_to_end(
                 {"blob_mill", {(world.folder() / "data").string(), database, order}, {}, {}}));
  if (!ran.status.exited_with(0)) return Error{Errc::Internal, ran.standard_error};
  return ran.standard_output;
}

std::string sqlite_in(const World& world) {
  return "sqlite:" + (world.folder() / "data/store.db").string();
}

const std::string kEnd =
    "holder 6: 50000 bytes, 2229db2b\n"
    "holder 9: 40000 bytes, a3fdf9a5\n"
    "holder 11: 9 bytes, b6e221df\n"
    "3 rows, 0 in doubt, 0 dead\n"
    "0 problems, 0 orphans\n"
    "2 files\n";

void expect_clean(const SweepReport& report) {
  EXPECT_TRUE(report.failures.empty()) << report.text();
  EXPECT_EQ(report.outcome, kEnd);
}

TEST(BlobSweepTest, EndsLikeTheCalmRunOnSqlite) {
  const SweepReport report = support::kill_sweep(
      [](World& world) { return mill(world, sqlite_in(world), "right"); }, {.parallel = 2});
  expect_clean(report);
  EXPECT_GE(report.writes, 40);
  for (const char* point : {"blob.put.durable", "blob.rows.stored", "blob.sweep.deleted",
                            "blob.sweep.judged", "blob.sweep.removed"}) {
    EXPECT_TRUE(report.visits_by_point.contains(point)) << point << " was never reached";
  }
}

TEST(BlobSweepTest, EndsLikeTheCalmRunOnPostgres) {
  support::ScratchDatabases databases;
  const SweepReport report = support::kill_sweep(
      [&databases](World& world) {
        return databases.lend(
            [&](const std::string& database) { return mill(world, database, "right"); });
      },
      {.parallel = 2, .visits_per_point_max = 4});
  expect_clean(report);
}

// The second start finds a put that nobody named and half of another, and is killed in its turn.
TEST(BlobSweepTest, ARecoveryThatIsKilledIsRepeated) {
  const SweepReport report =
      support::kill_sweep([](World& world) { return mill(world, sqlite_in(world), "stops"); },
                          {.parallel = 2, .armed_start = 2});
  expect_clean(report);
  EXPECT_TRUE(report.visits_by_point.contains("blob.sweep.tidied"));
}

// The test is itself proven: here the row is stored before its bytes are written.
TEST(BlobSweepTest, AProgramThatNamesBytesBeforeTheyAreThereIsCaught) {
  const SweepReport report =
      support::kill_sweep([](World& world) { return mill(world, sqlite_in(world), "swapped"); },
                          {.parallel = 2, .failures_max = 3});
  EXPECT_EQ(report.outcome, kEnd) << "undisturbed it is right; only a kill tells";
  EXPECT_FALSE(report.failures.empty()) << report.text();
}

}  // namespace
}  // namespace quern
