// Goal: whatever the instant at which the counter service is killed, it ends as if nothing had
// happened. Method: a server is killed at each durable write and each crash point
// (store.batch.unit_applied, store.batch.committed, store.migration.applied,
// counter.snapshot.named) of its life, from its first start on an empty folder; its clients make
// each request again, with the same key, until it is answered.
#include <gtest/gtest.h>

#include <future>

#include "io/file.h"
#include "support/kill_sweep.h"
#include "support/postgres.h"

namespace quern {
namespace {

using support::Environment;
using support::Output;
using support::Program;
using support::ProgramOptions;
using support::Ran;
using support::SweepReport;
using support::World;

constexpr int kAttemptsMax = 50;

// A server and its clients. The server is started again whenever it has died.
class Service {
 public:
  Service(World& world, std::string program, std::string database)
      : world_(world), program_(std::move(program)), database_(std::move(database)) {}

  // Runs a client command until it is answered.
  Result<std::string> call(std::vector<std::string> arguments) {
    for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
      TRY(ensure_running());
      std::vector<std::string> all = arguments;
      all.insert(all.end(), {"--server", address_, "--owner-wait", "0", "--log-level", "off"});
      TRY_ASSIGN(const Ran ran, support::run_program({program_, all, environment(), {}}));
      if (ran.status.exited_with(0)) return ran.standard_output;
      if (!ran.status.exited_with(3)) {
        return Error{Errc::Internal, ran.status.text() + ": " + ran.standard_error};
      }
      // Not answered: the server is dying or dead. It may take an instant to be seen dead.
      TRY(server_->wait());
    }
    return Error{Errc::Timeout, "never answered"};
  }

  Environment environment() const {
    return {{"QUERN_DATA", (world_.folder() / "data").string()},
            {"QUERN_DB", database_.empty() ? std::nullopt : std::optional(database_)}};
  }

  // An orderly stop; the next call starts it again.
  Result<> stop() {
    TRY(ensure_running());
    TRY(server_->signal(SIGTERM));
    TRY(server_->wait());
    return {};
  }

 private:
  Result<> ensure_running() {
    for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
      if (server_ != nullptr && !server_->has_ended()) return {};
      TRY_ASSIGN(server_,
                 world_.start({program_,
                               {"serve", "--listen", "127.0.0.1:0", "--log-level", "error"},
                               environment(),
                               {}}));
      const Result<std::string> line = server_->wait_for_line(Output::Standard, "http://");
      if (line.ok()) {
        address_ = line->substr(line->find("http://"));
        return {};
      }
      TRY_ASSIGN(const io::ExitStatus ended, server_->wait());
      if (!ended.killed_by(SIGKILL)) return line.error();
    }
    return Error{Errc::Timeout, "the server never came up"};
  }

  World& world_;
  std::string program_;
  std::string database_;
  std::shared_ptr<Program> server_;
  std::string address_;
};

Result<std::string> snapshot_files(const World& world) {
  TRY_ASSIGN(const auto entries, io::list_folder(world.folder() / "data" / "snapshots", 100));
  return std::to_string(entries.size()) + " snapshot files\n";
}

// Additions, snapshots that replace one another, a second counter; then a restart, which sweeps.
Result<std::string> tell_a_story(World& world, const std::string& program,
                                 const std::string& database) {
  Service service(world, program, database);
  TRY(service.call({"counter", "add", "visits", "--by", "2", "--key", "one"}));
  TRY(service.call({"counter", "snapshot", "visits"}));
  TRY(service.call({"counter", "add", "other", "--key", "two"}));
  TRY(service.call({"counter", "add", "visits", "--by", "3", "--key", "three"}));
  TRY(service.call({"counter", "snapshot", "visits"}));
  TRY(service.call({"counter", "add", "visits", "--by", "-1", "--key", "four"}));
  TRY(service.stop());
  TRY_ASSIGN(const std::string counters, service.call({"counter", "list", "--json"}));
  TRY_ASSIGN(const std::string checked, service.call({"check", "--json"}));
  // Only the owner of a folder may sweep it; nodes on PostgreSQL share theirs.
  if (!database.empty()) return counters + checked;
  TRY_ASSIGN(const std::string files, snapshot_files(world));
  return counters + checked + files;
}

const std::string kStoryEnd =
    "{\"counter\":\"other\",\"value\":1,\"entries\":1}\n"
    "{\"counter\":\"visits\",\"value\":4,\"entries\":3,\"snapshot\":5}\n"
    "{\"clean\":true,\"problems\":[]}\n";
const std::string kOneFile = "1 snapshot files\n";

void expect_clean(const SweepReport& report) {
  EXPECT_TRUE(report.failures.empty()) << report.text();
  EXPECT_GE(report.writes, 15);
  for (const char* point : {"store.batch.unit_applied", "store.batch.committed",
                            "store.migration.applied", "counter.snapshot.named"}) {
    EXPECT_TRUE(report.visits_by_point.contains(point)) << point << " was never reached";
  }
}

TEST(CounterSweepTest, EndsLikeTheCalmRunOnSqlite) {
  const SweepReport report = support::kill_sweep(
      [](World& world) { return tell_a_story(world, "quern", ""); }, {.parallel = 2});
  expect_clean(report);
  EXPECT_EQ(report.outcome, kStoryEnd + kOneFile);
}

TEST(CounterSweepTest, EndsLikeTheCalmRunOnPostgres) {
  support::ScratchDatabases databases;
  const SweepReport report = support::kill_sweep(
      [&databases](World& world) {
        return databases.lend(
            [&](const std::string& database) { return tell_a_story(world, "quern", database); });
      },
      {.parallel = 2});
  expect_clean(report);
  EXPECT_EQ(report.outcome, kStoryEnd);
}

// A crash test is itself proven: this build names a snapshot before it is written.
TEST(CounterSweepTest, ABuildThatSwapsTwoWritesIsCaught) {
  const SweepReport report =
      support::kill_sweep([](World& world) { return tell_a_story(world, "quern_swapped", ""); },
                          {.parallel = 2, .failures_max = 3});
  EXPECT_EQ(report.outcome, kStoryEnd + kOneFile) << "undisturbed it is right; only a kill tells";
  EXPECT_FALSE(report.failures.empty()) << report.text();
}

// Several clients at once, so that batches hold more than one operation, and a server that is
// killed from outside. Whichever client finds the folder free becomes its owner, until it is done
// itself.
Result<std::string> crowd(World& world) {
  Service service(world, "quern", "");
  TRY(service.call({"counter", "add", "a", "--key", "first"}));
  std::vector<std::unique_ptr<Program>> clients;
  for (int i = 0; i < 4; ++i) {
    TRY_ASSIGN(auto client,
               Program::start({"quern",
                               {"counter", "add", i % 2 == 0 ? "a" : "b", "--times", "40", "--key",
                                std::to_string(i), "--log-level", "off"},
                               service.environment(),
                               {}}));
    clients.push_back(std::move(client));
  }
  for (const auto& client : clients) {
    TRY_ASSIGN(const io::ExitStatus ended, client->wait());
    if (!ended.exited_with(0)) return Error{Errc::Internal, client->text(Output::Error)};
  }
  TRY_ASSIGN(const std::string counters, service.call({"counter", "list", "--json"}));
  TRY_ASSIGN(const std::string checked, service.call({"check", "--json"}));
  return counters + checked;
}

TEST(CounterSweepTest, TwentyRandomKillsChangeNothing) {
  const SweepReport report = support::random_kills(crowd, /*rounds=*/20, /*seed=*/20261115);
  EXPECT_TRUE(report.failures.empty()) << report.text();
  EXPECT_GT(report.kills, 0);
  EXPECT_EQ(report.outcome,
            "{\"counter\":\"a\",\"value\":81,\"entries\":81}\n"
            "{\"counter\":\"b\",\"value\":80,\"entries\":80}\n"
            "{\"clean\":true,\"problems\":[]}\n");
}

}  // namespace
}  // namespace quern
