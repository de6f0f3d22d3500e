// Goal: whatever the instant at which a process that writes web archives is killed, its files hold
// each capture that it noted, whole and once, and nothing else.
// Method: archive_mill (programs/) is killed at each durable write and each crash point of its life
// (archive.opened, archive.appended, archive.synced), and once more while it recovers from a kill.
#include <gtest/gtest.h>

#include "support/kill_sweep.h"

namespace quern {
namespace {

using support::Ran;
using support::SweepReport;
using support::World;

Result<std::string> mill(World& world, const std::string& order) {
  TRY_ASSIGN(const Ran ran,
             world.run_to_end({"archive_mill", {world.folder().string(), order}, {}, {}}));
  if (!ran.status.exited_with(0)) return Error{Errc::Internal, ran.standard_error};
  return ran.standard_output;
}

std::string expected() {
  std::string text;
  for (const char* type : {"request", "response"}) {
    for (int i = 0; i < 6; ++i) {
      text += std::string(type) + " http://site.example/" + std::to_string(i) + "\n";
    }
  }
  return text;
}

TEST(ArchiveSweepTest, EndsLikeTheCalmRun) {
  const SweepReport report =
      support::kill_sweep([](World& world) { return mill(world, "right"); }, {.parallel = 2});
  EXPECT_TRUE(report.failures.empty()) << report.text();
  EXPECT_EQ(report.outcome, expected());
  EXPECT_GE(report.writes, 20);
  for (const char* point : {"archive.opened", "archive.appended", "archive.synced"}) {
    EXPECT_TRUE(report.visits_by_point.contains(point)) << point << " was never reached";
  }
}

// The first start dies with a record that it has not noted; the second one, which takes it off, is
// killed in its turn.
TEST(ArchiveSweepTest, ARecoveryThatIsKilledIsRepeated) {
  const SweepReport report = support::kill_sweep([](World& world) { return mill(world, "stops"); },
                                                 {.parallel = 2, .armed_start = 2});
  EXPECT_TRUE(report.failures.empty()) << report.text();
  EXPECT_EQ(report.outcome, expected());
}

// The test is itself proven: here nobody takes off what nobody has noted.
TEST(ArchiveSweepTest, AProgramThatDoesNotCutBackIsCaught) {
  const SweepReport report = support::kill_sweep([](World& world) { return mill(world, "uncut"); },
                                                 {.parallel = 2, .failures_max = 3});
  EXPECT_EQ(report.outcome, expected()) << "undisturbed it is right; only a kill tells";
  EXPECT_FALSE(report.failures.empty()) << report.text();
}

}  // namespace
}  // namespace quern
