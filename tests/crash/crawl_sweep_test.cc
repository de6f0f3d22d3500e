// Goal: whatever the instant at which `quern crawl` is killed, the same command given again ends as
// if nothing had happened: the same documents, errors, captures and answers; by the site's own log
// nothing was asked for twice but what was in flight, and never two things within the gap.
// Method: the program is killed at each durable write and at each crash point (crawl.site.made,
// crawl.pages.admitted, crawl.seeded, crawl.fetched, crawl.stored, crawl.fetch.recorded,
// crawl.links.admitted, crawl.page.settled, crawl.page.dropped, crawl.ended, archive.opened,
// archive.appended, archive.synced, tree.root.written, tree.root.removed, and those of the store,
// the blobs and the queue) of a first crawl, and of one that finds the site changed. PostgreSQL: at
// random instants of both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crash/crawl_scene.h"
#include "support/kill_sweep.h"
#include "support/postgres.h"

namespace quern::crash {
namespace {

using support::Program;
using support::ProgramOptions;
using support::SweepReport;
using support::World;
using testing::HasSubstr;
using testing::Not;

constexpr char kEmpty[] =
    "SET client_min_messages = warning; DROP SCHEMA public CASCADE; CREATE SCHEMA public";
constexpr int kRandomRounds = 14;  // with one or two kills each
constexpr std::uint64_t kSeed = 20261116;

Start start_in(World& world) {
  return [&world](const ProgramOptions& options) { return world.start(options); };
}

Result<std::string> crawl_twice(World& world, const std::string& database) {
  CrawlScene scene(world.folder(), start_in(world), database);
  for (const int number : {1, 2}) {
    scene.set_site(number);
    TRY(scene.crawl(number));
  }
  return scene.outcome();
}

void expect_first(const std::string& outcome) {
  EXPECT_THAT(outcome, HasSubstr("plain.test /s0/p7 200\n"));
  EXPECT_THAT(outcome, HasSubstr("redirect.test /r301 301\n"));
}

void expect_second(const std::string& outcome) {
  EXPECT_THAT(outcome, HasSubstr("plain.test /s0/p1 304\n"));
  EXPECT_THAT(outcome, HasSubstr("plain.test /list?p=3 200\n"));
  EXPECT_THAT(outcome, HasSubstr("plain.test /s0/p8 404\n"));
  EXPECT_THAT(outcome, HasSubstr("word3: 1 plain.test/list?p=3\n"));
  EXPECT_THAT(outcome, HasSubstr("word7: 0\n"));
  EXPECT_THAT(outcome, HasSubstr("word8: 0\n"));
}

void expect_good(const SweepReport& report) {
  EXPECT_TRUE(report.failures.empty()) << report.text();
  EXPECT_THAT(report.outcome, HasSubstr(R"("clean":true)"));
  for (const char* fault : {"was asked", "no record", "digest\n", "records of", "left in"}) {
    EXPECT_THAT(report.outcome, Not(HasSubstr(fault)));
  }
}

void expect_points(const SweepReport& report, std::initializer_list<const char*> points) {
  for (const char* point : points) EXPECT_TRUE(report.visits_by_point.contains(point)) << point;
}

// What every world begins with: the folder of so many crawls that nobody disturbed.
class Beginning {
 public:
  explicit Beginning(int crawls) : crawls_(crawls) {
    CrawlScene scene(folder_.path(), start_calmly);
    CHECK_OK(scene.prepare());
    for (int number = 1; number <= crawls; ++number) {
      scene.set_site(number);
      CHECK_OK(scene.crawl(number));
    }
  }
  Result<> copy_to(const std::filesystem::path& folder) const {
    using std::filesystem::copy_options;
    std::error_code failed;
    std::filesystem::copy(folder_.path(), folder,
                          copy_options::recursive | copy_options::overwrite_existing, failed);
    if (failed) return Error{Errc::Internal, "the beginning: " + failed.message()};
    return {};
  }
  // One more.
  Result<std::string> go_on(World& world) const {
    TRY(copy_to(world.folder()));
    CrawlScene scene(world.folder(), start_in(world));
    scene.set_site(crawls_ + 1);
    TRY(scene.crawl(crawls_ + 1));
    return scene.outcome();
  }

 private:
  static Result<std::shared_ptr<Program>> start_calmly(const ProgramOptions& options) {
    TRY_ASSIGN(std::shared_ptr<Program> program, Program::start(options));
    return program;
  }

  const int crawls_;
  support::TempFolder folder_;
};

// Behind one write is before the next one: every second has all instants between them.
SweepReport sweep(const Beginning& beginning) {
  return support::kill_sweep([&beginning](World& world) { return beginning.go_on(world); },
                             {.parallel = 2,
                              .visits_per_point_max = 2,
                              .every = 2,
                              .kills_max = support::kKillsOfSlowSweep,
                              .pace_varies = true});
}

TEST(CrawlSweepTest, AFirstCrawlEndsLikeTheCalmOne) {
  const Beginning beginning(0);
  const SweepReport report = sweep(beginning);
  expect_first(report.outcome);
  expect_good(report);
  expect_points(
      report, {"crawl.site.made", "crawl.pages.admitted", "crawl.seeded", "crawl.fetched",
               "crawl.stored", "crawl.fetch.recorded", "crawl.links.admitted", "crawl.page.settled",
               "crawl.ended", "archive.opened", "archive.appended", "archive.synced"});
  EXPECT_GT(report.kills, report.unreached * 4) << report.text();
}

TEST(CrawlSweepTest, ACrawlOfAChangedSiteEndsLikeTheCalmOne) {
  const Beginning beginning(1);
  const SweepReport report = sweep(beginning);
  expect_second(report.outcome);
  expect_good(report);
  expect_points(report,
                {"crawl.fetched", "crawl.stored", "crawl.fetch.recorded", "crawl.page.settled",
                 "crawl.page.dropped", "tree.root.removed", "archive.opened", "crawl.ended"});
  EXPECT_GT(report.kills, report.unreached * 4) << report.text();
}

// -- at random instants --

TEST(CrawlSweepTest, CrawlsThatAreKilledAtRandomEndLikeTheCalmOnesOnPostgres) {
  support::Postgres& postgres = support::Postgres::shared();
  const std::string database = postgres.create_database();
  const SweepReport report = support::random_kills(
      [&](World& world) -> Result<std::string> {
        postgres.run_sql(database, kEmpty);
        return crawl_twice(world, database);
      },
      kRandomRounds, kSeed);
  expect_first(report.outcome);
  expect_second(report.outcome);
  expect_good(report);
  EXPECT_GE(report.kills, kRandomRounds / 2) << report.text();
}

}  // namespace
}  // namespace quern::crash
