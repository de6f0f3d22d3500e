// quern partition and quern item, as a person or a script meets them. No server runs, so nobody
// works on what is put.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/quern.h"
#include "io/file.h"
#include "support/scripted_handler.h"

namespace quern::e2e {
namespace {

using support::Ran;
using testing::HasSubstr;

class QueueCommandTest : public testing::Test {
 protected:
  // Its standard output; it must end well.
  std::string run(std::vector<std::string> arguments) {
    const Ran ran = folder_.run(arguments);
    EXPECT_TRUE(ran.status.exited_with(0))
        << testing::PrintToString(arguments) << ran.status.text() << ran.standard_error;
    return ran.standard_output;
  }
  // Its standard error; it must end with that code.
  std::string fail(int code, std::vector<std::string> arguments) {
    const Ran ran = folder_.run(arguments);
    EXPECT_TRUE(ran.status.exited_with(code))
        << testing::PrintToString(arguments) << ran.status.text() << ran.standard_error;
    return ran.standard_error;
  }
  std::string file(const std::string& name, const std::string& text) {
    const std::filesystem::path path = files_ / name;
    CHECK_OK(io::write_file_durably(path, text));
    return path.string();
  }
  // By way of a shell, for standard input.
  Ran shell(const std::string& line) {
    support::ProgramOptions options =
        folder_.options({"-c", line}, {{"QUERN", support::program_path("quern").string()}});
    options.program = "/bin/sh";
    Result<Ran> ran = support::run_program(options);
    CHECK_OK(ran);
    return *std::move(ran);
  }
  void make_mail() { run({"partition", "put", "mail", "--handler", "http://127.0.0.1:9/"}); }

  DataFolder folder_;
  support::TempFolder files_;
};

TEST_F(QueueCommandTest, APartitionIsMadeChangedShownAndDeleted) {
  EXPECT_THAT(run({"partition", "put", "mail", "--handler", "http://127.0.0.1:9/", "--auto-close",
                   "--max-retries", "-1", "--backoff", "5"}),
              testing::ContainsRegex("mail +available +gate 0"));
  EXPECT_THAT(run({"partition", "put", "mail", "--no-auto-close", "--priority", "3", "--json"}),
              testing::AllOf(HasSubstr(R"("auto_close":false)"), HasSubstr(R"("priority":3)"),
                             HasSubstr(R"("max_retries":-1)"), HasSubstr(R"("backoff_ms":5)")));
  EXPECT_THAT(run({"partition", "get", "mail"}), testing::ContainsRegex("version +2\n"));
  EXPECT_THAT(fail(3, {"partition", "put", "mail", "--seal", "--if-version", "1", "--json"}),
              HasSubstr(R"("kind":"stale")"));
  EXPECT_THAT(run({"partition", "put", "mail", "--seal", "--if-version", "2"}),
              HasSubstr("sealed"));
  EXPECT_THAT(run({"partition", "list", "--json"}), HasSubstr(R"({"partition":"mail",)"));
  EXPECT_THAT(run({"partition", "events", "mail"}), HasSubstr("partition.opened"));
  run({"partition", "delete", "mail"});
  EXPECT_THAT(fail(3, {"partition", "get", "mail"}), HasSubstr("no partition 'mail'"));
  EXPECT_EQ(run({"partition", "list"}), "");
}

TEST_F(QueueCommandTest, AnItemIsPutFromAFileAndComesBackAsItWas) {
  const std::string bytes("\0\xFF\nbytes", 8);
  const std::string path = file("bytes", bytes);
  EXPECT_EQ(run({"item", "put", "mail", "one", path, "--gate", "2", "--limit-key", "l"}),
            "one added, version 1\n");
  EXPECT_EQ(run({"item", "put", "mail", "one", path, "--gate", "2", "--limit-key", "l"}),
            "one same, version 1\n");
  EXPECT_EQ(run({"item", "get", "mail", "one", "--data"}), bytes);
  EXPECT_THAT(run({"item", "get", "mail", "one"}), testing::ContainsRegex("gate +2\n"));
  EXPECT_THAT(fail(3, {"item", "put", "mail", "one", "--gate", "2"}), HasSubstr("different"));
  EXPECT_EQ(run({"item", "put", "mail", "one", "--gate", "4", "--if-version", "1"}),
            "one replaced, version 2\n");
  EXPECT_THAT(fail(3, {"item", "put", "mail", "one", path, "--if-version", "1"}),
              HasSubstr("version 2"));
  EXPECT_EQ(run({"item", "get", "mail", "one", "--data"}), "");
  run({"item", "delete", "mail", "one"});
  fail(3, {"item", "get", "mail", "one", "--data"});
}

TEST_F(QueueCommandTest, StandardInputIsAFileToo) {
  const Ran one = shell("printf abc | \"$QUERN\" item put mail one -");
  EXPECT_TRUE(one.status.exited_with(0)) << one.standard_error;
  EXPECT_EQ(run({"item", "get", "mail", "one", "--data"}), "abc");
  const Ran lines = shell(
      "printf '{\"item\":\"a\"}\\n{\"item\":\"b\"}' | "
      "\"$QUERN\" item put mail --lines -");
  EXPECT_EQ(lines.standard_output, "2 added, 0 were there, 0 with a taken key\n")
      << lines.standard_error;
  const Ran large = shell("head -c 1048577 /dev/zero | \"$QUERN\" item put mail large -");
  EXPECT_TRUE(large.status.exited_with(3)) << large.status.text();
}

TEST_F(QueueCommandTest, ALongFileOfLinesIsPutAndItsBadLineIsNamed) {
  std::string lines;
  for (int i = 1; i <= 2500; ++i) lines += fmt::format("{{\"item\":\"i{:04}\"}}\n", i);
  const std::string good = file("good", lines);
  EXPECT_EQ(run({"item", "put", "mail", "--lines", good, "--json"}),
            "{\"added\":2500,\"same\":0,\"taken\":0}\n");
  const std::string bad = file("bad", lines + "\n{\"item\":\"x\",\"gate\":\"1\"}\n");
  const std::string why = fail(2, {"item", "put", "mail", "--lines", bad});
  EXPECT_THAT(why, HasSubstr("line 2502"));
  EXPECT_THAT(why, HasSubstr("2500 items"));
  const std::string listed = run({"item", "list", "mail", "--json"});
  EXPECT_EQ(std::count(listed.begin(), listed.end(), '\n'), 2500) << "whatever the pages";
  EXPECT_EQ(run({"item", "list", "mail", "--gate", "1"}), "");
  EXPECT_EQ(run({"item", "list", "mail", "--older-than", "3600"}), "");
}

TEST_F(QueueCommandTest, AGateIsOpenedOnce) {
  make_mail();
  run({"item", "put", "mail", "one", "--gate", "5"});
  run({"item", "put", "mail", "two", "--gate", "8"});
  EXPECT_THAT(run({"partition", "advance", "mail"}), HasSubstr("gate 5"));
  EXPECT_THAT(fail(3, {"partition", "advance", "mail"}), HasSubstr("gate 5"));
  EXPECT_THAT(fail(3, {"item", "put", "mail", "low", "--gate", "4"}), HasSubstr("gate 5"));
  EXPECT_EQ(run({"partition", "requeue", "mail"}), "0 requeued\n");
  EXPECT_THAT(fail(3, {"partition", "requeue", "mail", "one"}), HasSubstr("has not failed"));
  EXPECT_THAT(run({"partition", "seal", "mail"}), HasSubstr("sealed"));
  EXPECT_THAT(fail(3, {"item", "put", "mail", "more", "--gate", "9"}), HasSubstr("sealed"));
}

// A server whose first advance is done and whose answer is lost.
class ForgetfulServer {
 public:
  std::string address() const {
    const std::string url = peer_.address();
    return url.substr(7, url.find('/', 7) - 7);
  }
  int advances() const { return advances_; }
  std::string last_if_match() const { return last_if_match_; }

 private:
  support::HandlerReply reply(const support::HandlerCall& call) {
    if (call.head.method == net::Method::Get) return support::answer(partition());
    ++advances_;
    const std::string* version = call.head.headers.find("If-Match");
    last_if_match_ = version == nullptr ? "" : *version;
    if (last_if_match_ != "\"1\"" || gate_ == 5) {
      return support::answer(net::problem(Error{Errc::Stale, "another version"}));
    }
    gate_ = 5;
    return support::answer(net::problem(Error{Errc::Unavailable, "going down"}));
  }
  std::string partition() const {
    return fmt::format(R"({{"partition":"mail","version":{},"status":"available","gate":{},)"
                       R"("available":1,"complete":0,"failed":0,"owner":null,"sealed":false}})",
                       gate_ == 5 ? 2 : 1, gate_.load());
  }

  std::atomic<int> gate_ = 0;
  std::atomic<int> advances_ = 0;
  std::string last_if_match_;  // read when all is done
  support::ScriptedHandler peer_{[this](const support::HandlerCall& call) { return reply(call); }};
};

TEST_F(QueueCommandTest, AnAdvanceWhoseAnswerWasLostOpensOneGate) {
  const ForgetfulServer server;
  EXPECT_THAT(run({"partition", "advance", "mail", "--server", server.address()}),
              HasSubstr("gate 5"));
  EXPECT_EQ(server.advances(), 2) << "it was made again";
  EXPECT_EQ(server.last_if_match(), "\"1\"") << "for the version that was seen first";
  EXPECT_THAT(
      fail(3, {"partition", "advance", "mail", "--if-version", "1", "--server", server.address()}),
      HasSubstr("another version"));
}

TEST_F(QueueCommandTest, HelpAndMistakes) {
  for (const char* command : {"partition", "item"}) {
    EXPECT_THAT(run({command, "--help"}), HasSubstr("Examples:")) << command;
  }
  const std::vector<std::vector<std::string>> wrong = {
      {"partition"},
      {"partition", "put"},
      {"partition", "put", "mail"},
      {"partition", "put", "mail", "--handler", "nonsense"},
      {"partition", "put", "mail", "--handler", "http://127.0.0.1:9/", "--concurrency", "0"},
      {"partition", "list", "--status", "odd"},
      {"item"},
      {"item", "put", "mail"},
      {"item", "put", "mail", "one", "--lines", "x"},
      {"item", "put", "mail", "one", "--gate", "-1"},
      {"item", "put", "mail", "one", "--delay", "-1"},
      {"item", "put", "quern:x", "one"},
  };
  for (const auto& arguments : wrong) EXPECT_NE(fail(2, arguments), "");
  fail(3, {"item", "put", "mail", "one", (files_ / "missing").string()});
  EXPECT_EQ(run({"partition", "list"}), "");
}

}  // namespace
}  // namespace quern::e2e
