// The handler of the résumé example, called as Quern calls it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/file.h"
#include "net/client.h"
#include "support/program.h"
#include "support/temp_folder.h"

namespace quern::e2e {
namespace {

using support::Program;
using testing::HasSubstr;
using testing::Not;

class ResumeHandlerTest : public testing::Test {
 protected:
  void start() {
    if (program_) program_->kill();
    auto started = Program::start(
        {"resume_handler", {"--listen", "127.0.0.1:0", "--effects", effects_path()}, {}, {}});
    CHECK_OK(started);
    program_ = *std::move(started);
    const auto line = program_->wait_for_line(support::Output::Standard, "listening on http://");
    CHECK_OK(line);
    endpoint_ = *net::Endpoint::parse(line->substr(line->find("http://") + 7));
  }
  std::string effects_path() const { return (folder_ / "effects").string(); }
  std::string effects() const { return *io::read_file(effects_path(), 1 << 20); }
  std::string call(const std::string& item, int gate, const std::string& body) {
    net::Request request = net::post_request("/", body, "application/json");
    request.headers.set("Idempotency-Key", "run/" + item + "/" + std::to_string(gate));
    request.headers.set("Quern-Item", item);
    request.headers.set("Quern-Gate", std::to_string(gate));
    net::Client client(loop_, endpoint_, {});
    const auto response = loop_.run_until(client.fetch(std::move(request), 1 << 20));
    return response ? response->body : response.error().message();
  }

  support::TempFolder folder_;
  net::Loop loop_;
  std::unique_ptr<Program> program_;
  net::Endpoint endpoint_;
};

constexpr char kGood[] = R"({"resume":"C++ and a database","of":2})";
constexpr char kPoor[] = R"({"resume":"I can draw a horse","of":2})";
constexpr char kGoodScored[] = R"({"resume":"C++ and a database","of":2,"score":10})";

TEST_F(ResumeHandlerTest, ClassifiesRanksAndWrites) {
  start();
  EXPECT_EQ(call("good", 0, kGood), R"({"gate":1,"data":)" + std::string(kGoodScored) + "}");
  EXPECT_THAT(call("poor", 0, kPoor), HasSubstr("\"score\":0"));
  EXPECT_THAT(call("good", 1, kGoodScored), HasSubstr("\"rank\":1"));
  EXPECT_THAT(call("poor", 1, kPoor), HasSubstr("\"rank\":2"));
  EXPECT_EQ(call("good", 2, R"({"rank":10})"), R"({"done":true,"data":{"rank":10,"hired":true}})");
  EXPECT_EQ(call("poor", 2, R"({"rank":11})"), R"({"done":true,"data":{"rank":11,"hired":false}})");
  EXPECT_EQ(effects(),
            "run/good/0 good 0 10\nrun/poor/0 poor 0 0\nrun/good/1 good 1 1\n"
            "run/poor/1 poor 1 2\nrun/good/2 good 2 1\nrun/poor/2 poor 2 0\n");
}

TEST_F(ResumeHandlerTest, ARepeatedCallGetsTheSameAnswerAndHasNoEffectEvenAfterAKill) {
  start();
  const std::string first = call("good", 0, kGood);
  call("poor", 0, kPoor);
  const std::string ranked = call("good", 1, kGoodScored);
  const std::string before = effects();
  EXPECT_EQ(call("good", 0, kGood), first);
  start();
  EXPECT_EQ(call("good", 0, kGood), first);
  EXPECT_EQ(call("good", 1, kGoodScored), ranked);
  EXPECT_EQ(effects(), before);
}

TEST_F(ResumeHandlerTest, ACallThatComesTooEarlyIsRecordedOnce) {
  start();
  call("good", 0, kGood);
  for (int i = 0; i < 2; ++i) EXPECT_THAT(call("good", 1, kGoodScored), HasSubstr("too early"));
  start();
  EXPECT_THAT(call("good", 1, kGoodScored), HasSubstr(R"("no_retry":true)"));
  EXPECT_EQ(effects(), "run/good/0 good 0 10\nVIOLATION run/good/1 good 1\n");
}

TEST_F(ResumeHandlerTest, ALineThatWasCutIsForgotten) {
  ASSERT_TRUE(io::write_file_durably(effects_path(), "run/poor/0 poor 0 3\nrun/good/0 go").ok());
  start();
  EXPECT_THAT(call("good", 0, kGood), HasSubstr("\"score\":10"));
  EXPECT_EQ(effects(), "run/poor/0 poor 0 3\nrun/good/0 good 0 10\n");
}

TEST_F(ResumeHandlerTest, WhatIsNoResumeIsAnErrorForGood) {
  start();
  EXPECT_THAT(call("x", 0, "{}"), HasSubstr(R"("no_retry":true)"));
  EXPECT_THAT(call("x", 0, "["), HasSubstr("no JSON object"));
  EXPECT_THAT(call("x", 7, kGood), HasSubstr("there is no gate 7"));
  EXPECT_THAT(effects(), Not(HasSubstr("x")));
}

}  // namespace
}  // namespace quern::e2e
