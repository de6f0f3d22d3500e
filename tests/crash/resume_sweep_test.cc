// Goal: whatever the instant at which a server is killed, the résumé example ends as if nothing had
// happened: every résumé passes each gate once, no gate opens too early, no effect is had twice.
// Method: the server is killed at each durable write and at each crash point (store.batch.locked,
// store.batch.unit_applied, store.batch.flushed, store.batch.committed, queue.put.inserted,
// queue.partition.claimed, queue.turn.taken, queue.gate.opened, queue.owner.reaped) of its life;
// the handler is a process of its own, which lives on, except where it is killed too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "base/crash.h"
#include "crash/resumes.h"
#include "support/kill_sweep.h"
#include "support/postgres.h"

namespace quern::crash {
namespace {

using support::Environment;
using support::Output;
using support::Program;
using support::ProgramOptions;
using support::SweepReport;
using support::World;
using testing::HasSubstr;
using testing::Not;

constexpr std::chrono::milliseconds kLookAgain{10};

using Start = std::function<Result<std::shared_ptr<Program>>(ProgramOptions)>;

// A server that is started again whenever it has died, and requests to it.
class Service {
 public:
  Service(Start start, const std::filesystem::path& folder, const std::string& database)
      : start_(std::move(start)) {
    environment_ = {{"QUERN_DATA", (folder / "data").string()}};
    if (!database.empty()) environment_.emplace_back("QUERN_DB", database);
  }

  // Until it is answered by somebody who is well. What is asked must be harmless to repeat.
  Result<net::Response> ask(net::Method method, const std::string& target,
                            const std::string& body = "") {
    const auto give_up = std::chrono::steady_clock::now() + kPatience;
    std::string last;
    while (std::chrono::steady_clock::now() < give_up) {
      TRY(ensure_running());
      Result<net::Response> answer = api_->send(method, target, body);
      if (answer.ok() && answer->status < 500) return answer;
      last = answer.ok() ? answer->body : answer.error().message();
      std::this_thread::sleep_for(kLookAgain);
    }
    return Error{Errc::Timeout, "never answered: " + last};
  }
  Result<> change(net::Method method, const std::string& target, const std::string& body) {
    TRY_ASSIGN(const net::Response answer, ask(method, target, body));
    if (answer.status < 300) return {};
    return Error{Errc::Internal, fmt::format("{}: {}", target, answer.body)};
  }
  Result<boost::json::object> load(const std::string& target) {
    TRY_ASSIGN(const net::Response answer, ask(net::Method::Get, target));
    boost::system::error_code failed;
    boost::json::value value = boost::json::parse(answer.body, failed);
    if (answer.status != 200 || failed) return Error{Errc::Internal, answer.body};
    return std::move(value.as_object());
  }
  // An orderly end, so that nobody works on the database any more.
  Result<> stop() {
    if (server_ == nullptr) return {};
    TRY(server_->signal(SIGTERM));
    TRY(server_->wait());
    return {};
  }
  // It may die while it tells.
  Result<std::string> story() {
    const auto give_up = std::chrono::steady_clock::now() + kPatience;
    while (true) {
      TRY(ensure_running());
      Result<std::string> told = story_of(*api_);
      if (told.ok() || std::chrono::steady_clock::now() > give_up) return told;
      std::this_thread::sleep_for(kLookAgain);
    }
  }

 private:
  Result<> ensure_running() {
    while (server_ == nullptr || server_->has_ended()) {
      TRY_ASSIGN(server_, start_({"quern",
                                  {"serve", "--listen", "127.0.0.1:0", "--lease", "1", "--scan",
                                   "50", "--log-level", "error"},
                                  environment_,
                                  {}}));
      const Result<std::string> line = server_->wait_for_line(Output::Standard, "http://");
      if (line.ok()) {
        api_ = std::make_unique<Api>(line->substr(line->find("http://")));
        return {};
      }
      TRY_ASSIGN(const io::ExitStatus ended, server_->wait());
      if (!ended.killed_by(SIGKILL)) return line.error();
    }
    return {};
  }

  const Start start_;
  Environment environment_;
  std::shared_ptr<Program> server_;
  std::unique_ptr<Api> api_;
};

struct Plan {
  int resumes = kResumesMax;
  int concurrency = 1;
  int slow_ms = 0;  // each call of the handler
  // At these times of the run the handler is killed, and started again.
  std::vector<std::chrono::milliseconds> handler_dies;
};

// A partition that was declared is not put again: it may be complete by now, and would open again.
Result<> declare(Service& service, const std::string& partition, const std::string& fields) {
  TRY_ASSIGN(const boost::json::object found, service.load(partition));
  if (found.at("declared").as_bool()) return {};
  return service.change(net::Method::Put, partition, fields);
}

Result<> put_work(Service& service, const ResumeHandler& handler, const Plan& plan) {
  TRY_ASSIGN(const std::vector<std::string> lines, resume_lines(plan.resumes));
  const auto middle = lines.begin() + plan.resumes / 2;
  const std::string items = fmt::format("{}/items", kJobs);
  const auto post = [&](auto begin, auto end) {
    return service.change(net::Method::Post, items, fmt::format("{}", fmt::join(begin, end, "")));
  };
  TRY(post(lines.begin(), middle));
  TRY(post(middle, lines.end()));
  TRY(declare(service, kJobs, jobs_fields(handler, plan.concurrency)));
  return service.change(net::Method::Post, fmt::format("{}/seal", kJobs), "");
}

Result<> wait_for_the_end(Service& service, ResumeHandler& handler, const Plan& plan) {
  const auto begin = std::chrono::steady_clock::now();
  auto dies = plan.handler_dies.begin();
  while (std::chrono::steady_clock::now() < begin + kPatience) {
    TRY_ASSIGN(const boost::json::object jobs, service.load(kJobs));
    if (jobs.at("status").as_string() == "complete") return {};
    if (dies != plan.handler_dies.end() && std::chrono::steady_clock::now() > begin + *dies) {
      TRY(handler.kill_and_restart());
      ++dies;
    }
    std::this_thread::sleep_for(kLookAgain);
  }
  TRY_ASSIGN(const std::string story, service.story());
  return Error{Errc::Timeout, "never complete: " + story};
}

// The server writes by the clock, too, so a run may come to its ordered instant later than the calm
// run did. Another partition, which is no part of the story, reaches everything once more.
Result<> work_on_until_killed(World& world, Service& service, const ResumeHandler& handler) {
  for (int more = 1; world.kill_pending(); ++more) {
    const std::string partition = fmt::format("/api/v1/partitions/more{}", more);
    TRY(service.change(net::Method::Put, partition + "/items/one?gate=2", R"({"rank":1})"));
    TRY(declare(service, partition, jobs_fields(handler, 1)));
    for (bool complete = false; !complete && world.kill_pending();) {
      TRY_ASSIGN(const boost::json::object now, service.load(partition));
      complete = now.at("status").as_string() == "complete";
      std::this_thread::sleep_for(kLookAgain);
    }
  }
  return {};
}

Result<std::string> hire(World& world, const std::string& database, const Plan& plan) {
  TRY_ASSIGN(const auto handler, ResumeHandler::start(world.folder(), plan.slow_ms));
  const Start start = [&world](ProgramOptions options) { return world.start(std::move(options)); };
  Service service(start, world.folder(), database);
  TRY(put_work(service, *handler, plan));
  TRY(wait_for_the_end(service, *handler, plan));
  TRY(work_on_until_killed(world, service, *handler));
  TRY_ASSIGN(const std::string story, service.story());
  TRY_ASSIGN(const std::string effects, handler->effects());
  TRY(service.stop());
  return story + effects;
}

int lines_in(const std::string& text, std::string_view word) {
  int count = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

void expect_whole_story(const std::string& outcome, const Plan& plan) {
  const int hired = std::min(plan.resumes, 10);
  EXPECT_THAT(outcome, HasSubstr("status complete\ngate 2\nsealed true\n"));
  EXPECT_THAT(outcome, HasSubstr("\ngates 1 2 \n"));
  EXPECT_EQ(lines_in(outcome, "complete gate 2 steps 3 "), plan.resumes);
  EXPECT_EQ(lines_in(outcome, "\"hired\":true"), hired);
  for (const char* gate : {" 0 ", " 1 "}) {
    EXPECT_GE(lines_in(outcome, gate), plan.resumes) << "an effect for each at gate" << gate;
  }
  for (const char* fault : {"VIOLATION", "was completed", "old token", "a gap before"}) {
    EXPECT_THAT(outcome, Not(HasSubstr(fault)));
  }
}

void expect_clean(const SweepReport& report, const Plan& plan) {
  EXPECT_TRUE(report.failures.empty()) << report.text();
  EXPECT_GE(report.writes, 4 * plan.resumes) << "at least one for each step of each résumé";
  for (const char* point :
       {"store.batch.locked", "store.batch.unit_applied", "store.batch.flushed",
        "store.batch.committed", "queue.put.inserted", "queue.partition.claimed",
        "queue.turn.taken", "queue.gate.opened", "store.migration.applied"}) {
    EXPECT_TRUE(report.visits_by_point.contains(point)) << point << " was never reached";
  }
  expect_whole_story(report.outcome, plan);
}

TEST(ResumeSweepTest, EndsLikeTheCalmRunOnSqlite) {
  const Plan plan;
  const SweepReport report = support::kill_sweep(
      [&](World& world) { return hire(world, "", plan); },
      {.parallel = 2, .visits_per_point_max = 6, .kills_max = support::kKillsOfSlowSweep});
  expect_clean(report, plan);
}

// Fewer résumés: after each death a second passes before the lease of the dead is over.
TEST(ResumeSweepTest, EndsLikeTheCalmRunOnPostgres) {
  const Plan plan{.resumes = 4, .concurrency = 2};
  support::ScratchDatabases databases;
  const auto scenario = [&](World& world) {
    return databases.lend([&](const std::string& database) { return hire(world, database, plan); });
  };
  const SweepReport report = support::kill_sweep(
      scenario,
      {.parallel = 4, .visits_per_point_max = 6, .kills_max = support::kKillsOfSlowSweep});
  expect_clean(report, plan);
}

// What only a second owner does: it takes away what a dead one had, and dies doing so.
TEST(ResumeSweepTest, AnOwnerThatDiesWhileItTakesOverChangesNothing) {
  const Plan plan{.resumes = 4, .concurrency = 2};
  for (const char* order : {"point:queue.owner.reaped", "point:queue.partition.claimed",
                            "point:queue.turn.taken", "point:store.batch.flushed:2"}) {
    support::TempFolder folder;
    const auto handler = ResumeHandler::start(folder.path());
    ASSERT_TRUE(handler.ok()) << handler.error().message();
    std::vector<std::shared_ptr<Program>> starts;
    const std::vector<std::string> orders = {"point:queue.turn.taken:5", order};
    const Start start = [&](ProgramOptions options) -> Result<std::shared_ptr<Program>> {
      if (starts.size() < orders.size()) {
        options.environment.emplace_back(kCrashVariable, orders[starts.size()]);
      }
      TRY_ASSIGN(std::shared_ptr<Program> program, Program::start(options));
      starts.push_back(program);
      return program;
    };
    Service service(start, folder.path(), support::Postgres::shared().create_database());
    const Result<> put = put_work(service, **handler, plan);
    ASSERT_TRUE(put.ok()) << order << ": " << put.error().message();
    const Result<> ended = wait_for_the_end(service, **handler, plan);
    ASSERT_TRUE(ended.ok()) << order << ": " << ended.error().message();
    ASSERT_EQ(starts.size(), 3U) << order;
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(starts[i]->wait()->killed_by(SIGKILL)) << orders[i];
    const auto story = service.story();
    const auto effects = (*handler)->effects();
    ASSERT_TRUE(story.ok() && effects.ok()) << order;
    expect_whole_story(*story + *effects, plan);
    EXPECT_EQ(lines_in(*effects, "\n"), 3 * plan.resumes) << *effects;
  }
}

// The server dies by the harness, the handler by the plan; several calls are under way at once.
SweepReport kill_both(int rounds, std::uint64_t seed,
                      const std::function<std::string()>& database) {
  std::mt19937_64 random(seed);
  const auto scenario = [&](World& world) {
    Plan plan{.concurrency = 4, .slow_ms = 5};
    std::uniform_int_distribution<int> instant_ms(0, 300);
    plan.handler_dies = {std::chrono::milliseconds(instant_ms(random)),
                         std::chrono::milliseconds(300 + instant_ms(random))};
    return hire(world, database(), plan);
  };
  SweepReport report = support::random_kills(scenario, rounds, seed);
  EXPECT_TRUE(report.failures.empty()) << report.text();
  EXPECT_GT(report.kills, 0);
  expect_whole_story(report.outcome, Plan{});
  return report;
}

TEST(ResumeSweepTest, RandomKillsOfServerAndHandlerChangeNothingOnSqlite) {
  kill_both(/*rounds=*/20, /*seed=*/20261116, [] { return ""; });
}

TEST(ResumeSweepTest, RandomKillsOfServerAndHandlerChangeNothingOnPostgres) {
  kill_both(/*rounds=*/8, /*seed=*/20261117,
            [] { return support::Postgres::shared().create_database(); });
}

}  // namespace
}  // namespace quern::crash
