// Goal: whatever the instant at which a server or a researcher is killed, a run of four episodes
// and six clips ends as if nothing had happened: every pair is researched once in the result, no
// clip is stranded, and no lease outlives its owner by more than its time, or the run would not
// end. Method: a server on a folder in which all is curated is killed at each durable write and at
// each crash point of its life (research.work.taken, research.report.done, research.assign.leased,
// and those of the store and the queue), while a scripted researcher asks and tells; then servers
// with researchers of their own, and researchers from elsewhere, are killed at random instants of a
// run on real sound (worker.research.before_result and worker.research.after_result among them).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "net/client.h"
#include "net/loop.h"
#include "support/kill_sweep.h"
#include "support/sound_scene.h"

namespace quern::crash {
namespace {

namespace json = boost::json;
using support::Environment;
using support::Output;
using support::Program;
using support::ProgramOptions;
using support::Ran;
using support::SweepReport;
using support::World;
using testing::HasSubstr;

constexpr std::chrono::milliseconds kLookAgain{10};
constexpr std::chrono::seconds kPatience{120};
constexpr std::size_t kPairs = 24;

Environment environment_of(const std::filesystem::path& folder, bool has_researcher) {
  return {{"QUERN_DATA", (folder / "data").string()},
          {"QUERN_SEARCH_SETTLE", "3600000"},
          {"QUERN_SEARCH_DELAY", "3600000"},
          {"QUERN_FREE_MIN", "0"},
          {"QUERN_STEPS", "none"},
          {"QUERN_LOG_LEVEL", "error"},
          {"QUERN_LOCAL_RESEARCH", has_researcher ? "1" : "0"},
          {"QUERN_RESEARCH_CLIPS", "4"},
          {"QUERN_RESEARCH_LEASE", has_researcher ? "3000" : "600"},
          {"QUERN_RESEARCH_OFFER", has_researcher ? "2000" : "400"}};
}

Result<std::string> run(const Environment& environment, std::vector<std::string> arguments) {
  const ProgramOptions options{"quern", std::move(arguments), environment, {}};
  TRY_ASSIGN(const Ran ran, support::run_program(options));
  if (!ran.status.exited_with(0)) return Error{Errc::Internal, ran.standard_error};
  return ran.standard_output;
}

// A folder in which four episodes and six clips wait, made once.
const std::filesystem::path& beginning() {
  static const support::TempFolder folder;
  static const bool made = [] {
    const support::SoundScene scene = support::make_sound_scene(folder.path());
    const Environment environment = environment_of(folder.path(), false);
    CHECK_OK(run(environment, {"episodes", "add", scene.episodes.string()}));
    CHECK_OK(run(environment, {"clips", "add", scene.clips.string()}));
    return true;
  }();
  CHECK(made);
  return folder.path();
}

// A server that is started again whenever it has died, and requests to it.
class KeptServer {
 public:
  KeptServer(World& world, Environment environment)
      : world_(world), environment_(std::move(environment)) {}

  // Once, and by one that runs; an error where it died meanwhile.
  Result<net::Response> ask(net::Method method, const std::string& target,
                            const std::string& body = "") {
    TRY(ensure_running());
    net::Request request;
    request.method = method;
    request.target = target;
    request.body = body;
    const auto endpoint = net::Endpoint::parse(address_.substr(std::string("http://").size()));
    net::Client client(loop_, *endpoint, {});
    return loop_.run_until(client.fetch(std::move(request), 16 << 20));
  }
  // Until it is answered well. What is asked must be harmless to repeat.
  Result<json::object> load(net::Method method, const std::string& target,
                            const std::string& body = "") {
    const auto give_up = std::chrono::steady_clock::now() + kPatience;
    std::string last;
    while (std::chrono::steady_clock::now() < give_up) {
      const Result<net::Response> answer = ask(method, target, body);
      if (answer.ok() && answer->status == 200) return json::parse(answer->body).as_object();
      if (answer.ok() && answer->status == 204) return json::object{};
      last = answer.ok() ? answer->body : answer.error().message();
      std::this_thread::sleep_for(kLookAgain);
    }
    return Error{Errc::Timeout, target + " was never answered: " + last};
  }
  Result<> stop() {
    if (server_ == nullptr || server_->has_ended()) return {};
    TRY(server_->signal(SIGTERM));
    TRY(server_->wait());
    return {};
  }
  Result<> ensure_running() {
    while (server_ == nullptr || server_->has_ended()) {
      const ProgramOptions options{"quern", {"serve", "--listen", "127.0.0.1:0"}, environment_, {}};
      TRY_ASSIGN(server_, world_.start(options));
      const Result<std::string> line = server_->wait_for_line(Output::Standard, "http://");
      if (line.ok()) {
        address_ = line->substr(line->find("http://"));
        return {};
      }
      TRY_ASSIGN(const io::ExitStatus ended, server_->wait());
      if (!ended.killed_by(SIGKILL)) return line.error();
    }
    return {};
  }
  const std::string& address() const { return address_; }

 private:
  World& world_;
  const Environment environment_;
  net::Loop loop_;
  std::shared_ptr<Program> server_;
  std::string address_;
};

// Tells of every second pair that it is there.
json::object result_of(const json::object& item, const json::value& clip, bool final) {
  const std::int64_t episode = item.at("episode").at("id").as_int64();
  const std::int64_t id = clip.at("id").as_int64();
  json::array offsets;
  if ((episode + id) % 2 == 0) offsets = {episode, episode * 1000 + id};
  return {{"lease_id", item.at("lease_id")}, {"episode", episode},    {"clip", id},
          {"number", clip.at("number")},     {"offsets_ns", offsets}, {"final", final}};
}

// Asks and tells until nothing is left; what should not have happened, a line each.
class ScriptedResearcher {
 public:
  explicit ScriptedResearcher(KeptServer& server) : server_(server) {}

  Result<std::string> run() {
    const auto give_up = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < give_up) {
      TRY_ASSIGN(const json::object status, server_.load(net::Method::Get, "/api/v1/research"));
      if (status.at("idle").as_bool()) return faults_;
      TRY_ASSIGN(const json::object item,
                 server_.load(net::Method::Post, "/research/work",
                              R"({"researcher":"scripted","wait_ms":200})"));
      if (!item.empty()) TRY(do_item(item));
    }
    return Error{Errc::Timeout, "clips are stranded"};
  }

 private:
  using Pair = std::pair<std::int64_t, std::int64_t>;

  // Small, and durable before it goes on.
  Result<> keep_fingerprint(const json::object& item) {
    const json::object& episode = item.at("episode").as_object();
    if (!episode.at("fingerprint").is_null()) return {};
    const std::string target = fmt::format(
        "/research/fingerprints/{}?version={}&sha256={}", episode.at("id").as_int64(),
        item.at("fingerprint_version").as_int64(), std::string(episode.at("sha256").as_string()));
    TRY(server_.load(net::Method::Put, target, "a fingerprint"));
    return {};
  }

  Result<> do_item(const json::object& item) {
    TRY(keep_fingerprint(item));
    const json::array& clips = item.at("clips").as_array();
    for (std::size_t i = 0; i < clips.size(); ++i) {
      const Pair pair(item.at("episode").at("id").as_int64(), clips[i].at("id").as_int64());
      if (told_.contains(pair)) faults_ += "a pair that was told is handed out\n";
      const std::string body = json::serialize(result_of(item, clips[i], i + 1 == clips.size()));
      TRY_ASSIGN(const json::object answer,
                 server_.load(net::Method::Post, "/research/results", body));
      told_.insert(pair);
      const bool stored = answer.at("stored").as_bool();
      if (stored && !stored_.insert(pair).second) faults_ += "a pair was stored twice\n";
    }
    return {};
  }

  KeptServer& server_;
  std::set<Pair> told_;
  std::set<Pair> stored_;
  std::string faults_;
};

// A line for each pair, without dates and ids.
Result<std::string> findings_of(KeptServer& server) {
  TRY_ASSIGN(const json::object page, server.load(net::Method::Get, "/api/v1/findings?limit=1000"));
  std::set<std::string> lines;
  const json::array& items = page.at("items").as_array();
  for (const json::value& one : items) {
    lines.insert(fmt::format("{} {} {} {}\n", json::serialize(one.at("episode_title")),
                             json::serialize(one.at("clip_title")),
                             json::serialize(one.at("offsets")), json::serialize(one.at("error"))));
  }
  std::string text = fmt::format("{} results\n", items.size());
  for (const std::string& line : lines) text += line;
  return text;
}

Result<std::string> conclude(World& world, KeptServer& server, bool has_researcher) {
  TRY_ASSIGN(std::string told, findings_of(server));
  TRY(server.stop());
  TRY_ASSIGN(const std::string checked,
             run(environment_of(world.folder(), has_researcher), {"check", "--json"}));
  return told + json::serialize(json::parse(checked).at("clean"));
}

Result<std::string> research_by_script(World& world) {
  std::filesystem::copy(beginning() / "data", world.folder() / "data",
                        std::filesystem::copy_options::recursive);
  KeptServer server(world, environment_of(world.folder(), false));
  TRY_ASSIGN(const std::string faults, ScriptedResearcher(server).run());
  TRY_ASSIGN(const std::string told, conclude(world, server, false));
  return faults + told;
}

TEST(ResearchSweepTest, AServerKilledAnywhereEndsLikeTheCalmOne) {
  const SweepReport report =
      support::kill_sweep(research_by_script, {.parallel = 2,
                                               .visits_per_point_max = 2,
                                               .every = 4,
                                               .kills_max = support::kKillsOfSlowSweep,
                                               .pace_varies = true});
  EXPECT_TRUE(report.failures.empty()) << report.text();
  EXPECT_THAT(report.outcome, testing::StartsWith(fmt::format("{} results\n", kPairs)));
  EXPECT_THAT(report.outcome, HasSubstr("\ntrue"));
  for (const char* point :
       {"research.assign.leased", "research.work.taken", "research.fingerprint.stored",
        "research.report.stored", "research.report.done"}) {
    EXPECT_TRUE(report.visits_by_point.contains(point)) << point;
  }
  EXPECT_GT(report.kills, report.unreached * 4) << report.text();
}

// Of a researcher that is killed again and again, each time a little later.
class DyingResearcher {
 public:
  explicit DyingResearcher(const char* point) : point_(point) {}

  void keep_going(const std::string& address) {
    if (deaths_ > 3 || (program_ != nullptr && !program_->has_ended())) return;
    Environment environment;
    if (deaths_ < 3) {
      environment.emplace_back("QUERN_CRASH", fmt::format("point:{}:{}", point_, deaths_ + 1));
    }
    ++deaths_;
    auto started = Program::start({"quern-steps",
                                   {"--server", address, "--research", "--worker", "elsewhere"},
                                   environment,
                                   {}});
    CHECK_OK(started);
    program_ = *std::move(started);
  }

 private:
  const char* point_;
  int deaths_ = 0;
  std::unique_ptr<Program> program_;
};

Result<std::string> research_really(World& world, const char* point) {
  std::filesystem::copy(beginning() / "data", world.folder() / "data",
                        std::filesystem::copy_options::recursive);
  KeptServer server(world, environment_of(world.folder(), true));
  DyingResearcher researcher(point);
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    TRY_ASSIGN(const json::object status, server.load(net::Method::Get, "/api/v1/research"));
    if (status.at("idle").as_bool()) break;
    if (std::chrono::steady_clock::now() > give_up) {
      return Error{Errc::Timeout, "clips are stranded: " + json::serialize(status)};
    }
    researcher.keep_going(server.address());
    std::this_thread::sleep_for(kLookAgain);
  }
  return conclude(world, server, true);
}

TEST(ResearchSweepTest, ServersAndResearchersKilledAtRandomEndLikeTheCalmRun) {
  for (const char* point : {"worker.research.before_result", "worker.research.after_result"}) {
    const auto scenario = [point](World& world) { return research_really(world, point); };
    const SweepReport report = support::random_kills(scenario, 2, 20'261'116);
    EXPECT_TRUE(report.failures.empty()) << report.text();
    EXPECT_THAT(report.outcome, testing::StartsWith(fmt::format("{} results\n", kPairs)));
    EXPECT_THAT(report.outcome, HasSubstr("\ntrue"));
  }
}

}  // namespace
}  // namespace quern::crash
