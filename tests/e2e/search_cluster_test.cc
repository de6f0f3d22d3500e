// Searchers in processes of their own: how segments spread, and what becomes of answers when
// searchers and servers die.
#include <atomic>
#include <cstdio>
#include <mutex>
#include <random>

#include "e2e/search_fixture.h"

namespace quern::e2e {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSegments = 6;
constexpr std::size_t kCopies = 2;
constexpr std::int64_t kMiB = 1024 * 1024;

// Words that nothing compresses: a segment of some megabytes.
std::string noise(int seed) {
  std::mt19937_64 random(static_cast<std::uint64_t>(seed));
  std::string text;
  while (text.size() < 600'000) text += fmt::format("{:x} ", random() & 0xffffffffff);
  return text;
}

struct Held {
  std::string id;
  std::set<std::string> digests;
  std::string seen;
  bool silent = false;
};

class SearchClusterTest : public SearchingTest {
 protected:
  // A server that opens no segments by itself, and never merges.
  void serve_alone() {
    serve({{"QUERN_SEARCH_HERE", "off"},
           {"QUERN_SEARCH_MERGE", "100"},
           {"QUERN_SEARCH_SETTLE", "3600000"},
           {"QUERN_SEARCH_DELAY", "3600000"},
           {"QUERN_BLOBS", "file:" + (shared_.path() / "blobs").string()}});
  }
  // SIGKILL, and up again where searchers look for it.
  void restart_here() {
    server_->kill();
    start_here();
  }
  void start_here() {
    server_ = folder_.start({"serve", "--listen", endpoint_.to_string()}, settings_);
    CHECK_OK(server_->wait_for_line(support::Output::Standard, "http://"));
  }
  std::unique_ptr<support::Program> start_searcher(const std::string& id, int space_mb) {
    const std::string data = (shared_.path() / id).string();
    auto program =
        support::Program::start({"quern",
                                 {"searcher", "--server", address_, "--listen", "127.0.0.1:0",
                                  "--data", data, "--id", id, "--space", std::to_string(space_mb)},
                                 {{"QUERN_FREE_MIN", "0"}},
                                 {}});
    CHECK_OK(program);
    CHECK_OK((*program)->wait_for_line(support::Output::Standard, "answers at"));
    return *std::move(program);
  }
  void start_searchers() {
    searchers_["small"] = start_searcher("small", 7);
    searchers_["middle"] = start_searcher("middle", 14);
    searchers_["large"] = start_searcher("large", 40);
  }
  // Each a segment of its own.
  void add_segments() {
    for (int i = 0; i < kSegments; ++i) {
      add_document(fmt::format("{}.txt", i), fmt::format("lagoon number{} {}", i, noise(i)));
      pack();
      all_.push_back(fmt::format("{}.txt", i));
    }
  }

  std::map<std::string, std::int64_t> segments() {
    std::map<std::string, std::int64_t> bytes;  // by digest
    const boost::json::object packs = get_json("/api/v1/packs");
    for (const auto& pack : packs.at("items").as_array()) {
      for (const auto& one : pack.at("segments").as_array()) {
        bytes[std::string(one.at("digest").as_string())] = one.at("bytes").as_int64();
      }
    }
    return bytes;
  }
  std::map<std::string, Held> held() {
    std::map<std::string, Held> all;
    const boost::json::object listed = get_json("/api/v1/searchers");
    for (const auto& item : listed.at("items").as_array()) {
      Held one;
      one.id = std::string(item.at("searcher").as_string());
      for (const auto& digest : item.at("held").as_array()) {
        one.digests.emplace(digest.as_string());
      }
      one.seen = boost::json::serialize(item.at("seen"));
      one.silent = item.at("silent").as_bool();
      all[one.id] = std::move(one);
    }
    return all;
  }
  std::map<std::string, std::set<std::string>> held_sets() {
    std::map<std::string, std::set<std::string>> sets;
    for (const auto& [id, one] : held()) sets[id] = one.digests;
    return sets;
  }
  bool has_orders(const std::string& id) {
    const net::Response answer =
        get(fmt::format("/api/v1/queues/SEARCHER-{}/messages?status=available", id));
    if (answer.status != 200) return false;
    return !boost::json::parse(answer.body).at("items").as_array().empty();
  }
  // Every segment has its copies among those who live, and nobody is told anything.
  bool is_settled() {
    std::map<std::string, std::size_t> holders;
    for (const auto& [id, one] : held()) {
      if (one.silent || has_orders(id)) return false;
      for (const std::string& digest : one.digests) ++holders[digest];
    }
    const std::map<std::string, std::int64_t> wanted = segments();
    return holders.size() == wanted.size() &&
           std::all_of(wanted.begin(), wanted.end(),
                       [&](const auto& one) { return holders[one.first] == kCopies; });
  }
  // Several looks in a row, with rounds of the orchestrator between them.
  bool settles() {
    int looks = 0;
    return eventually([&] {
      looks = is_settled() ? looks + 1 : 0;
      if (looks >= 4) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(700));
      return false;
    });
  }
  // Whether all of them have registered again since.
  bool all_register() {
    const std::map<std::string, Held> before = held();
    return eventually([&] {
      const std::map<std::string, Held> now = held();
      return std::all_of(before.begin(), before.end(), [&](const auto& one) {
        return now.contains(one.first) && now.at(one.first).seen != one.second.seen;
      });
    });
  }
  bool finds_all() { return finds_names("lagoon", sorted(all_)); }
  // While searchers are loading the answer is 503, never a part.
  bool finds_names(const std::string& words, const Names& names) {
    return eventually([&] {
      const net::Response answer = get(question(words, "&limit=100"));
      if (answer.status != 200) return false;
      const Names got = sorted(names_of(boost::json::parse(answer.body).as_object()));
      EXPECT_EQ(got, names) << "half an answer";
      return true;
    });
  }

  support::TempFolder shared_;
  std::map<std::string, std::unique_ptr<support::Program>> searchers_;
  Names all_;
};

// Asks from several threads until it is destroyed.
class Load {
 public:
  Load(const net::Endpoint& server, Names wanted) : server_(server), wanted_(std::move(wanted)) {
    for (int i = 0; i < 4; ++i) threads_.emplace_back([this] { run(); });
  }
  ~Load() { stop(); }
  void stop() {
    stopping_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  int asked() const { return asked_; }
  std::string faults() const {
    const std::scoped_lock lock(mutex_);
    return faults_;
  }

 private:
  void run() {
    net::Loop loop;
    net::Client client(loop, server_, {});
    while (!stopping_) {
      for (const char* target : {"/api/v1/search?q=lagoon&limit=100", "/api/v1/suggest?q=lagoo"}) {
        const Result<net::Response> answer =
            loop.run_until(client.fetch(net::get_request(target), 1 << 20));
        ++asked_;
        if (!answer.ok()) {
          note(answer.error().message());
        } else if (answer->status != 200) {
          note(answer->body);
        } else if (std::string_view(target).find("search") != std::string_view::npos) {
          const Names names = names_of(boost::json::parse(answer->body).as_object());
          if (sorted(names) != wanted_) note("an answer of " + std::to_string(names.size()));
        }
      }
    }
  }
  void note(const std::string& fault) {
    const std::scoped_lock lock(mutex_);
    if (faults_.size() < 2000) faults_ += fault + "\n";
  }

  const net::Endpoint server_;
  const Names wanted_;
  std::atomic<bool> stopping_{false};
  std::atomic<int> asked_{0};
  mutable std::mutex mutex_;  // guards faults_
  std::string faults_;
  std::vector<std::thread> threads_;
};

TEST_P(SearchClusterTest, SegmentsSpreadBySpaceAndMoveNoMoreWhenTheOrchestratorRestarts) {
  serve_alone();
  add_segments();
  EXPECT_EQ(get("/api/v1/search?q=lagoon").status, 503) << "nobody holds anything";
  start_searchers();
  ASSERT_TRUE(settles());
  EXPECT_TRUE(finds_all());
  const std::map<std::string, std::int64_t> bytes = segments();
  ASSERT_EQ(bytes.size(), static_cast<std::size_t>(kSegments));
  std::map<std::string, std::int64_t> used;
  for (const auto& [id, digests] : held_sets()) {
    for (const std::string& digest : digests) used[id] += bytes.at(digest);
  }
  for (const auto& [id, sum] : used) {
    std::printf("%s holds %.1f MB\n", id.c_str(), static_cast<double>(sum) / kMiB);
  }
  EXPECT_LE(used["small"], 7 * kMiB);
  EXPECT_LE(used["middle"], 14 * kMiB);
  EXPECT_GT(used["large"], used["small"]);
  EXPECT_GE(used["large"], used["middle"]);

  // At once, and after so long that everybody seems to be gone.
  const auto before = held_sets();
  for (const int away_s : {0, 17}) {
    server_->kill();
    std::this_thread::sleep_for(std::chrono::seconds(away_s));
    start_here();
    ASSERT_TRUE(all_register());
    ASSERT_TRUE(all_register());
    EXPECT_EQ(held_sets(), before);
    EXPECT_EQ(server_->text(support::Output::Error).find("search.move"), std::string::npos)
        << server_->text(support::Output::Error);
    EXPECT_TRUE(finds_all());
  }
}

TEST_P(SearchClusterTest, NoSearchFailsWhileACopyRemains) {
  serve_alone();
  add_segments();
  start_searchers();
  ASSERT_TRUE(settles());
  Load load(endpoint_, sorted(all_));
  ASSERT_TRUE(eventually([&] { return load.asked() > 200; }));
  searchers_["middle"]->kill();
  const int then = load.asked();
  ASSERT_TRUE(eventually([&] { return load.asked() > then + 500; }));
  // A new one takes over its share, under load, too.
  searchers_["new"] = start_searcher("new", 20);
  ASSERT_TRUE(eventually([&] { return !held().contains("middle"); }));
  ASSERT_TRUE(settles());
  EXPECT_FALSE(held_sets().at("new").empty());
  load.stop();
  EXPECT_EQ(load.faults(), "");
  std::printf("%d questions while a searcher died\n", load.asked());
}

TEST_P(SearchClusterTest, AColdStartOfEverythingAnswersAsBefore) {
  serve_alone();
  add_segments();
  start_searchers();
  ASSERT_TRUE(settles());
  ASSERT_TRUE(finds_all());
  const boost::json::object before = ask("number3 OR number4");
  for (auto& [id, searcher] : searchers_) searcher->kill();
  server_->kill();
  std::error_code failed;
  for (const auto& [id, searcher] : searchers_) {
    EXPECT_GT(std::filesystem::remove_all(shared_.path() / id, failed), 1u);
  }
  std::filesystem::remove_all(folder_.path() / "packs", failed);
  start_here();
  start_searchers();
  EXPECT_TRUE(finds_all());
  const boost::json::object after = ask("number3 OR number4");
  EXPECT_EQ(boost::json::serialize(after), boost::json::serialize(before));
  ASSERT_TRUE(settles());
  const support::Ran checked = folder_.run({"check"}, settings_);
  EXPECT_EQ(checked.status.code, 0) << checked.standard_output << checked.standard_error;
}

// A publication that masks what was deleted and adds something new is not at hand before a searcher
// has loaded the new segment; what was deleted does not come back meanwhile.
TEST_P(SearchClusterTest, WhatWasDeletedDoesNotComeBackWhileSegmentsMove) {
  serve_alone();
  std::vector<std::int64_t> jobs;
  for (int i = 0; i < 3; ++i) {
    jobs.push_back(add_document(fmt::format("{}.txt", i), fmt::format("a lagoon {}", i)));
  }
  pack();
  searchers_["one"] = start_searcher("one", 10);
  ASSERT_TRUE(finds_names("lagoon", {"0.txt", "1.txt", "2.txt"}));
  for (int round = 0; round < 2; ++round) {
    const auto at = static_cast<std::size_t>(round);
    const int status = remove(fmt::format("/api/v1/jobs/{}", jobs[at])).status;
    ASSERT_TRUE(status == 200 || status == 202);
    const std::string fresh = fmt::format("new{}.txt", round);
    add_document(fresh, "a lagoon, too");
    pack();
    const std::string gone = fmt::format("{}.txt", round);
    bool found_new = false;
    ASSERT_TRUE(eventually([&] {
      const Names names = found("lagoon", "&limit=100");
      EXPECT_EQ(std::count(names.begin(), names.end(), gone), 0);
      found_new = std::count(names.begin(), names.end(), fresh) == 1;
      return found_new || HasFailure();
    }));
    EXPECT_TRUE(found_new);
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, SearchClusterTest, testing::Values(Store::Sqlite, Store::Postgres),
                         name_of);

// -- two servers --

class SearchFleetTest : public SearchClusterTest {};

TEST_P(SearchFleetTest, ASecondServerAnswersTheSame) {
  serve_alone();
  add_segments();
  start_searchers();
  ASSERT_TRUE(settles());
  const std::string target = question("number1 OR number5", "&facets=1&limit=3");
  const std::string wanted = get(target).body;
  support::TempFolder other;
  support::Environment environment = settings_;
  environment.emplace_back("QUERN_DATA", (other.path() / "data").string());
  for (const char* here : {"off", "on"}) {
    std::erase_if(environment, [](const auto& one) { return one.first == "QUERN_SEARCH_HERE"; });
    environment.emplace_back("QUERN_SEARCH_HERE", here);
    const auto second = folder_.start({"serve", "--listen", "127.0.0.1:0"}, environment);
    const auto line = second->wait_for_line(support::Output::Standard, "http://");
    ASSERT_TRUE(line.ok()) << line.error().message();
    const std::string first = address_;
    address_ = line->substr(line->find("http://"));
    EXPECT_TRUE(eventually([&] { return get(target).status == 200; }));
    EXPECT_EQ(get(target).body, wanted) << here;
    address_ = first;
  }
  EXPECT_EQ(get(target).body, wanted);
}

INSTANTIATE_TEST_SUITE_P(Stores, SearchFleetTest, testing::Values(Store::Postgres), name_of);

}  // namespace
}  // namespace quern::e2e
