// Goal: whatever the instant at which a packer is killed, searches answer from one complete version
// of what is published, and when all is packed they answer like those of a calm run; nothing half
// stays in the folder of packs.
// Method: a server on a folder in which two segments are published and more waits to be packed (new
// documents and a deletion) is killed at each durable write and at each crash point of its life
// (search.pack.built, search.pack.stored, search.pack.adopted, search.segment.adding,
// search.publishing, search.pack.received, since the folder of packs is lost, and those of the
// store, the blobs and the queue): it packs an increment, merges, masks, and packs anew. On both
// stores servers are then killed at random instants while others search; the sweep itself is
// SQLite's, where a beginning can be copied.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "crash/resumes.h"
#include "net/target.h"
#include "support/kill_sweep.h"
#include "support/postgres.h"

namespace quern::crash {
namespace {

using support::Environment;
using support::Output;
using support::Program;
using support::ProgramOptions;
using support::Ran;
using support::SweepReport;
using support::World;
using testing::HasSubstr;

using Names = std::vector<std::string>;
using Start = std::function<Result<std::shared_ptr<Program>>(ProgramOptions)>;

constexpr char kNever[] = "3600000";
constexpr std::chrono::milliseconds kLookAgain{10};
constexpr std::chrono::milliseconds kMergesSoon{1000};
constexpr std::size_t kMergedAtOnce = 3;
// Each has its own words, and shares others with some; how often says what comes first.
constexpr const char* kQuestions[] = {"harbour",       "harbour wharf", "\"coal barge\"",
                                      "barge OR mill", "harbour -mill", "wh*",
                                      "filename:c",    "gone"};

Environment environment_of(const std::filesystem::path& folder, const std::string& database) {
  Environment environment{{"QUERN_DATA", (folder / "data").string()},
                          {"QUERN_SEARCH_SETTLE", kNever},
                          {"QUERN_SEARCH_DELAY", kNever},
                          {"QUERN_FREE_MIN", "0"}};
  if (database.empty()) return environment;
  environment.emplace_back("QUERN_DB", database);
  environment.emplace_back("QUERN_LEASE", "1");
  environment.emplace_back("QUERN_SCAN", "50");
  return environment;
}

Result<std::string> run(const Environment& environment, std::vector<std::string> arguments) {
  const ProgramOptions options{"quern", std::move(arguments), environment, {}};
  TRY_ASSIGN(const Ran ran, support::run_program(options));
  if (!ran.status.exited_with(0)) return Error{Errc::Internal, ran.standard_error};
  return ran.standard_output;
}

// A text becomes a document. Returns its job.
Result<std::int64_t> add(const Environment& environment, const std::filesystem::path& folder,
                         const std::string& name, const std::string& text) {
  std::ofstream(folder / name, std::ios::binary) << text;
  TRY_ASSIGN(const std::string told, run(environment, {"add", (folder / name).string(), "--json"}));
  return boost::json::parse(told).at("job").as_int64();
}

// A server that is started again whenever it has died, and requests to it.
class KeptServer {
 public:
  KeptServer(Start start, Environment environment)
      : start_(std::move(start)), environment_(std::move(environment)) {}

  // Until somebody answers who is well. What is asked must be harmless to repeat.
  Result<net::Response> ask(net::Method method, const std::string& target) {
    const auto give_up = std::chrono::steady_clock::now() + kPatience;
    std::string last;
    while (std::chrono::steady_clock::now() < give_up) {
      TRY(ensure_running());
      Result<net::Response> answer = api_->send(method, target);
      if (answer.ok() && answer->status < 500) return answer;
      last = answer.ok() ? answer->body : answer.error().message();
      std::this_thread::sleep_for(kLookAgain);
    }
    return Error{Errc::Timeout, target + " was never answered: " + last};
  }
  Result<boost::json::object> load(const std::string& target,
                                   net::Method method = net::Method::Get) {
    TRY_ASSIGN(const net::Response answer, ask(method, target));
    boost::system::error_code failed;
    boost::json::value value = boost::json::parse(answer.body, failed);
    if (answer.status != 200 || failed) return Error{Errc::Internal, target + ": " + answer.body};
    return std::move(value.as_object());
  }
  Result<> stop() {
    if (server_ == nullptr) return {};
    TRY(server_->signal(SIGTERM));
    TRY(server_->wait());
    return {};
  }
  Result<> ensure_running() {
    while (server_ == nullptr || server_->has_ended()) {
      TRY_ASSIGN(server_, start_({"quern",
                                  {"serve", "--listen", "127.0.0.1:0", "--log-level", "error"},
                                  environment_,
                                  {}}));
      const Result<std::string> line = server_->wait_for_line(Output::Standard, "http://");
      if (line.ok()) {
        address_ = line->substr(line->find("http://"));
        api_ = std::make_unique<Api>(address_);
        return {};
      }
      TRY_ASSIGN(const io::ExitStatus ended, server_->wait());
      if (!ended.killed_by(SIGKILL)) return line.error();
    }
    return {};
  }
  const std::string& address() const { return address_; }
  Program& program() { return *server_; }

 private:
  const Start start_;
  const Environment environment_;
  std::shared_ptr<Program> server_;
  std::string address_;
  std::unique_ptr<Api> api_;
};

std::string names_in(const boost::json::object& answer) {
  std::string names;
  for (const auto& hit : answer.at("hits").as_array()) {
    names += std::string(hit.at("filename").as_string()) + " ";
  }
  return names;
}

// Until everything that had changed before is published; then what each question is answered.
Result<std::string> answers_of(KeptServer& server, const std::string& when) {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    TRY_ASSIGN(const boost::json::object packed, server.load("/api/v1/search?q=x&fresh=5000"));
    if (packed.at("notes").as_array().empty()) break;
    if (std::chrono::steady_clock::now() > give_up) return Error{Errc::Timeout, "never packed"};
  }
  std::string told = when + "\n";
  for (const char* question : kQuestions) {
    std::string target = "/api/v1/search?fresh=5000&limit=100";
    net::append_query(target, "q", question);
    TRY_ASSIGN(const boost::json::object answer, server.load(target));
    told += fmt::format("{}: {} {}\n", question, answer.at("total").as_int64(), names_in(answer));
  }
  return told;
}

Result<std::size_t> segments_of(KeptServer& server) {
  TRY_ASSIGN(const boost::json::object packs, server.load("/api/v1/packs"));
  const auto& items = packs.at("items").as_array();
  return items.empty() ? 0 : items[0].at("segments").as_array().size();
}

// A merge that was killed is made by the next publication: so this is no promise.
Result<> give_time_to_merge(KeptServer& server) {
  const auto give_up = std::chrono::steady_clock::now() + kMergesSoon;
  while (std::chrono::steady_clock::now() < give_up) {
    TRY_ASSIGN(const std::size_t segments, segments_of(server));
    if (segments < kMergedAtOnce) return {};
    std::this_thread::sleep_for(kLookAgain);
  }
  return {};
}

// Only whole packs, and notes of whole ones, lie there.
Result<std::string> odd_files(const std::filesystem::path& folder) {
  std::string odd;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    const std::string end = entry.path().extension().string();
    if (name.size() != 64 + 5 || (end != ".pack" && end != ".seen")) odd += name + "\n";
  }
  if (failed) return Error{Errc::Internal, failed.message()};
  return odd;
}

// What every world begins with.
class Beginning {
 public:
  Beginning() {
    const Environment environment = environment_of(folder_.path(), "");
    const auto added = [&](const std::string& name, const std::string& text) {
      const Result<std::int64_t> job = add(environment, folder_.path(), name, text);
      CHECK_OK(job);
      return *job;
    };
    const auto packed = [&] { CHECK_OK(run(environment, {"pack", "default"})); };
    first_ = added("a.txt", "harbour harbour harbour harbour wharf and a coal barge");
    added("b.txt", "harbour harbour harbour mill");
    packed();
    const std::int64_t gone = added("gone.txt", "harbour harbour gone");
    added("c.txt", "harbour harbour wharf wharf whale");
    packed();
    added("d.txt", "harbour with one mill and a coal barge and many other things beside");
    remove(environment, gone);
  }
  const std::filesystem::path& path() const { return folder_.path(); }
  std::int64_t first() const { return first_; }

 private:
  static void remove(const Environment& environment, std::int64_t job) {
    const Start start = [](ProgramOptions options) -> Result<std::shared_ptr<Program>> {
      TRY_ASSIGN(std::shared_ptr<Program> program, Program::start(options));
      return program;
    };
    KeptServer server(start, environment);
    CHECK_OK(server.ask(net::Method::Delete, fmt::format("/api/v1/jobs/{}", job)));
    CHECK_OK(server.stop());
  }

  support::TempFolder folder_;
  std::int64_t first_ = 0;
};

// Packs what waits, merges, masks a document of the first segment, packs everything anew.
Result<std::string> pack_to_the_end(World& world, const Beginning& beginning) {
  std::error_code failed;
  std::filesystem::copy(
      beginning.path(), world.folder(),
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing,
      failed);
  if (failed) return Error{Errc::Internal, "the beginning: " + failed.message()};
  // They come back from the blobs.
  std::filesystem::remove_all(world.folder() / "data" / "packs", failed);
  Environment environment = environment_of(world.folder(), "");
  environment.emplace_back("QUERN_SEARCH_MERGE", std::to_string(kMergedAtOnce));
  environment.emplace_back("QUERN_STEPS", "none");
  KeptServer server([&world](ProgramOptions options) { return world.start(std::move(options)); },
                    environment);
  TRY_ASSIGN(std::string story, answers_of(server, "an increment"));
  TRY(give_time_to_merge(server));
  TRY_ASSIGN(const std::string merged, answers_of(server, "a merge"));
  TRY(server.ask(net::Method::Delete, fmt::format("/api/v1/jobs/{}", beginning.first())));
  TRY_ASSIGN(const std::string masked, answers_of(server, "a mask"));
  TRY(give_time_to_merge(server));
  TRY(server.load("/api/v1/collections/default/pack?full=1&wait=30000", net::Method::Post));
  TRY_ASSIGN(const std::string whole, answers_of(server, "all anew"));
  // Servers also write by the clock: a run may come to its instant later than the calm one.
  for (int more = 0; more < 5 && world.kill_pending(); ++more) {
    TRY(server.load("/api/v1/collections/default/pack?full=1&wait=30000", net::Method::Post));
  }
  TRY_ASSIGN(const std::string last, answers_of(server, "the end"));
  TRY(server.stop());
  TRY_ASSIGN(const std::string odd, odd_files(world.folder() / "data" / "packs"));
  TRY_ASSIGN(const std::string checked, run(environment, {"check", "--json"}));
  return story + merged + masked + whole + last + "odd: " + odd + checked;
}

void expect_story(const SweepReport& report) {
  EXPECT_THAT(report.outcome, HasSubstr(R"("clean":true)"));
  EXPECT_THAT(report.outcome, HasSubstr("an increment\nharbour: 4 b.txt a.txt c.txt d.txt"));
  EXPECT_THAT(report.outcome, HasSubstr("a mask\nharbour: 3 b.txt c.txt d.txt"));
  EXPECT_THAT(report.outcome, HasSubstr("odd: {"));
  EXPECT_TRUE(report.failures.empty()) << report.text();
  for (const char* point : {"search.pack.built", "search.pack.stored", "search.pack.adopted",
                            "search.pack.received", "search.segment.adding", "search.publishing"}) {
    EXPECT_TRUE(report.visits_by_point.contains(point)) << point;
  }
}

TEST(SearchSweepTest, PackerAndMergeEndLikeTheCalmRunOnSqlite) {
  const Beginning beginning;
  const SweepReport report =
      support::kill_sweep([&](World& world) { return pack_to_the_end(world, beginning); },
                          {.parallel = 2,
                           .visits_per_point_max = 4,
                           .kills_max = support::kKillsOfSlowSweep,
                           .pace_varies = true});
  expect_story(report);
  EXPECT_GT(report.kills, report.unreached * 4) << report.text();
}

// -- at random instants, while others search --

enum class Store { Sqlite, Postgres };

std::string name_of(const testing::TestParamInfo<Store>& info) {
  return info.param == Store::Sqlite ? "Sqlite" : "Postgres";
}

// Asks all the time, whoever serves, and looks at what is answered. Documents are called
// BATCH-LETTER, and come and go by whole batches, in order: so every answer has a range of whole
// batches, and no later answer has an earlier range. The newest one may be half there until
// packed() says otherwise: a packer that died leaves a message, and what takes it up packs whatever
// is there, while files are still being added.
class Watcher {
 public:
  Watcher() : thread_([this] { run(); }) {}
  ~Watcher() { finish(); }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  void serve_at(const std::string& address) {
    const std::scoped_lock lock(mutex_);
    address_ = address;
  }
  // Answers to questions from now on have all of this batch.
  void packed(int batch) { packed_ = batch; }
  void finish() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }
  int answers() const { return answers_; }
  // The newest batch that an answer had.
  int newest() const { return newest_; }
  std::string faults() const {
    const std::scoped_lock lock(mutex_);
    return faults_;
  }

 private:
  void run() {
    std::string address;
    std::unique_ptr<Api> api;
    while (!stopping_) {
      {
        const std::scoped_lock lock(mutex_);
        if (address != address_) api = std::make_unique<Api>(address_);
        address = address_;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (!api) continue;
      const int packed = packed_;  // before the question
      const Result<boost::json::object> answer = api->load("/api/v1/search?q=quay&limit=200");
      if (answer.ok()) look_at(*answer, packed);
    }
  }
  void look_at(const boost::json::object& answer, int packed) {
    std::map<int, std::string> letters;  // by batch
    for (const auto& hit : answer.at("hits").as_array()) {
      const std::string name(hit.at("filename").as_string());
      letters[std::atoi(name.c_str())] += name[name.find('-') + 1];
    }
    const std::string text = names_in(answer);
    int last = 0;
    for (auto& [batch, found] : letters) {
      std::sort(found.begin(), found.end());
      if (found != "abc" && batch <= packed) note("half a batch: " + text);
      if (last != 0 && batch != last + 1) note("a batch is missing: " + text);
      last = batch;
    }
    if (last < packed) note("what was packed is not found: " + text);
    if (!letters.empty()) {
      if (letters.begin()->first < oldest_) note("what was deleted came back: " + text);
      if (last < newest_) note("an older version came back: " + text);
      oldest_ = letters.begin()->first;
      newest_ = last;
    }
    ++answers_;
  }
  void note(const std::string& fault) {
    const std::scoped_lock lock(mutex_);
    faults_ += fault + "\n";
  }

  mutable std::mutex mutex_;  // guards the next two
  std::string address_;
  std::string faults_;
  std::atomic<bool> stopping_{false};
  std::atomic<int> answers_{0};
  int oldest_ = 0;
  std::atomic<int> newest_{0};
  std::atomic<int> packed_{0};
  std::thread thread_;
};

class SearchKillTest : public testing::TestWithParam<Store> {};

TEST_P(SearchKillTest, AnAnswerIsAlwaysOfOneWholeVersion) {
  constexpr int kBatches = 12;
  constexpr int kKept = 4;
  const std::string database =
      GetParam() == Store::Sqlite ? "" : support::Postgres::shared().create_database();
  support::TempFolder folder;
  Environment environment = environment_of(folder.path(), database);
  environment.emplace_back("QUERN_SEARCH_MERGE", "2");
  const Start start = [](ProgramOptions options) -> Result<std::shared_ptr<Program>> {
    TRY_ASSIGN(std::shared_ptr<Program> program, Program::start(options));
    return program;
  };
  KeptServer server(start, environment);
  Watcher watcher;
  std::mt19937_64 random(20261116);
  std::vector<std::int64_t> jobs;
  int killed = 0;
  const std::string pack = "/api/v1/collections/default/pack?wait=30000";
  for (int batch = 1; batch <= kBatches; ++batch) {
    ASSERT_TRUE(server.ensure_running().ok());
    watcher.serve_at(server.address());
    const std::filesystem::path texts = folder.path() / fmt::format("batch{}", batch);
    std::filesystem::create_directory(texts);
    for (const char letter : {'a', 'b', 'c'}) {
      std::ofstream(texts / fmt::format("{}-{}.txt", batch, letter)) << "a quay of batch " << batch;
    }
    std::vector<std::string> add{"add", "--json"};
    for (const char letter : {'a', 'b', 'c'}) {
      add.push_back((texts / fmt::format("{}-{}.txt", batch, letter)).string());
    }
    const Result<std::string> added = run(environment, add);
    ASSERT_TRUE(added.ok()) << added.error().message();
    jobs.push_back(boost::json::parse(*added).at("job").as_int64());
    if (batch > kKept) {
      const std::int64_t old = jobs[static_cast<std::size_t>(batch - kKept - 1)];
      const auto gone = server.ask(net::Method::Delete, fmt::format("/api/v1/jobs/{}", old));
      ASSERT_TRUE(gone.ok()) << gone.error().message();
    }
    // The server dies while it packs, or a moment later, while it merges.
    std::thread killer([&server, after = random() % 120] {
      std::this_thread::sleep_for(std::chrono::milliseconds(after));
      (void)server.program().signal(SIGKILL);
    });
    Api first(server.address());
    (void)first.send(net::Method::Post, pack);
    killer.join();
    ASSERT_TRUE(server.program().wait().ok());
    ++killed;
    const auto packed = server.load(pack, net::Method::Post);
    ASSERT_TRUE(packed.ok()) << packed.error().message();
    watcher.packed(batch);
    watcher.serve_at(server.address());
    EXPECT_TRUE(eventually([&] { return watcher.newest() == batch; })) << "batch " << batch;
  }
  watcher.finish();
  EXPECT_EQ(watcher.faults(), "");
  EXPECT_GT(watcher.answers(), kBatches);
  EXPECT_EQ(killed, kBatches);
  ASSERT_TRUE(server.stop().ok());
  const Result<std::string> checked = run(environment, {"check"});
  EXPECT_TRUE(checked.ok()) << checked.error().message();
}

INSTANTIATE_TEST_SUITE_P(Stores, SearchKillTest, testing::Values(Store::Sqlite, Store::Postgres),
                         name_of);

}  // namespace
}  // namespace quern::crash
