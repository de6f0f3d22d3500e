// Assigners that are processes of their own, and are killed: row B6, on every store.
#include <gmock/gmock.h>
#include <signal.h>

#include "base/crash.h"
#include "conformance/store_fixture.h"
#include "support/program.h"

namespace quern::research {
namespace {

using store::StoreKind;
using support::Environment;
using support::Program;
using testing::HasSubstr;
using testing::Not;

class ResearchProcessTest : public store::StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    ASSERT_EQ(run("setup"), "");
  }

  io::ExitStatus end_of(Program& program) {
    const Result<io::ExitStatus> status = program.wait();
    CHECK_OK(status);
    return *status;
  }
  std::unique_ptr<Program> start(const std::string& command, Environment environment = {}) {
    auto program = Program::start({"research_mill", {url_, command}, std::move(environment), {}});
    CHECK_OK(program);
    return *std::move(program);
  }
  // What it printed.
  std::string run(const std::string& command) {
    const std::unique_ptr<Program> program = start(command);
    const io::ExitStatus status = end_of(*program);
    EXPECT_TRUE(status.exited_with(0)) << program->text(support::Output::Error);
    return program->text(support::Output::Standard);
  }
  // Whether it was killed at that instant.
  bool is_killed_at(const std::string& command, const std::string& instant) {
    const std::unique_ptr<Program> program = start(command, {{kCrashVariable, instant}});
    return end_of(*program).killed_by(SIGKILL);
  }
  static std::string lease_in(const std::string& shown) { return shown.substr(0, 36); }
  static std::string clips_in(const std::string& shown) {
    return shown.substr(shown.find("episode"));
  }
};

TEST_P(ResearchProcessTest, B6_AnAssignerKilledBetweenLeaseAndPublicationLeavesNeither) {
  ASSERT_TRUE(is_killed_at("assign", "point:research.assign.leased"));
  EXPECT_EQ(run("show"), "") << "a lease that is not published is none";
  EXPECT_EQ(run("take"), "nothing waits\n");
  EXPECT_EQ(run("assign"), "added 2\n") << "one asked, so two wait";
  EXPECT_THAT(run("show"), HasSubstr("waits: episode"));
}

TEST_P(ResearchProcessTest, B6_AnAssignerKilledAfterItPublishedHasPublishedOnce) {
  ASSERT_TRUE(is_killed_at("assign", "point:store.batch.committed"));
  const std::string published = run("show");
  ASSERT_THAT(published, HasSubstr(" waits: episode 3 "));
  EXPECT_EQ(run("assign"), "added 0\n");
  EXPECT_EQ(run("show"), published) << "while its lease lives nobody publishes it again";
  EXPECT_THAT(run("take"), HasSubstr(lease_in(published)));

  // Nobody works on it: after its time the same pairs return under another lease.
  run("age");
  EXPECT_THAT(run("assign"), HasSubstr("added"));
  const std::string again = run("show");
  EXPECT_THAT(again, Not(HasSubstr(lease_in(published))));
  EXPECT_EQ(clips_in(again).substr(0, clips_in(published).size()), clips_in(published));
}

TEST_P(ResearchProcessTest, B6_AResearcherKilledWhileItTakesAnItemHasItOrLeavesIt) {
  run("assign");
  const std::string waiting = run("show");
  ASSERT_TRUE(is_killed_at("take", "point:research.work.taken"));
  EXPECT_EQ(run("show"), waiting) << "it was not told: the item still waits";
  ASSERT_TRUE(is_killed_at("take", "point:store.batch.committed"));
  EXPECT_THAT(run("show"), HasSubstr(" taken: episode 3 "));
  EXPECT_EQ(run("take"), "nothing waits\n") << "it may have been told: nobody else has it";
  run("age");
  run("assign");
  EXPECT_THAT(run("take"), HasSubstr("episode 3, 4 clips"));
}

INSTANTIATE_TEST_SUITE_P(Stores, ResearchProcessTest,
                         testing::Values(StoreKind::Sqlite, StoreKind::Postgres),
                         store::store_name);

}  // namespace
}  // namespace quern::research
