// Goal: what follows a crawl is as safe as the crawl: its removal, the next one that its plan
// begins by itself, and the way back from its archive. Method: `quern delete`, `quern serve` with a
// plan that is due, and `quern crawl --from-warc` are killed at durable writes and at crash points
// (crawl.pages.removed, crawl.captures.removed, crawl.archive.gone, crawl.warc.removed,
// crawl.import.page_put, crawl.import.noted, and those of a crawl), and
// started again; what a reader sees then is what it sees where nobody died.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "crash/crawl_scene.h"
#include "support/kill_sweep.h"

namespace quern::crash {
namespace {

using support::Program;
using support::ProgramOptions;
using support::SweepReport;
using support::World;
using testing::HasSubstr;
using testing::Not;

// Each takes seconds, and there are three of them.
constexpr std::size_t kKills = 12;

Result<std::shared_ptr<Program>> start_calmly(const ProgramOptions& options) {
  TRY_ASSIGN(std::shared_ptr<Program> program, Program::start(options));
  return program;
}

Result<> copy_folder(const std::filesystem::path& from, const std::filesystem::path& to) {
  using std::filesystem::copy_options;
  std::error_code failed;
  std::filesystem::copy(from, to, copy_options::recursive | copy_options::overwrite_existing,
                        failed);
  if (failed) return Error{Errc::Internal, failed.message()};
  return {};
}

// Whose WARC files there are.
std::string jobs_of(const std::filesystem::path& warcs) {
  std::set<std::string> jobs;
  for (const auto& entry : std::filesystem::directory_iterator(warcs)) {
    const std::string name = entry.path().filename().string();
    const std::size_t job = name.find("-j");
    jobs.insert(job == std::string::npos ? name
                                         : name.substr(job + 1, name.find('-', job + 1) - job - 1));
  }
  std::string told = "archives of";
  for (const std::string& job : jobs) told += " " + job;
  return told + "\n";
}

Start start_in(World& world) {
  return [&world](const ProgramOptions& options) { return world.start(options); };
}

SweepReport sweep(const support::Scenario& scenario) {
  return support::kill_sweep(scenario, {.parallel = 2,
                                        .visits_per_point_max = 2,
                                        .every = 2,
                                        .kills_max = kKills,
                                        .pace_varies = true});
}

void expect_good(const SweepReport& report, std::initializer_list<const char*> points) {
  EXPECT_TRUE(report.failures.empty()) << report.text();
  EXPECT_THAT(report.outcome, HasSubstr(R"("clean":true)"));
  for (const char* fault : {"was asked", "no record", "digest\n", "records of", "left in"}) {
    EXPECT_THAT(report.outcome, Not(HasSubstr(fault)));
  }
  for (const char* point : points) EXPECT_TRUE(report.visits_by_point.contains(point)) << point;
  EXPECT_GT(report.kills, report.unreached) << report.text();
}

// Folders that the worlds begin with, made once.
struct Beginning {
  support::TempFolder folder;
  CrawlScene scene{folder.path(), start_calmly};

  explicit Beginning(int crawls, const std::vector<std::string>& more = {}) {
    CHECK_OK(scene.prepare());
    for (int number = 1; number <= crawls; ++number) {
      scene.set_site(number);
      CHECK_OK(scene.crawl(number, more));
    }
  }
};

TEST(CrawlAfterSweepTest, ACrawlThatIsRemovedLeavesWhatTheCalmRemovalLeaves) {
  const Beginning beginning(2);
  const SweepReport report = sweep([&](World& world) -> Result<std::string> {
    TRY(copy_folder(beginning.folder.path(), world.folder()));
    CrawlScene scene(world.folder(), start_in(world));
    TRY(scene.remove(1));
    TRY_ASSIGN(const std::string outcome, scene.outcome());
    return outcome + jobs_of(scene.warcs());
  });
  expect_good(report, {"crawl.pages.removed", "api.removal.partitions_gone",
                       "crawl.captures.removed", "crawl.archive.gone", "crawl.warc.removed"});
  // Its documents are gone, also those that the second crawl found unchanged.
  EXPECT_THAT(report.outcome, HasSubstr("word0: 0\n"));
  EXPECT_THAT(report.outcome, HasSubstr("the crawl that fetched it was deleted"));
  // So are its captures and their files; those of the second crawl are there.
  EXPECT_THAT(report.outcome, Not(HasSubstr("http://plain.test/s0/p1 text/html 200")));
  EXPECT_THAT(report.outcome, HasSubstr("http://plain.test/s0/p1 warc/revisit 304"));
  EXPECT_THAT(report.outcome, HasSubstr("archives of j2\n"));
}

TEST(CrawlAfterSweepTest, ACrawlThatAPlanBeginsEndsLikeTheCalmOne) {
  const Beginning beginning(1, {"--every", "7d"});
  CHECK_OK(beginning.scene.make_due());
  const SweepReport report = sweep([&](World& world) -> Result<std::string> {
    TRY(copy_folder(beginning.folder.path(), world.folder()));
    CrawlScene scene(world.folder(), start_in(world));
    scene.set_site(2);
    TRY(scene.crawl_by_plan(2));
    TRY_ASSIGN(const std::string plans, scene.plans());
    TRY_ASSIGN(const std::string outcome, scene.outcome());
    return outcome + plans;
  });
  expect_good(report, {"crawl.seeded", "crawl.fetch.recorded", "crawl.ended"});
  EXPECT_THAT(report.outcome, HasSubstr("plain.test /s0/p1 304\n"));
  EXPECT_THAT(report.outcome, HasSubstr("2 plans, 2 of them due in a period\n"));
}

TEST(CrawlAfterSweepTest, AnArchiveIsReadBackLikeByTheCalmOne) {
  const Beginning before(2);
  const Beginning empty(0);
  support::TempFolder folder;
  const std::filesystem::path file = folder.path() / "all.warc.gz";
  std::vector<std::filesystem::path> parts;
  for (const auto& entry : std::filesystem::directory_iterator(before.scene.warcs())) {
    parts.push_back(entry.path());
  }
  std::sort(parts.begin(), parts.end());
  std::ofstream whole(file, std::ios::binary);
  for (const auto& part : parts) whole << std::ifstream(part, std::ios::binary).rdbuf();
  whole.close();
  const SweepReport report = sweep([&](World& world) -> Result<std::string> {
    TRY(copy_folder(empty.folder.path(), world.folder()));
    CrawlScene scene(world.folder(), start_in(world));
    TRY(scene.read_back(file));
    return scene.outcome();
  });
  expect_good(report, {"crawl.import.page_put", "crawl.import.noted", "crawl.fetch.recorded"});
  EXPECT_THAT(report.outcome, HasSubstr("http://plain.test/s0/p1 warc/revisit 304"));
  EXPECT_THAT(report.outcome, HasSubstr("word0: 1 plain.test/\n"));
}

}  // namespace
}  // namespace quern::crash
