// The program quern-steps, as a user or a server starts it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <fstream>
#include <thread>

#include "io/pidfd.h"
#include "support/proc.h"
#include "support/program.h"
#include "support/temp_folder.h"
#include "worker/scripted_server.h"

namespace quern::worker {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

support::Ran run(std::vector<std::string> arguments) {
  auto ran = support::run_program({"quern-steps", std::move(arguments)});
  CHECK_OK(ran);
  return *ran;
}

TEST(ProgramTest, ListNamesStepsVersionsAndTheBox) {
  const support::Ran ran = run({"--list"});
  EXPECT_TRUE(ran.status.exited_with(0)) << ran.standard_error;
  for (const char* step : {"Archive", "Detect", "Text"}) {
    EXPECT_THAT(ran.standard_output, HasSubstr(std::string("{\"step\":\"") + step));
  }
  EXPECT_THAT(ran.standard_output, HasSubstr("\"seccomp\""));
}

TEST(ProgramTest, DetectPrintsTypesAndSaysWhatIsMissing) {
  support::TempFolder folder;
  std::ofstream(folder / "a b.txt") << "words\n";
  const support::Ran ran = run({"--detect", folder / "a b.txt", folder / "missing"});
  EXPECT_TRUE(ran.status.exited_with(3));
  EXPECT_EQ(ran.standard_output,
            "{\"path\":\"" + (folder / "a b.txt").string() + "\",\"type\":\"text/plain\"}\n");
  EXPECT_THAT(ran.standard_error, HasSubstr("missing"));
}

TEST(ProgramTest, WrongUsageIsToldFromFailure) {
  EXPECT_TRUE(run({}).status.exited_with(2));
  EXPECT_TRUE(run({"--server", "http://127.0.0.1:1"}).status.exited_with(2));
  EXPECT_TRUE(run({"--server", "nonsense", "Text"}).status.exited_with(2));
  EXPECT_TRUE(run({"--server", "http://127.0.0.1:1", "Nosuch"}).status.exited_with(2));
  EXPECT_TRUE(run({"--help"}).status.exited_with(0));
}

class ServedProgramTest : public ::testing::Test {
 protected:
  void start(const std::string& program, std::vector<std::string> arguments,
             const std::string& endpoint = "127.0.0.1:0") {
    server_.listen(endpoint);
    const bool is_unix = server_.endpoint().kind == net::Endpoint::Kind::Unix;
    std::vector<std::string> all = {"--server",
                                    (is_unix ? "" : "http://") + server_.endpoint().to_string()};
    all.insert(all.end(), arguments.begin(), arguments.end());
    auto started = support::Program::start({program, all});
    ASSERT_TRUE(started.ok()) << started.error().message();
    program_ = *std::move(started);
  }

  std::vector<io::Descriptor> whole_family() {
    std::vector<pid_t> all = {program_->pid()};
    std::vector<io::Descriptor> pidfds;
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (const pid_t child : support::children_of(all[i])) all.push_back(child);
      auto pidfd = io::open_pidfd(all[i]);
      if (pidfd) pidfds.push_back(*std::move(pidfd));
    }
    return pidfds;
  }

  net::Loop loop_;
  ScriptedServer server_{loop_};
  std::unique_ptr<support::Program> program_;
};

TEST_F(ServedProgramTest, SeveralStepsAreServedByOneProgram) {
  start("quern-steps", {"Archive", "Text"});
  server_.run_until([this] { return server_.polls.size() >= 2; });
  server_.lend("a", "letter.txt", "Dear all\n");
  // Whichever step asks first gets it; both know what to do with these bytes or say so.
  server_.run_until_posted(1);
  EXPECT_TRUE(server_.posted.at(0).whole);
  ASSERT_TRUE(program_->signal(SIGTERM).ok());
  server_.run_until([this] { return program_->has_ended(); });
  EXPECT_TRUE(program_->wait()->exited_with(0));
}

TEST_F(ServedProgramTest, ATextGoesThroughASocketOfTheFolder) {
  support::TempFolder folder;
  start("quern-steps", {"Text"}, "unix:" + (folder / "quern.sock").string());
  server_.lend("a", "letter.txt", "Dear all\n");
  server_.run_until_posted(1);
  const auto parts = parts_of(server_.posted.at(0).body);
  EXPECT_EQ(parts.at(0).first, "0.json");
  EXPECT_EQ(parts.at(2).second, "Dear all\n");
  EXPECT_EQ(parts.back().first, "done");
}

TEST_F(ServedProgramTest, SigtermLetsATaskFinish) {
  start("quern_hostile_steps", {"Hostile"});
  server_.reads = false;
  server_.lend("a", "echo", std::string(4 << 20, 'x'));
  server_.run_until([this] { return !server_.gets.empty(); });
  ASSERT_TRUE(program_->signal(SIGTERM).ok());
  server_.reads = true;
  server_.run_until_posted(1);
  EXPECT_TRUE(server_.posted.at(0).whole);
  server_.run_until([this] { return program_->has_ended(); });
  EXPECT_TRUE(program_->wait()->exited_with(0));
}

TEST_F(ServedProgramTest, NothingOutlivesABrokerThatIsKilled) {
  start("quern_hostile_steps", {"Hostile"});
  server_.lend("a", "trickle");
  server_.run_until([this] { return server_.bytes_read > 0; });
  const std::vector<io::Descriptor> family = whole_family();
  EXPECT_GE(family.size(), 3U);  // broker, zygote, child; and the outer one
  program_->kill();
  for (const io::Descriptor& one : family) {
    support::wait_for_end(one.get(), std::chrono::milliseconds(20'000));
  }
  // The part under way was cut.
  server_.run_until_posted(1);
  EXPECT_FALSE(server_.posted.at(0).whole);
}

TEST_F(ServedProgramTest, AnIdleProgramEnds) {
  start("quern_hostile_steps", {"--exit-when-idle", "0.2", "Hostile"});
  server_.run_until([this] { return program_->has_ended(); });
  EXPECT_TRUE(program_->wait()->exited_with(0));
}

TEST_F(ServedProgramTest, ATokenIsThePasswordOfEachRequest) {
  support::TempFolder folder;
  std::ofstream(folder / "token") << "secret\n";
  start("quern_hostile_steps", {"--token", folder / "token", "Hostile"});
  server_.run_until([this] { return !server_.polls.empty(); });
  EXPECT_EQ(server_.authorization, "Basic " + base64_encoded("worker:secret"));
}

}  // namespace
}  // namespace quern::worker
