#include "support/kill_sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/file.h"
#include "support/crash_log.h"

namespace quern::support {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Pair;
using ::testing::StartsWith;

constexpr int kItems = 2;

// Names and contents of all files, in order.
Result<std::string> folder_text(const std::filesystem::path& folder) {
  TRY_ASSIGN(const std::vector<io::FolderEntry> entries, io::list_folder(folder, 1000));
  std::string text;
  for (const io::FolderEntry& entry : entries) {
    TRY_ASSIGN(const std::string contents, io::read_file(folder / entry.name, 1000));
    text += entry.name + "=" + contents + "\n";
  }
  return text;
}

Scenario toy(const std::string& order, int items = kItems) {
  return [order, items](World& world) -> Result<std::string> {
    ProgramOptions options;
    options.program = "toy_server";
    options.arguments = {world.folder().native(), std::to_string(items), order};
    TRY_ASSIGN(const Ran ran, world.run_to_end(options));
    if (!ran.status.exited_with(0)) return Error{Errc::Internal, ran.standard_error};
    return folder_text(world.folder());
  };
}

TEST(KillSweepTest, ProgramThatWritesInTheRightOrderSurvivesEveryKill) {
  const SweepReport report = kill_sweep(toy("right"));
  EXPECT_THAT(report.failures, IsEmpty());
  // fsync, rename and the folder's fsync for each of item and count.
  EXPECT_EQ(report.writes, kItems * 2 * 3);
  EXPECT_THAT(report.writes_by_kind,
              ElementsAre(Pair("fsync", kItems * 2), Pair("rename", kItems * 2),
                          Pair("sync_folder", kItems * 2)));
  EXPECT_THAT(report.visits_by_point, ElementsAre(Pair("toy.between", kItems)));
  EXPECT_EQ(report.kills, report.writes * 2 + kItems);
  EXPECT_EQ(report.renumbered, 0);
  EXPECT_EQ(report.outcome, "count=2\nitem0=contents 0\nitem1=contents 1\n");
}

TEST(KillSweepTest, ASlowOneIsKilledAtSomeInstantsOnly) {
  ::unsetenv(kSweepVariable);
  const SweepReport some = kill_sweep(toy("right"), {.kills_max = 5});
  EXPECT_THAT(some.failures, IsEmpty());
  EXPECT_THAT(some.kills, AllOf(Ge(4), Le(5))) << some.text();
  ::setenv(kSweepVariable, "all", 1);
  const SweepReport all = kill_sweep(toy("right"), {.kills_max = 5});
  ::unsetenv(kSweepVariable);
  EXPECT_EQ(all.kills, all.writes * 2 + kItems);
}

TEST(KillSweepTest, SwappedWritesAreFoundOut) {
  const SweepReport report = kill_sweep(toy("swapped"));
  // For each item: after the count's rename, before and after its sync, at the point between the
  // two, around the item's fsync, and before the item's rename.
  EXPECT_EQ(report.failures.size(), kItems * 7U);
  EXPECT_THAT(report.failures, Each(HasSubstr("calmly")));
  EXPECT_THAT(report.failures, Contains(StartsWith("killed at visit 1 of toy.between: line 2: ")));
}

TEST(KillSweepTest, ProgramThatRemembersItsDeathIsFoundOut) {
  EXPECT_THAT(kill_sweep(toy("forgetful")).failures, Contains(HasSubstr("restarted=")));
}

TEST(KillSweepTest, RunWithoutDurableWritesIsAFailure) {
  EXPECT_THAT(kill_sweep(toy("volatile")).failures,
              ElementsAre(HasSubstr("made no durable write")));
}

TEST(KillSweepTest, ProgramThatDoesNotReachItsWriteAgainIsAFailure) {
  // Only the calm world gets all items, so that later ones end before their ordered death.
  int worlds = 0;
  const SweepReport report = kill_sweep([&](World& world) -> Result<std::string> {
    ProgramOptions options;
    options.program = "toy_server";
    options.arguments = {world.folder().native(), worlds++ == 0 ? "2" : "1", "right"};
    TRY(world.run_to_end(options));
    return std::string("the same");
  });
  // The second item: six writes, each before and after, and one visit of the point.
  EXPECT_EQ(report.failures.size(), 13U);
  EXPECT_THAT(report.failures, Each(HasSubstr("it was never reached")));
}

TEST(KillSweepTest, ScenarioThatKillsByItselfIsNotTakenForTheOrderedDeath) {
  int worlds = 0;
  const SweepReport report = kill_sweep([&](World& world) -> Result<std::string> {
    ProgramOptions options;
    options.program = "toy_server";
    options.arguments = {world.folder().native(), "1", "right"};
    if (worlds++ > 0) options = {"/bin/sleep", {"1000"}, {}, {}};
    TRY_ASSIGN(const std::shared_ptr<Program> program, world.start(options));
    if (worlds > 1) program->kill();
    TRY(program->wait());
    return std::string("the same");
  });
  EXPECT_EQ(report.kills, 0);
  EXPECT_EQ(report.failures.size(), 13U);
}

TEST(KillSweepTest, SecondStartCanBeSwept) {
  SweepOptions options;
  options.armed_start = 2;
  const SweepReport report = kill_sweep(
      [](World& world) -> Result<std::string> {
        ProgramOptions first;
        first.program = "toy_server";
        first.arguments = {world.folder().native(), "1", "right"};
        TRY_ASSIGN(const std::shared_ptr<Program> program, world.start(first));
        TRY(program->wait());
        ProgramOptions second = first;
        second.arguments[1] = "2";
        TRY(world.run_to_end(second));
        return folder_text(world.folder());
      },
      options);
  EXPECT_THAT(report.failures, IsEmpty());
  EXPECT_EQ(report.writes, 6);
}

TEST(KillSweepTest, WorldsAtATimeChangeNothing) {
  SweepOptions options;
  options.parallel = 2;
  const SweepReport report = kill_sweep(toy("right"), options);
  EXPECT_THAT(report.failures, IsEmpty());
  EXPECT_EQ(report.kills, report.writes * 2 + kItems);
  EXPECT_EQ(kill_sweep(toy("swapped"), options).failures.size(), kItems * 7U);
}

TEST(KillSweepTest, ManyFailuresStopItEarlyAndItSaysSo) {
  SweepOptions options;
  options.failures_max = 2;
  EXPECT_THAT(kill_sweep(toy("swapped"), options).failures,
              ElementsAre(HasSubstr("calmly"), HasSubstr("calmly"), HasSubstr("stopped")));
}

TEST(KillSweepTest, VisitsBeyondTheLimitAreCountedAsLeftOut) {
  SweepOptions options;
  options.visits_per_point_max = 2;
  // The last item is the one that the swapped order loses when killed at the last visit.
  const SweepReport report = kill_sweep(toy("swapped", 3), options);
  EXPECT_EQ(report.visits_left_out, 1);
  EXPECT_EQ(report.kills, report.writes * 2 + 2);
  EXPECT_THAT(report.failures, Contains(StartsWith("killed at visit 1 of toy.between")));
  EXPECT_THAT(report.failures, Contains(StartsWith("killed at visit 3 of toy.between")));
}

TEST(KillSweepTest, FailingScenarioIsAFailureOfTheCalmRun) {
  const SweepReport report = kill_sweep([](World&) -> Result<std::string> {
    return Error{Errc::Internal, "no luck"};
  });
  EXPECT_THAT(report.failures, ElementsAre("the calm run: no luck"));
}

TEST(KillSweepTest, ProgramThatDiesForEverIsNotStartedForEver) {
  const SweepReport report = kill_sweep([](World& world) -> Result<std::string> {
    TRY(world.run_to_end({"/bin/sh", {"-c", "kill -9 $$"}, {}, {}}));
    return std::string();
  });
  EXPECT_THAT(report.failures, ElementsAre(HasSubstr("started 20 times")));
}

TEST(RandomKillsTest, RightProgramSurvives) {
  const SweepReport report = random_kills(
      [](World& world) -> Result<std::string> {
        ProgramOptions options;
        options.program = "toy_server";
        options.arguments = {world.folder().native(), "20", "right"};
        TRY(world.run_to_end(options));
        return folder_text(world.folder());
      },
      10, 42);
  EXPECT_THAT(report.failures, IsEmpty());
  EXPECT_GT(report.kills, 0);
}

TEST(RandomKillsTest, ProgramThatRemembersItsDeathIsFoundOut) {
  EXPECT_THAT(random_kills(
                  [](World& world) -> Result<std::string> {
                    // It ends only when it has been killed before, or is not killed for a while.
                    const std::string script =
                        "test -e died && echo died && exit; touch died; sleep 0.2; rm died";
                    TRY_ASSIGN(const Ran ran,
                               world.run_to_end({"/bin/sh", {"-c", script}, {}, world.folder()}));
                    return ran.standard_output;
                  },
                  10, 7)
                  .failures,
              Contains(HasSubstr("died")));
}

TEST(CrashLogTest, ReadsWritesAndVisits) {
  const CrashLog log =
      parse_crash_log("write 1 fsync a b\npoint x\nwrite 2 commit \npoint x\npoint y\n");
  ASSERT_EQ(log.writes.size(), 2U);
  EXPECT_EQ(log.writes[0].detail, "a b");
  EXPECT_EQ(log.writes[1].kind, "commit");
  EXPECT_THAT(log.visits, ElementsAre(Pair("x", 2), Pair("y", 1)));
}

}  // namespace
}  // namespace quern::support
