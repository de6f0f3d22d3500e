// The researcher against a scripted server, with a box that misbehaves (hostile_steps.cc).
#include "worker/researcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <deque>
#include <map>

#include "model/finder_version.h"
#include "net/server.h"
#include "support/program.h"
#include "worker/base64.h"

namespace quern::worker {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Lends items, and keeps what it was told.
class ResearchServer {
 public:
  explicit ResearchServer(net::Loop& loop) : loop_(loop), changed_(loop) {}
  ~ResearchServer() {
    if (server_) stop();
  }

  void listen(const std::string& endpoint = "127.0.0.1:0") {
    net::ServerOptions options;
    options.listen = {*net::Endpoint::parse(endpoint)};
    auto server = net::Server::open(loop_, options, [this](net::Exchange& e) { return serve(e); });
    CHECK_OK(server);
    server_.emplace(*std::move(server));
    endpoint_ = server_->endpoints().at(0);
  }
  void stop() {
    const auto stopping = [](net::Server* server) -> net::Task<bool> {
      co_await server->stop(0);
      co_return true;
    };
    loop_.run_until(stopping(&*server_));
    server_.reset();
  }
  std::string url() const { return "http://" + endpoint_.to_string(); }
  const net::Endpoint& endpoint() const { return endpoint_; }

  // An episode with these clips; what they are made of decides what the box does.
  void lend(std::int64_t episode, const std::string& sound, const std::vector<std::string>& clips) {
    json::object item{{"lease_id", "lease-" + std::to_string(episode)},
                      {"lease_ms", lease_ms},
                      {"algorithm", algorithm},
                      {"fingerprint_version", model::kFinderFingerprint},
                      {"episode", media(episode, sound)}};
    json::array list;
    std::int64_t id = 100;
    for (const std::string& clip : clips) {
      list.push_back(media(++id, clip));
      list.back().as_object()["number"] = id + 1000;
    }
    item["clips"] = std::move(list);
    items.push_back(std::move(item));
    changed_.notify_all();
  }

  template <class Condition>
  void run_until(Condition condition) {
    const auto wait = [](net::Event* changed, Condition* holds) -> net::Task<bool> {
      const net::Instant deadline = net::in_ms(60'000);
      while (!(*holds)() && net::in_ms(0) < deadline) {
        co_await changed->wait(std::min(deadline, net::in_ms(20)));
      }
      co_return (*holds)();
    };
    EXPECT_TRUE(loop_.run_until(wait(&changed_, &condition))) << "it never came";
  }
  void run_until_told(std::size_t count) {
    run_until([this, count] { return results.size() >= count; });
  }
  // Results of clips, by the clip.
  std::map<std::int64_t, json::object> by_clip() const {
    std::map<std::int64_t, json::object> all;
    for (const json::object& one : results) {
      if (!one.contains("clip")) continue;
      const std::int64_t clip = one.at("clip").as_int64();
      EXPECT_FALSE(all.contains(clip)) << "clip " << clip << " was told twice";
      all[clip] = one;
    }
    return all;
  }

  std::deque<json::object> items;
  std::map<std::int64_t, std::string> bytes;         // of media, by id
  std::map<std::int64_t, std::string> fingerprints;  // what was put, or is there
  std::vector<std::string> fetched;                  // paths
  std::vector<json::object> asked;
  std::vector<json::object> results;
  std::size_t kept_alive = 0;
  std::vector<int> answers;  // to results, before they are taken
  std::string waveform, authorization;
  std::int64_t lease_ms = 60'000;
  std::int64_t algorithm = model::kFinderAlgorithm;
  int media_status = 200;

 private:
  json::object media(std::int64_t id, const std::string& content) {
    bytes[id] = content;
    json::object about{{"id", id},
                       {"url", url() + "/research/media/" + std::to_string(id)},
                       {"sha256", "digest of " + content},
                       {"bytes", content.size()}};
    if (fingerprints.contains(id)) {
      about["fingerprint"] = url() + "/research/fingerprints/" + std::to_string(id);
    }
    return about;
  }

  net::Task<Result<>> serve(net::Exchange& exchange) {
    const std::string target = exchange.request().target;
    const std::string path = target.substr(0, target.find('?'));
    if (const std::string* who = exchange.request().headers.find("Authorization")) {
      authorization = *who;
    }
    auto body = co_await exchange.read_all(1 << 20);
    if (!body) co_return std::move(body).error();
    net::Response answer = net::empty_response(404);
    if (path == "/research/work") {
      asked.push_back(json::parse(*body).as_object());
      const net::Instant deadline = net::in_ms(200);
      while (items.empty() && net::in_ms(0) < deadline) {
        const net::WaitEnd end = co_await exchange.wait(changed_, deadline);
        if (end == net::WaitEnd::PeerGone || end == net::WaitEnd::Stopping) break;
      }
      answer = net::empty_response(204);
      if (!items.empty()) {
        answer = net::json_response(200, json::serialize(items.front()));
        items.pop_front();
      }
    } else if (path == "/research/results") {
      answer = take(json::parse(*body).as_object());
    } else {
      answer = bytes_of(exchange, path, *body);
    }
    changed_.notify_all();
    co_return co_await exchange.respond(std::move(answer));
  }

  net::Response take(json::object result) {
    if (!result.contains("clip") && !result.contains("final")) {
      ++kept_alive;
      return net::json_response(200, R"({"stored":false,"extended":true,"revoked":false})");
    }
    if (!answers.empty()) {
      const int status = answers.front();
      answers.erase(answers.begin());
      return net::json_response(status, "{}");
    }
    results.push_back(std::move(result));
    return net::json_response(200, R"({"stored":true,"extended":true,"revoked":false})");
  }

  net::Response bytes_of(net::Exchange& exchange, const std::string& path,
                         const std::string& body) {
    const std::int64_t id = std::stoll(path.substr(path.rfind('/') + 1));
    if (exchange.request().method == net::Method::Put) {
      fingerprints[id] = body;
      waveform = *exchange.request().headers.find("Quern-Waveform");
      return net::empty_response(204);
    }
    fetched.push_back(path);
    const bool is_print = path.find("/fingerprints/") != std::string::npos;
    if (!is_print && media_status != 200) return net::empty_response(media_status);
    return net::text_response(200, is_print ? fingerprints[id] : bytes[id]);
  }

  net::Loop& loop_;
  net::Event changed_;
  std::optional<net::Server> server_;
  net::Endpoint endpoint_;
};

class ResearcherTest : public ::testing::Test {
 protected:
  void SetUp() override { server_.listen(); }
  void TearDown() override {
    if (broker_) stop();
  }

  void start(BrokerOptions options = {}) {
    options.server = *parse_address(server_.url());
    options.worker_name = "test";
    options.research = true;
    options.program = support::program_path("quern_hostile_steps");
    options.look_ms = 20;
    if (options.grace_ms == BrokerOptions{}.grace_ms) options.grace_ms = 400;
    options.backoff_min_ms = 10;
    options.backoff_max_ms = 20;
    ended_ = false;
    broker_ = std::make_unique<Broker>(loop_, options);
    loop_.spawn("test.broker", run_broker(this));
  }
  static net::Task<> run_broker(ResearcherTest* test) {
    test->ran_ = co_await test->broker_->run();
    test->ended_ = true;
  }
  void stop() {
    broker_->stop();
    server_.run_until([this] { return ended_; });
    broker_.reset();
  }

  net::Loop loop_;
  ResearchServer server_{loop_};
  std::unique_ptr<Broker> broker_;
  Result<> ran_;
  bool ended_ = false;
};

TEST_F(ResearcherTest, EachClipIsToldAndTheLastOneIsFinal) {
  start();
  server_.lend(1, "episode", {"found", "absent", "silence"});
  server_.run_until_told(3);
  const auto told = server_.by_clip();
  ASSERT_THAT(told, SizeIs(3));
  const json::object& found = told.at(101);
  EXPECT_EQ(found.at("lease_id"), "lease-1");
  EXPECT_EQ(found.at("episode").as_int64(), 1);
  EXPECT_EQ(found.at("number").as_int64(), 1101);
  EXPECT_EQ(json::serialize(found.at("offsets_ns")), "[5,7000000000]");
  EXPECT_EQ(found.at("scores").as_array().size(), 2U);
  EXPECT_EQ(found.at("episode_duration_ns").as_int64(), 60'000'000'000);
  EXPECT_EQ(found.at("clip_duration_ns").as_int64(), 1'000'000'000);
  EXPECT_EQ(found.at("episode_hash"), "digest of episode");
  EXPECT_EQ(found.at("clip_hash"), "digest of found");
  EXPECT_EQ(found.at("error"), "");
  EXPECT_EQ(json::serialize(told.at(102).at("offsets_ns")), "[]");
  EXPECT_EQ(told.at(103).at("error"), "the clip is silent");
  EXPECT_FALSE(server_.results[0].at("final").as_bool());
  EXPECT_FALSE(server_.results[1].at("final").as_bool());
  EXPECT_TRUE(server_.results[2].at("final").as_bool());
  EXPECT_EQ(server_.asked.at(0).at("researcher"), "test");
}

TEST_F(ResearcherTest, AFingerprintIsMadeWhereThereIsNoneAndKept) {
  start();
  server_.lend(1, "episode", {"absent"});
  server_.run_until_told(1);
  EXPECT_EQ(server_.fingerprints.at(1), "print of episode");
  EXPECT_EQ(base64_decoded(server_.waveform), "\x01\x02");
}

TEST_F(ResearcherTest, WhereTheFingerprintIsThereTheSoundIsFetchedOnlyIfAClipMayBeInIt) {
  server_.fingerprints[1] = "print";
  start();
  server_.lend(1, "episode", {"absent", "silence"});
  server_.run_until_told(2);
  EXPECT_THAT(server_.fetched, ElementsAre("/research/fingerprints/1", "/research/media/101",
                                           "/research/media/102"));
  server_.fetched.clear();
  server_.lend(1, "episode", {"absent", "sound"});
  server_.run_until_told(4);
  EXPECT_THAT(server_.fetched,
              ElementsAre("/research/fingerprints/1", "/research/media/102", "/research/media/1"));
  EXPECT_EQ(server_.results.at(3).at("offsets_ns").as_array().size(), 2U);
}

TEST_F(ResearcherTest, AClipIsFetchedOnceForAllEpisodes) {
  start();
  server_.lend(1, "one", {"a", "b"});
  server_.lend(2, "two", {"a", "b"});
  server_.lend(3, "three", {"b", "c"});
  server_.run_until_told(6);
  EXPECT_EQ(std::count(server_.fetched.begin(), server_.fetched.end(), "/research/media/101"), 1);
  EXPECT_THAT(server_.fetched, SizeIs(3 + 3));  // "c" is clip 102 of another item
}

TEST_F(ResearcherTest, AClipThatKillsItsBoxFailsAloneAndTheOthersGoOn) {
  start();
  server_.lend(1, "episode", {"found", "crash", "absent", "found2", "crash"});
  server_.run_until_told(5);
  const auto told = server_.by_clip();
  EXPECT_THAT(std::string(told.at(102).at("error").as_string()), HasSubstr("crash"));
  EXPECT_THAT(std::string(told.at(105).at("error").as_string()), HasSubstr("crash"));
  for (const std::int64_t clip : {101, 103, 104}) EXPECT_EQ(told.at(clip).at("error"), "");
}

TEST_F(ResearcherTest, AClipThatHangsFailsAndTheOthersGoOn) {
  BrokerOptions options;
  options.limits.idle_ms = 300;
  start(options);
  server_.lend(1, "episode", {"hang", "found"});
  server_.run_until_told(2);
  const auto told = server_.by_clip();
  EXPECT_THAT(std::string(told.at(101).at("error").as_string()), HasSubstr("timeout"));
  EXPECT_EQ(told.at(102).at("error"), "");
}

TEST_F(ResearcherTest, ABoxThatSaysNothingOrNonsenseDoesNotStrandAClip) {
  start();
  server_.lend(1, "episode", {"mute", "lie", "found"});
  server_.run_until_told(3);
  const auto told = server_.by_clip();
  EXPECT_THAT(std::string(told.at(101).at("error").as_string()), HasSubstr("nothing"));
  EXPECT_EQ(told.at(102).at("error"), "");
  EXPECT_EQ(told.at(103).at("offsets_ns").as_array().size(), 2U);
}

TEST_F(ResearcherTest, AnEpisodeThatCannotBeReadFailsAllOfItsClips) {
  start();
  server_.lend(1, "broken", {"found", "absent"});
  server_.lend(2, "crash", {"found"});
  server_.run_until_told(3);
  EXPECT_THAT(std::string(server_.results[0].at("error").as_string()),
              HasSubstr("the episode: it is broken"));
  EXPECT_TRUE(server_.results[1].at("final").as_bool());
  EXPECT_THAT(std::string(server_.results[2].at("error").as_string()), HasSubstr("crash"));
}

TEST_F(ResearcherTest, AFingerprintThatIsBrokenIsMadeAgain) {
  server_.fingerprints[1] = "broken";
  start();
  server_.lend(1, "episode", {"found"});
  server_.run_until_told(1);
  EXPECT_EQ(server_.fingerprints.at(1), "print of episode");
  EXPECT_EQ(server_.results[0].at("offsets_ns").as_array().size(), 2U);
}

TEST_F(ResearcherTest, AClipThatTheServerHasNoMoreIsLeftOutAndTheLeaseGivenBack) {
  server_.fingerprints[1] = "print";
  start();
  server_.media_status = 404;
  server_.lend(1, "episode", {"found"});
  server_.run_until_told(1);
  EXPECT_EQ(json::serialize(server_.results[0]),
            R"({"lease_id":"lease-1","episode":1,"final":true})");
}

TEST_F(ResearcherTest, AResultIsToldAgainUntilTheServerIsBack) {
  server_.answers = {503, 500, 503};
  start();
  server_.lend(1, "episode", {"found", "absent"});
  server_.run_until_told(2);
  EXPECT_THAT(server_.by_clip(), SizeIs(2));
  EXPECT_THAT(server_.answers, IsEmpty());
}

TEST_F(ResearcherTest, ARefusedResultIsDroppedAfterSomeTriesAndTheRestGoesOn) {
  server_.answers = {400, 400, 400};
  start();
  server_.lend(1, "episode", {"found", "absent"});
  server_.run_until_told(1);
  EXPECT_EQ(server_.results[0].at("clip").as_int64(), 102);
  EXPECT_TRUE(server_.results[0].at("final").as_bool());
}

TEST_F(ResearcherTest, AServerThatGoesAwayInTheMiddleIsWaitedFor) {
  server_.answers = std::vector<int>(4, 503);
  start();
  server_.lend(1, "episode", {"found", "absent"});
  server_.run_until([this] { return server_.answers.size() < 4; });
  const std::string place = server_.endpoint().to_string();
  server_.stop();
  server_.listen(place);
  server_.run_until_told(2);
  EXPECT_THAT(server_.by_clip(), SizeIs(2));
}

TEST_F(ResearcherTest, WhileItComputesTheLeaseIsKeptAlive) {
  server_.lease_ms = 300;
  start();
  server_.lend(1, "episode", {"hang"});
  server_.run_until([this] { return server_.kept_alive >= 3; });
  EXPECT_THAT(server_.results, IsEmpty());
}

TEST_F(ResearcherTest, OneThatStopsGivesTheItemBack) {
  start();
  server_.lend(1, "episode", {"found", "hang", "absent"});
  server_.run_until_told(1);
  stop();
  ASSERT_THAT(server_.results, SizeIs(2));
  EXPECT_EQ(json::serialize(server_.results[1]),
            R"({"lease_id":"lease-1","episode":1,"final":true})");
  EXPECT_TRUE(ran_.ok());
}

TEST_F(ResearcherTest, OneWithNothingToDoEndsByItself) {
  BrokerOptions options;
  options.idle_exit_ms = 2'000;  // a busy machine takes its time for the first question
  server_.lend(1, "episode", {"found"});
  start(options);
  server_.run_until([this] { return ended_; });
  broker_.reset();
  EXPECT_THAT(server_.results, SizeIs(1));
  EXPECT_TRUE(ran_.ok());
}

TEST_F(ResearcherTest, OneOfAnotherVersionSaysSoAndEnds) {
  server_.algorithm = model::kFinderAlgorithm + 1;
  start();
  server_.lend(1, "episode", {"found"});
  server_.run_until([this] { return ended_; });
  broker_.reset();
  ASSERT_FALSE(ran_.ok());
  EXPECT_THAT(ran_.error().message(), HasSubstr("install the quern-steps"));
  ASSERT_THAT(server_.results, SizeIs(1));
  EXPECT_FALSE(server_.results[0].contains("clip"));
}

TEST_F(ResearcherTest, AFileThatIsTooLargeIsNotFetched) {
  BrokerOptions options;
  options.research_media_bytes = 7;
  start(options);
  server_.lend(1, "episode", {"found", "much too large"});
  server_.run_until_told(2);
  const auto told = server_.by_clip();
  EXPECT_THAT(std::string(told.at(102).at("error").as_string()), HasSubstr("14 bytes"));
  EXPECT_EQ(told.at(101).at("error"), "");
}

TEST_F(ResearcherTest, ATokenGoesAlongWithEveryRequest) {
  BrokerOptions options;
  options.token = "secret";
  start(options);
  server_.lend(1, "episode", {"found"});
  server_.run_until_told(1);
  EXPECT_EQ(server_.authorization, basic_authorization("worker", "secret"));
}

}  // namespace
}  // namespace quern::worker
