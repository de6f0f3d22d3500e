// Goal: whatever the instant at which `quern add` is killed, the same command given again ends as
// if nothing had happened: the same documents, errors and files, nothing twice, nothing left over.
// Method: the program is killed at each durable write and at each crash point (step.job.made,
// step.shard.item_put, tree.roots.inserted, tree.children.inserted, tree.files.processed,
// tree.ingested.counting, tree.shard.ended, tree.waiting.ended and those of the store, the blobs
// and the queue) of its life. Its workers die with it. A worker is killed at every part that it
// sends (worker.part.sent), while the server lives.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>

#include "crash/nested_sample.h"
#include "support/kill_sweep.h"
#include "support/postgres.h"

namespace quern::crash {
namespace {

using support::Environment;
using support::Program;
using support::ProgramOptions;
using support::Ran;
using support::SweepOptions;
using support::SweepReport;
using support::World;
using testing::HasSubstr;

constexpr char kEmpty[] =
    "SET client_min_messages = warning; DROP SCHEMA public CASCADE; CREATE SCHEMA public";
constexpr char kKey[] = "the-import";

Environment environment_of(const World& world, const std::string& database) {
  Environment environment{{"QUERN_DATA", (world.folder() / "data").string()}};
  if (database.empty()) return environment;
  environment.emplace_back("QUERN_DB", database);
  // Whoever comes next waits for the dead one's lease.
  environment.emplace_back("QUERN_LEASE", "1");
  environment.emplace_back("QUERN_SCAN", "50");
  environment.emplace_back("QUERN_SHARDS", "2");
  return environment;
}

// What a reader of the results sees, without ids.
Result<std::string> results_of(const Environment& environment) {
  std::string all;
  for (const char* list : {"documents", "errors", "files"}) {
    ProgramOptions ask{"quern", {list, "--json", "--no-ids"}, environment, {}};
    TRY_ASSIGN(const Ran ran, support::run_program(ask));
    if (!ran.status.exited_with(0)) return Error{Errc::Internal, ran.standard_error};
    all += fmt::format("{}:\n{}", list, ran.standard_output);
  }
  ProgramOptions check{"quern", {"check", "--json"}, environment, {}};
  TRY_ASSIGN(const Ran checked, support::run_program(check));
  all += "check: " + checked.standard_output;
  return all;
}

Result<std::string> import_to_the_end(World& world, const std::string& sample,
                                      const std::string& database) {
  const Environment environment = environment_of(world, database);
  ProgramOptions add{"quern", {"add", sample, "--key", kKey, "--json"}, environment, {}};
  TRY_ASSIGN(const Ran ran, world.run_to_end(add));
  if (!ran.status.exited_with(0)) {
    return Error{Errc::Internal, ran.status.text() + ": " + ran.standard_error};
  }
  TRY_ASSIGN(std::string results, results_of(environment));
  TRY_ASSIGN(const std::string orphans, orphans_of(world.folder() / "data" / "blobs"));
  return results + orphans;
}

TEST(ImportSweepTest, EndsLikeTheCalmRunOnSqlite) {
  const NestedSample sample;
  const SweepReport report = support::kill_sweep(
      [&sample](World& world) { return import_to_the_end(world, sample.path(), ""); },
      {.parallel = 2,
       .visits_per_point_max = 6,
       .kills_max = support::kKillsOfSlowSweep,
       .pace_varies = true});
  EXPECT_THAT(report.outcome, HasSubstr("unhandled"));
  EXPECT_THAT(report.outcome, HasSubstr(R"("clean":true)"));
  EXPECT_GT(report.writes, 20);
  EXPECT_GT(report.kills, report.unreached * 4) << report.text();
  EXPECT_TRUE(report.failures.empty()) << report.text();
  for (const char* point :
       {"step.job.made", "step.shard.item_put", "tree.roots.inserted", "tree.children.inserted",
        "tree.files.processed", "tree.ingested.counting", "tree.shard.ended"}) {
    EXPECT_TRUE(report.visits_by_point.contains(point)) << point;
  }
}

TEST(ImportSweepTest, EndsLikeTheCalmRunOnPostgres) {
  const NestedSample sample(NestedSample::Size::Small);
  support::Postgres& postgres = support::Postgres::shared();
  const std::string database = postgres.create_database();
  SweepOptions options;
  // A run waits for the lease of the dead one: seconds each. The tree is small, and SQLite's sweep
  // has every write.
  options.every = 2;
  options.kills_max = support::kKillsOfSlowSweep;
  options.visits_per_point_max = 1;
  options.pace_varies = true;
  const SweepReport report = support::kill_sweep(
      [&](World& world) -> Result<std::string> {
        postgres.run_sql(database, kEmpty);
        return import_to_the_end(world, sample.path(), database);
      },
      options);
  EXPECT_THAT(report.outcome, HasSubstr(R"("clean":true)"));
  EXPECT_TRUE(report.failures.empty()) << report.text();
}

// Starts workers for Archive, Text and Detect against a server, again whenever one has died.
class Workers {
 public:
  Workers(std::string server, Environment first)
      : server_(std::move(server)), first_(std::move(first)) {}

  Result<> look_after() {
    for (const char* step : {"Archive", "Text", "Detect"}) {
      std::unique_ptr<Program>& worker = workers_[step];
      if (worker && !worker->has_ended()) continue;
      if (worker) ++died_;
      ProgramOptions options{"quern-steps",
                             {"--server", server_, "--quiet", "--piece-bytes", "150", step},
                             worker ? Environment{} : first_,
                             {}};
      TRY_ASSIGN(worker, Program::start(options));
    }
    return {};
  }
  int died() const { return died_; }

 private:
  std::string server_;
  Environment first_;  // of the first of each step: when to die
  std::map<std::string, std::unique_ptr<Program>> workers_;
  int died_ = 0;
};

// Goal: a worker may die behind any piece of its answer. Method: the first worker of each step dies
// at its n-th piece, for n from 1 until none comes so far.
TEST(ImportSweepTest, AWorkerMayDieAtEveryPieceOfItsAnswer) {
  const NestedSample sample;
  std::string calm;
  int deaths = 0;
  for (int piece = 0; piece <= 40; piece += piece < 8 ? 1 : 4) {
    support::TempFolder folder;
    const Environment environment{{"QUERN_DATA", (folder.path() / "data").string()},
                                  {"QUERN_TASK_IDLE", "200"}};
    auto server = Program::start(
        {"quern", {"serve", "--listen", "127.0.0.1:0", "--steps", "Detect=0"}, environment, {}});
    ASSERT_TRUE(server.ok()) << server.error().message();
    const auto line = (*server)->wait_for_line(support::Output::Standard, "http://");
    ASSERT_TRUE(line.ok()) << line.error().message();
    Environment first;
    if (piece > 0) first = {{"QUERN_CRASH", fmt::format("point:worker.piece.sent:{}", piece)}};
    Workers workers(line->substr(line->find("http://")), first);
    auto add =
        Program::start({"quern", {"add", sample.path(), "--key", kKey, "--json"}, environment, {}});
    ASSERT_TRUE(add.ok()) << add.error().message();
    while (!(*add)->has_ended()) {
      const Result<> looked = workers.look_after();
      ASSERT_TRUE(looked.ok()) << looked.error().message();
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    const Result<std::string> results = results_of(environment);
    ASSERT_TRUE(results.ok()) << results.error().message();
    if (piece == 0) calm = *results;
    EXPECT_EQ(*results, calm) << "workers died at piece " << piece;
    deaths += workers.died();
  }
  EXPECT_THAT(calm, HasSubstr("unhandled"));
  EXPECT_GT(deaths, 20);
}

// A machine that dies often must not turn good files into errors.
TEST(ImportSweepTest, ThirtyRandomKillsOfOneFolderMakeNoErrors) {
  const NestedSample sample;
  support::TempFolder calm;
  const Environment quiet{{"QUERN_DATA", (calm.path() / "data").string()}};
  ProgramOptions add{"quern", {"add", sample.path(), "--key", kKey, "--json"}, quiet, {}};
  const Result<Ran> whole = support::run_program(add);
  ASSERT_TRUE(whole.ok() && whole->status.exited_with(0));
  const Result<std::string> wanted = results_of(quiet);
  ASSERT_TRUE(wanted.ok()) << wanted.error().message();

  support::TempFolder folder;
  const Environment environment{{"QUERN_DATA", (folder.path() / "data").string()}};
  add.environment = environment;
  std::mt19937_64 random(20261115);
  int killed = 0;
  for (int i = 0; i < 30; ++i) {
    Result<std::unique_ptr<Program>> program = Program::start(add);
    ASSERT_TRUE(program.ok()) << program.error().message();
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + random() % 150));
    if (!(*program)->has_ended()) ++killed;
    (*program)->kill();
  }
  const Result<Ran> last = support::run_program(add);
  ASSERT_TRUE(last.ok() && last->status.exited_with(0)) << last->standard_error;
  const Result<std::string> got = results_of(environment);
  ASSERT_TRUE(got.ok()) << got.error().message();
  EXPECT_EQ(*got, *wanted);
  EXPECT_GT(killed, 5) << "the import ended before it could be killed";
}

}  // namespace
}  // namespace quern::crash
