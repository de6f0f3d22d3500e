// Goal: an owner that was paused for longer than its lease writes nothing any more for what another
// one has taken over. Method: two servers on one PostgreSQL; the first is stopped (SIGSTOP) at an
// instant between the first statement of a batch and its COMMIT, or at any; the second takes over;
// the first goes on (SIGCONT). The proof is in the data: the events of the partition carry the
// token of whoever wrote them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "base/crash.h"
#include "crash/resumes.h"
#include "io/file.h"
#include "support/crash_log.h"
#include "support/postgres.h"
#include "support/temp_folder.h"

namespace quern::crash {
namespace {

using support::Output;
using support::Program;
using support::Ran;
using testing::HasSubstr;
using testing::Not;

constexpr char kLost[] = "quern_engine_lost_total";
constexpr char kShortLease[] = "2";  // seconds
constexpr char kLongLease[] = "60";
constexpr char kOften[] = "50";  // scans, milliseconds
constexpr char kSeldom[] = "2000";
constexpr char kNoOrder[] = "point:no.such.point:1:stop";  // scans seldom, and is never stopped
constexpr int kConcurrency = 2;
constexpr int kSlowMs = 40;  // a call, where the second owner is to be met at work

// Whether all of a process stands still.
bool is_stopped(pid_t pid) {
  const auto stat = io::read_file(fmt::format("/proc/{}/stat", pid), 4096);
  if (!stat.ok()) return false;
  const std::size_t name_end = stat->rfind(')');
  return stat->compare(name_end, 3, ") T") == 0;
}

// Calls begun and results stored.
struct Done {
  std::int64_t taken = 0;
  std::int64_t stored = 0;
  friend bool operator==(const Done&, const Done&) = default;
  friend void PrintTo(const Done& done, std::ostream* out) {
    *out << done.taken << " taken, " << done.stored << " stored";
  }
};

struct Server {
  std::unique_ptr<Program> program;
  std::unique_ptr<Api> api;
};

class PausedOwnerTest : public testing::Test {
 protected:
  // Puts the work into a database of its own, without a server: nobody works on it yet.
  void make_work(int slow_ms) {
    folder_ = std::make_unique<support::TempFolder>();
    database_ = support::Postgres::shared().create_database();
    auto handler = ResumeHandler::start(folder_->path(), slow_ms);
    CHECK_OK(handler);
    handler_ = *std::move(handler);
    const auto lines = resume_lines(kResumesMax);
    CHECK_OK(lines);
    const std::filesystem::path file = *folder_ / "lines";
    CHECK_OK(io::write_file_durably(file, fmt::format("{}", fmt::join(*lines, ""))));
    run({"item", "put", "jobs", "--lines", file.string()});
    run({"partition", "put", "jobs", "--handler", handler_->address(), "--auto-close", "--seal",
         "--concurrency", std::to_string(kConcurrency), "--max-retries", "-1", "--backoff", "20"});
  }
  void run(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--log-level", "warn"});
    const auto ran = support::run_program(options("alone", std::move(arguments)));
    CHECK_OK(ran);
    ASSERT_TRUE(ran->status.exited_with(0)) << ran->standard_error;
  }
  support::ProgramOptions options(const std::string& name, std::vector<std::string> arguments) {
    return {"quern",
            std::move(arguments),
            {{"QUERN_DATA", (*folder_ / name).string()}, {"QUERN_DB", database_}},
            {}};
  }
  // With an order of its own (see base/crash.h) it scans seldom, so that most of its commits are of
  // its work.
  Server serve(const std::string& name, const char* lease, const std::string& order = "") {
    support::ProgramOptions how =
        options(name, {"serve", "--listen", "127.0.0.1:0", "--lease", lease, "--scan",
                       order.empty() ? kOften : kSeldom});
    if (!order.empty()) how.environment.emplace_back(kCrashVariable, order);
    how.environment.emplace_back(kCrashLogVariable, log_of(name).string());
    auto program = Program::start(how);
    CHECK_OK(program);
    const auto line = (*program)->wait_for_line(Output::Standard, "http://");
    CHECK_OK(line);
    return {*std::move(program), std::make_unique<Api>(line->substr(line->find("http://")))};
  }
  std::filesystem::path log_of(const std::string& name) { return *folder_ / (name + ".crash_log"); }
  // The number of a commit behind the start of a server and before the work's end, as a calm run
  // has it: how much a start writes changes from release to release.
  int commit_of_work() {
    Server calm = serve("calm", kLongLease, kNoOrder);
    CHECK(completes(*calm.api));
    CHECK_OK(calm.program->signal(SIGTERM));
    CHECK_OK(calm.program->wait());
    const auto log = io::read_file(log_of("calm"), 1 << 24);
    CHECK_OK(log);
    std::size_t at = 0;
    for (int turn = 0; turn < 4; ++turn) {
      at = log->find("point queue.turn.taken\n", at);
      CHECK(at != std::string::npos);
      ++at;
    }
    const support::CrashLog rest = support::parse_crash_log(log->substr(log->find('\n', at) + 1));
    const auto commit = std::ranges::find(rest.writes, "commit", &support::LoggedWrite::kind);
    CHECK(commit != rest.writes.end());
    return commit->number;
  }
  // What it reached, as base/crash.h numbers it.
  support::CrashLog logged(const std::string& name) {
    const auto log = io::read_file(log_of(name), 1 << 24);
    CHECK_OK(log);
    return support::parse_crash_log(*log);
  }

  static std::string field(Api& api, const std::string& target, std::string_view name) {
    const auto found = api.load(target);
    if (!found.ok()) return found.error().message();
    const boost::json::value& value = found->at(name);
    return value.is_string() ? std::string(value.get_string()) : boost::json::serialize(value);
  }
  static bool completes(Api& api, const std::string& target = kJobs) {
    return eventually([&] { return field(api, target, "status") == "complete"; });
  }
  static Checked events(Api& api) {
    auto checked = check_events(api);
    CHECK_OK(checked);
    return *std::move(checked);
  }
  // All that is stored of the partition, times and versions too.
  static std::string rows(Api& api) {
    std::string all;
    for (const char* part : {"", "/items?limit=1000", "/events?limit=1000"}) {
      const auto answer = api.send(net::Method::Get, std::string(kJobs) + part);
      CHECK_OK(answer);
      all += answer->body + "\n";
    }
    return all;
  }
  void expect_whole_story(Api& api) {
    const auto story = story_of(api);
    const auto effects = handler_->effects();
    ASSERT_TRUE(story.ok() && effects.ok());
    EXPECT_THAT(*story, HasSubstr("status complete\ngate 2\n"));
    EXPECT_THAT(*story, HasSubstr("\ngates 1 2 \n"));
    EXPECT_THAT(*effects, Not(HasSubstr("VIOLATION")));
    EXPECT_EQ(std::count(effects->begin(), effects->end(), '\n'), 3 * kResumesMax) << *effects;
    EXPECT_EQ(events(api).faults, "");
  }
  // The work passed on once, and nobody was in the way of the second owner: it never had to claim
  // the work again, and only what was running at the pause was called twice.
  void expect_one_take_over(Api& api) {
    EXPECT_EQ(events(api).tokens.back(), 2);
    support::Postgres& postgres = support::Postgres::shared();
    EXPECT_LE(std::stoi(postgres.run_sql(database_, "SELECT sum(calls - steps) FROM item")),
              kConcurrency)
        << rows(api);
  }
  // As the rows tell it, once the database has ended what the stopped server had asked for.
  Done stored_in_rows() {
    support::Postgres& postgres = support::Postgres::shared();
    CHECK(eventually([&] {
      return postgres.run_sql(database_,
                              "SELECT count(*) FROM pg_stat_activity WHERE state = 'active'"
                              " AND datname = current_database() AND pid <> pg_backend_pid()") ==
             "0";
    }));
    Done done;
    done.taken = std::stoll(postgres.run_sql(database_, "SELECT sum(calls) FROM item"));
    done.stored = std::stoll(postgres.run_sql(database_, "SELECT sum(steps) FROM item"));
    return done;
  }
  // As the server counts it. Every take and every result that was refused is missing here.
  static Done counted_by(Api& api) {
    return {api.metric("quern_engine_taken_total"),
            api.metric("quern_engine_moved_total") + api.metric("quern_engine_completed_total")};
  }
  // It has a new life: what is put now is worked on.
  void expect_works_on(Server& server) {
    const std::string partition = "/api/v1/partitions/later";
    const auto put = server.api->send(net::Method::Put, partition, jobs_fields(*handler_, 1));
    ASSERT_TRUE(put.ok() && put->status < 300);
    const auto item =
        server.api->send(net::Method::Put, partition + "/items/one?gate=2", R"({"rank":1})");
    ASSERT_TRUE(item.ok() && item->status < 300);
    EXPECT_TRUE(completes(*server.api, partition));
  }

  std::unique_ptr<support::TempFolder> folder_;
  std::string database_;
  std::unique_ptr<ResumeHandler> handler_;
};

// "{}" stands for the number of a commit in the middle of the work.
struct Instant {
  const char* name;
  const char* order;
};

class PausedAtTest : public PausedOwnerTest, public testing::WithParamInterface<Instant> {};

// It goes on while the other one is in the middle of the work: whatever it had begun to write would
// be in the way.
TEST_P(PausedAtTest, C5_AnOwnerThatWasPausedBeyondItsLeaseWritesNothing) {
  make_work(kSlowMs);
  std::string order = GetParam().order;
  if (const std::size_t at = order.find("{}"); at != std::string::npos) {
    order.replace(at, 2, std::to_string(commit_of_work()));
    make_work(kSlowMs);  // once more: that was a calm run
  }
  Server paused = serve("paused", kShortLease, order);
  ASSERT_TRUE(eventually([&] { return is_stopped(paused.program->pid()); }));
  EXPECT_GE(logged("paused").visits["store.batch.locked"], 1) << "it was at work";
  const Done at_pause = stored_in_rows();
  Server other = serve("other", kShortLease);
  ASSERT_TRUE(eventually([&] { return counted_by(*other.api).stored > 0; }));

  ASSERT_TRUE(paused.program->signal(SIGCONT).ok());
  EXPECT_TRUE(eventually([&] { return paused.api->metric(kLost) >= 1; }))
      << paused.program->text(Output::Error);
  ASSERT_TRUE(completes(*other.api)) << rows(*other.api);
  EXPECT_EQ(counted_by(*paused.api), at_pause);
  expect_one_take_over(*other.api);
  expect_whole_story(*other.api);
  ASSERT_TRUE(other.program->signal(SIGTERM).ok());
  EXPECT_TRUE(other.program->wait()->exited_with(0));
  expect_works_on(paused);
}

INSTANTIATE_TEST_SUITE_P(
    Instants, PausedAtTest,
    testing::Values(Instant{"AfterTheFirstStatement", "point:store.batch.locked:3:stop"},
                    Instant{"WithItemsTaken", "point:queue.turn.taken:6:stop"},
                    Instant{"WithTheUnitApplied", "point:store.batch.unit_applied:14:stop"},
                    Instant{"WithAGateOpened", "point:queue.gate.opened:1:stop"},
                    Instant{"BeforeTheCommit", "point:store.batch.flushed:7:stop"},
                    Instant{"InTheCommit", "write:{}:before:stop"},
                    Instant{"AfterTheCommit", "write:{}:after:stop"}),
    [](const testing::TestParamInfo<Instant>& info) { return std::string(info.param.name); });

TEST_F(PausedOwnerTest, C5_WhenTheOtherHasFinishedNothingIsChangedByTheOneThatWasPaused) {
  make_work(/*slow_ms=*/0);
  Server paused = serve("paused", kShortLease, "point:store.batch.flushed:7:stop");
  ASSERT_TRUE(eventually([&] { return is_stopped(paused.program->pid()); }));
  Server other = serve("other", kShortLease);
  ASSERT_TRUE(completes(*other.api)) << rows(*other.api);
  const std::string before = rows(*other.api);

  ASSERT_TRUE(paused.program->signal(SIGCONT).ok());
  EXPECT_TRUE(eventually([&] { return paused.api->metric(kLost) >= 1; }))
      << paused.program->text(Output::Error);
  expect_works_on(paused);
  EXPECT_EQ(rows(*paused.api), before);
  expect_one_take_over(*paused.api);
  expect_whole_story(*paused.api);
}

// From outside.
TEST_F(PausedOwnerTest, C5_APauseAtAnyInstantWhileTheOtherIsAtWorkChangesNothing) {
  const std::uint64_t seed = 20261118;
  std::mt19937_64 random(seed);
  for (int round = 0; round < 3; ++round) {
    make_work(kSlowMs);
    Server paused = serve("paused", kShortLease);
    ASSERT_TRUE(eventually([&] { return paused.api->metric("quern_engine_taken_total") > 0; }));
    const auto instant = std::chrono::milliseconds(random() % 400);
    std::this_thread::sleep_for(instant);
    ASSERT_TRUE(paused.program->signal(SIGSTOP).ok());
    ASSERT_TRUE(eventually([&] { return is_stopped(paused.program->pid()); }));
    const Done at_pause = stored_in_rows();
    Server other = serve("other", kShortLease);
    ASSERT_TRUE(eventually([&] { return counted_by(*other.api).stored > 0; }));
    ASSERT_TRUE(paused.program->signal(SIGCONT).ok());
    ASSERT_TRUE(completes(*other.api)) << rows(*other.api);
    EXPECT_TRUE(eventually([&] { return paused.api->metric(kLost) >= 1; }))
        << "seed " << seed << ", round " << round << "\n"
        << paused.program->text(Output::Error);
    EXPECT_EQ(counted_by(*paused.api), at_pause) << "seed " << seed << ", round " << round;
    expect_one_take_over(*other.api);
    expect_whole_story(*other.api);
    expect_works_on(paused);
  }
}

// A transaction that was stopped in its middle goes on, too.
TEST_F(PausedOwnerTest, APauseThatEndsBeforeTheLeaseDoesLosesNothing) {
  make_work(/*slow_ms=*/0);
  Server paused = serve("paused", kLongLease, "point:store.batch.flushed:5:stop");
  ASSERT_TRUE(eventually([&] { return is_stopped(paused.program->pid()); }));
  Server other = serve("other", kLongLease);
  // For a few scans of the other one.
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  ASSERT_TRUE(paused.program->signal(SIGCONT).ok());
  ASSERT_TRUE(completes(*other.api)) << rows(*other.api);
  EXPECT_EQ(paused.api->metric(kLost), 0);
  EXPECT_EQ(paused.api->metric("quern_engine_completed_total"), kResumesMax);
  EXPECT_EQ(other.api->metric("quern_engine_taken_total"), 0);
  EXPECT_THAT(rows(*other.api), Not(HasSubstr(R"("interruptions":1)")));
  expect_whole_story(*other.api);
}

}  // namespace
}  // namespace quern::crash
