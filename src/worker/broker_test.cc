// The broker against a scripted server, with a step that misbehaves (hostile_steps.cc).
#include "worker/broker.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "support/program.h"
#include "support/temp_folder.h"
#include "worker/scripted_server.h"

namespace quern::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Pair;
using ::testing::StartsWith;

class BrokerTest : public ::testing::Test {
 protected:
  void SetUp() override { server_.listen(); }
  void TearDown() override {
    if (broker_) stop();
  }

  void start(BrokerOptions options = {}, const std::string& step = "Hostile") {
    options.server = *parse_address("http://" + server_.endpoint().to_string());
    options.worker_name = "test";
    options.steps = {step};
    options.program = support::program_path("quern_hostile_steps");
    options.look_ms = 20;
    options.heartbeat_ms = 20;
    if (options.grace_ms == BrokerOptions{}.grace_ms) options.grace_ms = 300;
    options.backoff_min_ms = 10;
    options.backoff_max_ms = 20;
    ended_ = false;
    broker_ = std::make_unique<Broker>(loop_, options);
    loop_.spawn("test.broker", run_broker(broker_.get(), &ended_));
  }

  static net::Task<> run_broker(Broker* broker, bool* ended) {
    const Result<> ran = co_await broker->run();
    EXPECT_TRUE(ran.ok()) << ran.error().message();
    *ended = true;
  }

  void stop() {
    broker_->stop();
    server_.run_until([this] { return ended_; });
    broker_.reset();
  }

  net::Loop loop_;
  ScriptedServer server_{loop_};
  std::unique_ptr<Broker> broker_;
  bool ended_ = false;
};

TEST_F(BrokerTest, WhatAStepMakesIsSentWithItsCostAndItsEnd) {
  start();
  server_.lend("a", "echo", "the input");
  server_.run_until_posted(1);
  const Posted& posted = server_.posted.at(0);
  EXPECT_TRUE(posted.whole);
  EXPECT_EQ(posted.path, "/steps/Hostile/a");
  EXPECT_THAT(posted.content_type, MatchesRegex("multipart/form-data; boundary=\"[^\"]{50}\""));
  EXPECT_THAT(
      parts_of(posted.body),
      ElementsAre(
          Pair("0.json", R"({"filename":"echo","contentType":"text/plain","languageCode":"en",)"
                         R"("metadata":{"k":1},"wantOcr":false,"wantSplitByPage":true})"),
          Pair("0.blob", "the input"),
          Pair("cost", MatchesRegex(R"(."wallMs":[0-9]+,"cpuMs":[0-9]+,"peakKiB":[0-9]+.)")),
          Pair("done", "")));
}

TEST_F(BrokerTest, APollSaysHowManyTasksWhoAsksAndWhichVersion) {
  start();
  server_.run_until([this] { return !server_.polls.empty(); });
  EXPECT_EQ(server_.polls.at(0),
            "/steps/Hostile?tasks=4&inline=16384&worker=test&version=0&box=full");
}

TEST_F(BrokerTest, InputsComeInlineByPathOrByAddress) {
  support::TempFolder folder;
  std::ofstream(folder / "blob") << "by path";
  server_.lend("a", "echo", "XXXXXX", R"(,"data":")" + base64_encoded("inline") + "\"");
  server_.lend("b", "echo", "XXXXXXX", R"(,"path":")" + (folder / "blob").string() + "\"");
  server_.lend("c", "echo", std::string(3 << 20, 'c'));
  start();
  server_.run_until_posted(3);
  std::map<std::string, std::string> blobs;
  for (const Posted& posted : server_.posted) blobs[posted.path] = parts_of(posted.body)[1].second;
  EXPECT_EQ(blobs["/steps/Hostile/a"], "inline");
  EXPECT_EQ(blobs["/steps/Hostile/b"], "by path");
  EXPECT_EQ(blobs["/steps/Hostile/c"].size(), 3U << 20);
  EXPECT_THAT(server_.gets, ElementsAre("/steps/Hostile/c/blob"));
}

TEST_F(BrokerTest, AChildThatDiesInAPartNeverMakesItLookWhole) {
  start();
  server_.lend("a", "half");
  server_.run_until_posted(2);
  EXPECT_FALSE(server_.posted.at(0).whole);
  const auto parts = parts_of(server_.posted.at(0).body);
  EXPECT_EQ(parts.back().first, "(broken)");
  EXPECT_EQ(parts.at(1), std::pair(std::string("0.blob"), std::string("whole")));
  EXPECT_EQ(server_.posted.at(1).path, "/steps/Hostile/a/failure");
  EXPECT_THAT(server_.posted.at(1).body, HasSubstr(R"("kind":"crash")"));
  EXPECT_THAT(server_.posted.at(1).body, HasSubstr(R"("again":true)"));
}

TEST_F(BrokerTest, ACrashBeforeAnyOutputIsOneFailure) {
  start();
  server_.lend("a", "crash");
  server_.run_until_posted(1);
  EXPECT_EQ(server_.posted.at(0).path, "/steps/Hostile/a/failure");
  EXPECT_TRUE(server_.posted.at(0).whole);
  // And the lane goes on.
  server_.lend("b", "echo");
  server_.run_until_posted(2);
  EXPECT_EQ(server_.posted.at(1).path, "/steps/Hostile/b");
}

TEST_F(BrokerTest, AStepThatRefusesEndsWithATypedFailure) {
  start();
  server_.lend("a", "refuse");
  server_.run_until_posted(1);
  const auto parts = parts_of(server_.posted.at(0).body);
  EXPECT_EQ(parts.back().first, "failure");
  EXPECT_EQ(parts.back().second,
            R"({"kind":"encrypted","message":"it opens with a \"password\" only","again":false})");
}

TEST_F(BrokerTest, WhatALibraryPrintedIsTheNote) {
  start();
  server_.lend("a", "print");
  server_.run_until_posted(1);
  const auto parts = parts_of(server_.posted.at(0).body);
  ASSERT_EQ(parts.at(2).first, "note");
  EXPECT_THAT(parts.at(2).second, StartsWith("line 0 of a talkative library"));
  EXPECT_LE(parts.at(2).second.size(), kNoteBytesMax);
}

TEST_F(BrokerTest, ATaskThatTheServerHasEndedIsKilledAndNothingIsTold) {
  start();
  server_.lend("a", "trickle");
  server_.run_until([this] { return server_.bytes_read > 0 && server_.heads.size() >= 2; });
  EXPECT_THAT(server_.heads.at(0), "/steps/Hostile/a");
  server_.gone.insert("a");
  server_.run_until_posted(1);
  EXPECT_FALSE(server_.posted.at(0).whole);
  server_.lend("b", "echo");
  server_.run_until_posted(2);
  EXPECT_EQ(server_.posted.at(1).path, "/steps/Hostile/b");
}

TEST_F(BrokerTest, AChildWaitsWhileTheServerDoesNotRead) {
  BrokerOptions options;
  options.limits.idle_ms = 200;
  options.limits.wall_ms = 200;
  start(options);
  server_.reads = false;
  server_.lend("a", "flood");
  // Longer than both limits; they do not count now.
  const net::Instant later = net::in_ms(1'000);
  server_.run_until([later] { return net::in_ms(0) > later; });
  EXPECT_TRUE(server_.posted.empty());
  EXPECT_EQ(server_.bytes_read, 0U);
  server_.reads = true;
  server_.run_until_posted(2);
  const auto failure = std::find_if(server_.posted.begin(), server_.posted.end(),
                                    [](const Posted& p) { return p.path.ends_with("/failure"); });
  ASSERT_NE(failure, server_.posted.end());
  EXPECT_THAT(failure->body, HasSubstr(R"("kind":"timeout")"));
}

TEST_F(BrokerTest, TasksOfOnePollAreAllDone) {
  for (const char* id : {"a", "b", "c", "d", "e", "f"}) server_.lend(id, "echo", id);
  start();
  server_.run_until_posted(6);
  EXPECT_LE(server_.polls.size(), 2U);
  for (const Posted& posted : server_.posted) EXPECT_TRUE(posted.whole);
}

TEST_F(BrokerTest, TasksBehindOneThatTakesLongAreLeftToOthers) {
  BrokerOptions options;
  options.alone_after_ms = 50;
  server_.lend("a", "trickle");
  server_.lend("b", "echo");
  start(options);
  // Its life is told no more.
  server_.run_until([this] {
    const auto& heads = server_.heads;
    return heads.size() > 6 && std::count(heads.end() - 3, heads.end(), "/steps/Hostile/a") == 3;
  });
  EXPECT_TRUE(server_.posted.empty());
}

TEST_F(BrokerTest, AServerThatIsAwayIsAskedAgain) {
  const std::string address = server_.endpoint().to_string();
  server_.stop();
  start();
  const net::Instant later = net::in_ms(200);
  server_.run_until([later] { return net::in_ms(0) > later; });
  server_.listen(address);
  server_.lend("a", "echo");
  server_.run_until_posted(1);
}

TEST_F(BrokerTest, AServerThatDiesInTheMiddleCostsTheTaskOnly) {
  start();
  server_.lend("a", "trickle");
  server_.run_until([this] { return server_.bytes_read > 0; });
  const std::string address = server_.endpoint().to_string();
  server_.stop();
  server_.posted.clear();
  server_.listen(address);
  server_.lend("b", "echo");
  server_.run_until([this] {
    return !server_.posted.empty() && server_.posted.back().path == "/steps/Hostile/b";
  });
}

TEST_F(BrokerTest, ABlobOfAnotherLengthIsAFetchFailure) {
  start();
  server_.lend("a", "echo", "long enough");
  server_.blobs["a"] = "short";
  server_.run_until_posted(1);
  EXPECT_EQ(server_.posted.at(0).path, "/steps/Hostile/a/failure");
  EXPECT_THAT(server_.posted.at(0).body, HasSubstr(R"("kind":"fetch")"));
}

TEST_F(BrokerTest, ABlobThatIsGoneIsATaskThatIsOver) {
  start();
  server_.lend("a", "echo");
  server_.blobs.clear();
  server_.run_until([this] { return server_.polls.size() > 2; });
  EXPECT_TRUE(server_.posted.empty());
}

TEST_F(BrokerTest, StoppingFinishesWhatRuns) {
  start();
  server_.reads = false;
  server_.lend("a", "echo", std::string(4 << 20, 'x'));
  server_.run_until([this] { return !server_.gets.empty(); });
  broker_->stop();
  server_.reads = true;
  server_.run_until([this] { return ended_; });
  ASSERT_EQ(server_.posted.size(), 1U);
  EXPECT_TRUE(server_.posted.at(0).whole);
}

TEST_F(BrokerTest, StoppingWaitsNoLongerThanItsGrace) {
  BrokerOptions options;
  options.grace_ms = 100;
  start(options);
  server_.lend("a", "trickle");
  server_.run_until([this] { return server_.bytes_read > 0; });
  broker_->stop();
  server_.run_until([this] { return ended_; });
}

TEST_F(BrokerTest, AnIdleBrokerEndsWhereItIsTold) {
  BrokerOptions options;
  options.idle_exit_ms = 300;
  start(options);
  server_.lend("a", "echo");
  server_.run_until([this] { return ended_; });
  EXPECT_EQ(server_.posted.size(), 1U);
}

TEST_F(BrokerTest, TypesOfManyFilesAreToldAtOnce) {
  server_.lends_files = true;
  for (const char* id : {"a", "b", "c"}) server_.lend(id, id);
  start({}, "Guess");
  server_.run_until_posted(1);
  EXPECT_EQ(server_.posted.at(0).path, "/steps/Guess/d/types");
  EXPECT_THAT(server_.posted.at(0).body,
              StartsWith(R"({"types":[{"file":97,"type":"text/plain"},)"
                         R"({"file":98,"type":"text/plain"},{"file":99,"type":"text/plain"}],)"
                         R"("failed":[],"cost":{)"));
}

TEST_F(BrokerTest, AFileThatKillsDetectionFailsAlone) {
  server_.lends_files = true;
  server_.lend("a", "fine");
  server_.lend("b", "crash");
  server_.lend("c", "silent");
  server_.lend("d", "fine");
  start({}, "Guess");
  server_.run_until_posted(1);
  EXPECT_THAT(
      server_.posted.at(0).body,
      StartsWith(R"({"types":[{"file":97,"type":"text/plain"},)"
                 R"({"file":100,"type":"text/plain"}],"failed":[{"file":98,"kind":"crash",)"));
  EXPECT_THAT(server_.posted.at(0).body, HasSubstr(R"({"file":99,"kind":"internal",)"));
}

}  // namespace
}  // namespace quern::worker
