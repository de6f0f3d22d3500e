// A SQLite folder has one owner; every other command is its client, and takes over when it goes.
#include <gtest/gtest.h>

#include <csignal>

#include "e2e/quern.h"
#include "io/owner_lock.h"

namespace quern::e2e {
namespace {

using support::Output;
using support::Program;
using support::Ran;

std::string value_of(const DataFolder& folder, const std::string& counter) {
  const Ran ran = folder.run({"counter", "list", "--json"});
  EXPECT_TRUE(ran.status.exited_with(0)) << ran.standard_error;
  const std::string mark = "{\"counter\":\"" + counter + "\",\"value\":";
  const std::size_t at = ran.standard_output.find(mark);
  if (at == std::string::npos) return "none in " + ran.standard_output;
  const std::size_t begin = at + mark.size();
  return ran.standard_output.substr(begin, ran.standard_output.find(',', begin) - begin);
}

TEST(OwnerTest, ACommandNeedsNoServer) {
  const DataFolder folder;
  EXPECT_TRUE(folder.run({"counter", "add", "visits"}).status.exited_with(0));
  EXPECT_EQ(value_of(folder, "visits"), "1");
  EXPECT_TRUE(folder.run({"check"}).status.exited_with(0));
}

TEST(OwnerTest, NobodyElseCanReadTheFolder) {
  const DataFolder folder;
  const auto server = folder.serve();
  ASSERT_TRUE(folder.run({"counter", "add", "visits"}).status.exited_with(0));
  int looked_at = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    const auto mode = entry.symlink_status().permissions();
    const auto others = std::filesystem::perms::group_all | std::filesystem::perms::others_all;
    EXPECT_EQ(mode & others, std::filesystem::perms::none) << entry.path();
    ++looked_at;
  }
  EXPECT_GE(looked_at, 5) << "lock, socket, database with its log, snapshots";
}

TEST(OwnerTest, ACommandIsTheClientOfAServer) {
  const DataFolder folder;
  const auto server = folder.serve();
  EXPECT_TRUE(folder.run({"counter", "add", "visits", "--by", "3"}).status.exited_with(0));
  EXPECT_FALSE(server->has_ended());
  EXPECT_EQ(value_of(folder, "visits"), "3");
}

TEST(OwnerTest, ManyCommandsAtOnceOnOneFolderAllGetThrough) {
  const DataFolder folder;
  std::vector<std::unique_ptr<Program>> commands;
  for (int i = 0; i < 8; ++i) {
    commands.push_back(folder.start({"counter", "add", "visits", "--times", "20"}));
  }
  for (const auto& command : commands) {
    const auto status = command->wait();
    ASSERT_TRUE(status.ok());
    EXPECT_TRUE(status->exited_with(0)) << command->text(Output::Error);
  }
  EXPECT_EQ(value_of(folder, "visits"), "160");
  EXPECT_TRUE(folder.run({"check"}).status.exited_with(0));
}

TEST(OwnerTest, ACommandWhileAServerStartsIsServed) {
  const DataFolder folder;
  for (int round = 1; round <= 5; ++round) {
    const auto server = folder.start({"serve", "--listen", "127.0.0.1:0"});
    const Ran ran = folder.run({"counter", "add", "visits"});
    EXPECT_TRUE(ran.status.exited_with(0)) << ran.standard_error;
    const auto up = server->wait_for_line(Output::Standard, "http://");
    EXPECT_TRUE(up.ok()) << "the command may have owned the folder first; the server waits for it";
    EXPECT_EQ(value_of(folder, "visits"), std::to_string(round));
  }
}

TEST(OwnerTest, ClientsOfAnOwnerThatIsKilledTakeOver) {
  const DataFolder folder;
  const auto server = folder.serve();
  std::vector<std::unique_ptr<Program>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(folder.start({"counter", "add", "visits", "--times", "150", "--json"}));
  }
  // Each is in the middle of its work when the owner dies.
  for (const auto& client : clients) {
    ASSERT_TRUE(client->wait_for_line(Output::Standard, "\"counter\"").ok());
  }
  server->kill();
  for (const auto& client : clients) {
    const auto status = client->wait();
    ASSERT_TRUE(status.ok());
    EXPECT_TRUE(status->exited_with(0)) << client->text(Output::Error);
  }
  EXPECT_EQ(value_of(folder, "visits"), "450") << "nothing lost, nothing twice";
  EXPECT_TRUE(folder.run({"check"}).status.exited_with(0));
}

TEST(OwnerTest, AnOwnerThatDoesNotAnswerIsNamed) {
  const DataFolder folder;
  ASSERT_TRUE(folder.run({"counter", "add", "visits"}).status.exited_with(0));
  const auto lock = io::OwnerLock::try_acquire(folder.path());
  ASSERT_TRUE(lock.ok() && lock->has_value());
  const Ran ran = folder.run({"counter", "add", "visits", "--owner-wait", "0"});
  EXPECT_TRUE(ran.status.exited_with(3));
  EXPECT_NE(ran.standard_error.find("process " + std::to_string(::getpid())), std::string::npos)
      << ran.standard_error;
  const Ran server = folder.run({"serve", "--owner-wait", "0"});
  EXPECT_TRUE(server.status.exited_with(3));
  EXPECT_NE(server.standard_error.find("in use"), std::string::npos) << server.standard_error;
}

TEST(OwnerTest, AnOwnerThatHangsIsNotWaitedForForEver) {
  const DataFolder folder;
  const auto server = folder.serve();
  ASSERT_TRUE(server->signal(SIGSTOP).ok());
  const Ran ran = folder.run({"counter", "add", "visits", "--owner-wait", "0"});
  EXPECT_TRUE(ran.status.exited_with(3));
  EXPECT_NE(ran.standard_error.find("process " + std::to_string(server->pid())), std::string::npos)
      << ran.standard_error;
  ASSERT_TRUE(server->signal(SIGCONT).ok());
}

TEST(OwnerTest, AServerThatWaitsForTheFolderCanBeStopped) {
  const DataFolder folder;
  const auto first = folder.serve();
  const auto second = folder.start({"serve", "--listen", "127.0.0.1:0"});
  ASSERT_TRUE(second->wait_for_line(Output::Error, "serve.waiting").ok());
  ASSERT_TRUE(second->signal(SIGTERM).ok());
  const auto ended = second->wait();
  ASSERT_TRUE(ended.ok());
  EXPECT_TRUE(ended->exited_with(3)) << ended->text();
}

TEST(OwnerTest, ASqliteFileElsewhereHasOneOwnerToo) {
  const DataFolder folder;
  const auto server = folder.serve();
  const DataFolder other("sqlite:" + (folder.path() / "quern.db").string());
  const Ran ran = other.run({"counter", "list", "--owner-wait", "0"});
  EXPECT_TRUE(ran.status.exited_with(3)) << "two processes must not open one SQLite file";
}

TEST(OwnerTest, AStoppedServerFinishesWhatItWasAskedAndFreesTheFolder) {
  const DataFolder folder;
  const auto server = folder.serve();
  ASSERT_TRUE(folder.run({"counter", "add", "visits", "--times", "5"}).status.exited_with(0));
  ASSERT_TRUE(server->signal(SIGTERM).ok());
  const auto status = server->wait();
  ASSERT_TRUE(status.ok());
  EXPECT_TRUE(status->exited_with(0)) << server->text(Output::Error);
  EXPECT_EQ(value_of(folder, "visits"), "5");
}

}  // namespace
}  // namespace quern::e2e
