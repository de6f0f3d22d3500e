// What a person meets at the command line: help, exit codes, configuration, errors that say what to
// do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/quern.h"
#include "io/file.h"

namespace quern::e2e {
namespace {

using support::Ran;
using testing::HasSubstr;

TEST(CommandLineTest, HelpExplainsEveryCommandWithExamples) {
  const DataFolder folder;
  const Ran help = folder.run({"--help"});
  EXPECT_TRUE(help.status.exited_with(0));
  for (const char* word : {"serve", "counter", "check", "--data", "QUERN_DATA", "Exit codes"}) {
    EXPECT_THAT(help.standard_output, HasSubstr(word));
  }
  for (const char* command : {"serve", "counter", "partition", "item", "check"}) {
    const Ran one = folder.run({command, "--help"});
    EXPECT_TRUE(one.status.exited_with(0)) << command;
    EXPECT_THAT(one.standard_output, HasSubstr("Examples:")) << command;
  }
}

TEST(CommandLineTest, UsageErrorsExitWithTwoAndTouchNothing) {
  const DataFolder folder;
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"nonsense"},
      {"counter"},
      {"counter", "add"},
      {"counter", "add", "a", "--times", "0"},
      {"serve", "--listen", "nowhere"},
      {"serve", "--grace", "soon"},
      {"check", "--db", "mysql://x"},
      {"check", "--log", "xml"},
      {"check", "--config", "/does/not/exist"},
  };
  for (const auto& arguments : wrong) {
    const Ran ran = folder.run(arguments);
    EXPECT_TRUE(ran.status.exited_with(2)) << testing::PrintToString(arguments);
    EXPECT_FALSE(ran.standard_error.empty()) << testing::PrintToString(arguments);
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path()));
}

TEST(CommandLineTest, ASearcherAsksNobodyForATokenSoOtherMachinesNeedAWord) {
  const DataFolder folder;
  const Ran ran =
      folder.run({"searcher", "--server", "http://127.0.0.1:1", "--listen", "0.0.0.0:0"});
  EXPECT_TRUE(ran.status.exited_with(3));
  EXPECT_THAT(ran.standard_error, HasSubstr("--insecure"));
}

TEST(CommandLineTest, AFlagWinsOverTheEnvironmentAndThatOverTheFile) {
  const DataFolder folder;
  ASSERT_TRUE(io::make_folders_durably(folder.path()).ok());
  ASSERT_TRUE(io::write_file_durably(folder.path() / "quern.conf",
                                     "# ours\nlisten = 127.0.0.1:1\ngrace=1\n\nlog-level = warn\n")
                  .ok());
  const Ran ran = folder.run({"--print-config", "--grace", "3"},
                             {{"QUERN_GRACE", "2"}, {"QUERN_LOG_LEVEL", "error"}});
  EXPECT_TRUE(ran.status.exited_with(0)) << ran.standard_error;
  EXPECT_THAT(ran.standard_output, testing::ContainsRegex("listen +=.*127.0.0.1:1 +# file"));
  EXPECT_THAT(ran.standard_output, testing::ContainsRegex("grace +=.*3 +# flag"));
  EXPECT_THAT(ran.standard_output, testing::ContainsRegex("log-level +=.*error +# environment"));
  EXPECT_THAT(ran.standard_output, testing::ContainsRegex("owner-wait +=.*30 +# default"));
  const Ran json = folder.run({"--print-config", "--json"});
  EXPECT_THAT(json.standard_output,
              HasSubstr(R"("listen":{"value":"127.0.0.1:1","source":"file"})"));
}

TEST(CommandLineTest, AMistakeInTheFileIsNamedWithItsLine) {
  const DataFolder folder;
  ASSERT_TRUE(io::make_folders_durably(folder.path()).ok());
  ASSERT_TRUE(io::write_file_durably(folder.path() / "quern.conf", "grace = 1\nlistn = x\n").ok());
  const Ran ran = folder.run({"check"});
  EXPECT_TRUE(ran.status.exited_with(2));
  EXPECT_THAT(ran.standard_error, HasSubstr("quern.conf:2"));
}

TEST(CommandLineTest, APasswordIsNeverShown) {
  const DataFolder folder("postgres://user:secret@localhost:1/db?password=secret");
  const Ran shown = folder.run({"--print-config"});
  EXPECT_THAT(shown.standard_output, HasSubstr("***"));
  EXPECT_THAT(shown.standard_output, testing::Not(HasSubstr("secret")));
  const Ran failed = folder.run({"check"});
  EXPECT_TRUE(failed.status.exited_with(3));
  EXPECT_THAT(failed.standard_error, testing::Not(HasSubstr("secret"))) << failed.standard_error;
}

TEST(CommandLineTest, ErrorsForProgramsAreJson) {
  const DataFolder folder;
  const Ran ran = folder.run({"counter", "snapshot", "nothing", "--json"});
  EXPECT_TRUE(ran.status.exited_with(3));
  EXPECT_THAT(ran.standard_error, HasSubstr(R"({"error":{"kind":"missing","message":)"));
}

TEST(CommandLineTest, BadInputIsRefusedWithASentence) {
  const DataFolder folder;
  for (const std::string name : {"a b", "../x", "", "\xFF"}) {
    const Ran ran = folder.run({"counter", "add", name});
    EXPECT_TRUE(ran.status.exited_with(2) || ran.status.exited_with(3)) << name;
    EXPECT_FALSE(ran.standard_error.empty()) << name;
  }
  ASSERT_TRUE(folder.run({"counter", "add", "a", "--key", "k", "--by", "1"}).status.exited_with(0));
  const Ran conflict = folder.run({"counter", "add", "a", "--key", "k", "--by", "2"});
  EXPECT_FALSE(conflict.status.exited_with(0)) << "one key, two amounts";
  EXPECT_THAT(conflict.standard_error, HasSubstr("before"));
}

TEST(CommandLineTest, AnOlderSchemaIsRefusedWithNoMigrate) {
  const DataFolder folder;
  const Ran ran = folder.run({"check", "--no-migrate"});
  EXPECT_TRUE(ran.status.exited_with(3));
  EXPECT_THAT(ran.standard_error, HasSubstr("--no-migrate"));
  EXPECT_TRUE(folder.run({"check"}).status.exited_with(0));
  EXPECT_TRUE(folder.run({"check", "--no-migrate"}).status.exited_with(0));
}

TEST(CommandLineTest, OutputThatCannotBeWrittenIsAnError) {
  const DataFolder folder;
  ASSERT_TRUE(folder.run({"counter", "add", "a"}).status.exited_with(0));
  for (const char* command : {"list", "add b", "add b --times 50 --json"}) {
    const std::string line = "\"$QUERN\" counter " + std::string(command) + " > /dev/full";
    support::ProgramOptions options =
        folder.options({"-c", line}, {{"QUERN", support::program_path("quern").string()}});
    options.program = "/bin/sh";
    const auto ran = support::run_program(options);
    ASSERT_TRUE(ran.ok());
    EXPECT_TRUE(ran->status.exited_with(3)) << command << ": " << ran->status.text();
    EXPECT_THAT(ran->standard_error, HasSubstr("standard output")) << command;
  }
}

TEST(CommandLineTest, AFolderIsNeverJudgedByAnotherDatabase) {
  const DataFolder folder;
  ASSERT_TRUE(folder.run({"counter", "add", "a"}).status.exited_with(0));
  ASSERT_TRUE(folder.run({"counter", "snapshot", "a"}).status.exited_with(0));
  const std::string other = "sqlite:" + (folder.path() / "other.db").string();
  const Ran mistaken = folder.run({"counter", "list", "--db", other});
  EXPECT_TRUE(mistaken.status.exited_with(2)) << mistaken.standard_error;
  EXPECT_THAT(mistaken.standard_error, HasSubstr("belongs to another database"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "other.db"));
  ASSERT_TRUE(io::write_file_durably(folder.path() / "other.db", "").ok());
  EXPECT_TRUE(folder.run({"counter", "list", "--db", other}).status.exited_with(2))
      << "one that exists has another name";
  // The database is away (not mounted, say), and a new one would be made in its place.
  std::filesystem::rename(folder.path() / "quern.db", folder.path() / "away.db");
  EXPECT_TRUE(folder.run({"counter", "list"}).status.exited_with(2));
  std::filesystem::rename(folder.path() / "away.db", folder.path() / "quern.db");
  EXPECT_TRUE(folder.run({"check"}).status.exited_with(0)) << "its snapshot is still there";
}

TEST(CommandLineTest, AMissingFolderOrADeafTerminalIsNoCrash) {
  const DataFolder folder;
  const Ran ran = folder.run({"check", "--db", "sqlite:/nowhere/at/all/x.db"});
  EXPECT_TRUE(ran.status.exited_with(3)) << ran.status.text();
  EXPECT_THAT(ran.standard_error, HasSubstr("/nowhere/at/all"));
  support::ProgramOptions options =
      folder.options({"-c", "\"$QUERN\" counter snapshot nothing 2> /dev/full"},
                     {{"QUERN", support::program_path("quern").string()}});
  options.program = "/bin/sh";
  const auto deaf = support::run_program(options);
  ASSERT_TRUE(deaf.ok());
  EXPECT_TRUE(deaf->status.exited_with(3)) << deaf->status.text();
}

TEST(CommandLineTest, FilesThatAreNotOursAreLeftAlone) {
  const DataFolder folder;
  ASSERT_TRUE(folder.run({"counter", "add", "a"}).status.exited_with(0));
  const auto snapshots = folder.path() / "snapshots";
  ASSERT_TRUE(std::filesystem::create_directory(snapshots / "lost+found"));
  ASSERT_TRUE(io::write_file_durably(snapshots / "notes.txt", "mine").ok());
  ASSERT_TRUE(io::write_file_durably(snapshots / "9-9.json", "an orphan of ours").ok());
  EXPECT_TRUE(folder.run({"check"}).status.exited_with(0));
  EXPECT_TRUE(std::filesystem::exists(snapshots / "lost+found"));
  EXPECT_TRUE(std::filesystem::exists(snapshots / "notes.txt"));
  EXPECT_FALSE(std::filesystem::exists(snapshots / "9-9.json"));
}

TEST(CommandLineTest, CheckFindsASnapshotThatWasTamperedWith) {
  const DataFolder folder;
  ASSERT_TRUE(folder.run({"counter", "add", "a"}).status.exited_with(0));
  ASSERT_TRUE(folder.run({"counter", "snapshot", "a"}).status.exited_with(0));
  ASSERT_TRUE(folder.run({"check"}).status.exited_with(0));
  const auto entries = io::list_folder(folder.path() / "snapshots", 10);
  ASSERT_EQ(entries->size(), 1u);
  const auto file = folder.path() / "snapshots" / (*entries)[0].name;
  ASSERT_TRUE(io::write_file_durably(file, "{}").ok());
  const Ran tampered = folder.run({"check"});
  EXPECT_TRUE(tampered.status.exited_with(1));
  EXPECT_THAT(tampered.standard_output, HasSubstr("counter a"));
  ASSERT_TRUE(io::remove_durably(file, io::IfMissing::Error).ok());
  EXPECT_TRUE(folder.run({"check"}).status.exited_with(1));
}

}  // namespace
}  // namespace quern::e2e
