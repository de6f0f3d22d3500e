// The HTTP handler: what its answers mean, and what its silence and its death do.
#include "queue/http_processor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "net/async.h"
#include "support/program.h"
#include "support/scripted_handler.h"

namespace quern::queue {
namespace {

using support::answer;
using support::HandlerCall;
using support::held;
using support::ScriptedHandler;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::int64_t kSecondUs = 1'000'000;

net::Response response(int status, std::string body) {
  return net::json_response(status, std::move(body));
}

Outcome reply(int status, std::string body) {
  return read_reply(response(status, std::move(body)));
}

void expect_retry(const Outcome& outcome, const std::string& word) {
  EXPECT_EQ(outcome.kind, Outcome::Kind::Failed) << word;
  EXPECT_FALSE(outcome.no_retry) << outcome.error;
  EXPECT_THAT(outcome.error, HasSubstr(word));
}

void expect_final(const Outcome& outcome, const std::string& word) {
  EXPECT_EQ(outcome.kind, Outcome::Kind::Failed) << word;
  EXPECT_TRUE(outcome.no_retry) << outcome.error;
  EXPECT_THAT(outcome.error, HasSubstr(word));
}

TEST(ReplyTest, AnAnswerMovesTheItem) {
  const Outcome outcome = reply(200, R"({"gate": 2, "done": false, "data": {"a": [1, "b c"]}})");
  EXPECT_EQ(outcome.kind, Outcome::Kind::Moved);
  EXPECT_EQ(outcome.gate, 2);
  EXPECT_FALSE(outcome.done);
  EXPECT_EQ(outcome.data, R"({"a":[1,"b c"]})");
  const Outcome older = reply(201, R"({"complete":true,"response":{}})");
  EXPECT_TRUE(older.done);
  EXPECT_EQ(older.data, "{}");
}

TEST(ReplyTest, C17_WhatIsMissingIsNotThere) {
  for (const char* body : {"{}", R"({"gate":null,"done":null,"data":null,"error":null})"}) {
    const Outcome outcome = reply(200, body);
    EXPECT_EQ(outcome.kind, Outcome::Kind::Moved) << body;
    EXPECT_FALSE(outcome.gate || outcome.data || outcome.done) << body;
  }
}

TEST(ReplyTest, DataOfAnyTypeAreStoredAsTheyWereWrittenWithoutBlanks) {
  const auto data_of = [](const std::string& text) {
    return reply(200, "{\"x\":[{\"data\":0}],\n\t\"data\" : " + text + " ,\"y\":1}")
        .data.value_or("");
  };
  EXPECT_EQ(data_of("7"), "7");
  EXPECT_EQ(data_of("\"a } , b\""), "\"a } , b\"");
  EXPECT_EQ(data_of("[ ]"), "[]");
  EXPECT_EQ(data_of("true"), "true");
  EXPECT_EQ(data_of(R"({ "q" : "\"}\\" , "r":[{ },{"s" : null}] })"),
            R"({"q":"\"}\\","r":[{},{"s":null}]})");
  EXPECT_EQ(data_of("123456789012345678901234567890"), "123456789012345678901234567890");
  EXPECT_EQ(data_of("0.10"), "0.10");
  EXPECT_EQ(reply(200, R"({"d\u0061ta":1})").data, "1");
  EXPECT_EQ(reply(200, R"({"data":1,"data":{"second":2}})").data, R"({"second":2})");
}

TEST(ReplyTest, C15_NoRetryIsFinalWhateverTheStatus) {
  for (const int status : {200, 400, 500}) {
    expect_final(reply(status, R"({"error":{"message":"bad résumé","no_retry":true}})"),
                 "bad résumé");
    expect_retry(reply(status, R"({"error":{"message":"later"},"done":true})"), "later");
    expect_retry(reply(status, R"({"error":"plain"})"), "plain");
    expect_retry(reply(status, R"({"error":{}})"), "HTTP");
  }
}

TEST(ReplyTest, C16_StatusesDecideWhereTheBodyHasNoError) {
  for (const int status : {400, 401, 404, 409, 422, 301}) {
    expect_final(reply(status, R"({"done":true})"), fmt::format("HTTP {}", status));
  }
  for (const int status : {408, 425, 429, 500, 502, 503, 599}) {
    expect_retry(reply(status, R"({"done":true})"), fmt::format("HTTP {}", status));
  }
  EXPECT_EQ(reply(503, "").error, "HTTP 503 Service Unavailable");
  EXPECT_EQ(reply(503, "come back later\n").error, "HTTP 503 Service Unavailable: come back later");
}

TEST(ReplyTest, C16_ABodyThatIsNoObjectIsTriedAgainAndNamesTheStatus) {
  for (const char* body : {"", R"({"":)", "<html>hello</html>", "[]", "7", "{} {}", "\xff\xfe"}) {
    expect_retry(reply(200, body), "HTTP 200 OK");
  }
  expect_retry(reply(200, "<html>hello</html>"), "<html>hello</html>");
  expect_retry(reply(200, std::string(200, '[')), "HTTP 200 OK");
  expect_retry(reply(200, R"({"data":)" + std::string(5000, '[') + std::string(5000, ']') + "}"),
               "HTTP 200 OK");
}

TEST(ReplyTest, OnlyTheBeginningOfATextIsQuoted) {
  std::string text = "x";
  for (int i = 0; i < 1000; ++i) text += "ü";
  EXPECT_EQ(reply(500, text).error, "HTTP 500 Internal Server Error: " + text.substr(0, 199));
  EXPECT_EQ(reply(500, std::string(500, '\xff')).error, "HTTP 500 Internal Server Error");
  EXPECT_EQ(reply(500, "abc\xff").error, "HTTP 500 Internal Server Error");
}

TEST(ReplyTest, C21_AnErrorOfMegabytesIsCutAtOnce) {
  std::string text = "x";
  for (int i = 0; i < 1'000'000; ++i) text += "ü";
  EXPECT_EQ(reply(500, R"({"error":")" + text + "\"}").error, text.substr(0, 1023));
  EXPECT_EQ(reply(200, R"({"error":{"message":")" + text + "\"}}").error, text.substr(0, 1023));
}

TEST(ReplyTest, FieldsOfTheWrongTypeAreTriedAgainAndNamed) {
  expect_retry(reply(200, R"({"gate":"x"})"), "'gate'");
  expect_retry(reply(200, R"({"gate":1.5})"), "'gate'");
  expect_retry(reply(200, R"({"gate":18446744073709551615})"), "'gate'");
  expect_retry(reply(200, R"({"done":3})"), "'done'");
  expect_retry(reply(200, R"({"complete":"yes"})"), "'complete'");
  expect_retry(reply(200, R"({"error":7})"), "'error'");
  expect_retry(reply(200, R"({"error":{"message":7}})"), "'error.message'");
  expect_retry(reply(200, R"({"error":{"no_retry":"yes"}})"), "'error.no_retry'");
}

TEST(ReplyTest, C16_RetryAfterIsSecondsOrADate) {
  const auto delay = [](std::string_view value, std::string_view date = {}) {
    net::Response given = response(429, "{}").with("Retry-After", value);
    if (!date.empty()) given.headers.set("Date", date);
    return read_reply(given).delay_us;
  };
  EXPECT_EQ(delay("3"), 3 * kSecondUs);
  EXPECT_EQ(delay("99999999999999999999999"), 0) << "no number of ours, and no date";
  EXPECT_EQ(delay("1000000"), kRetryAfterSecondsMax * kSecondUs);
  EXPECT_EQ(delay("soon"), 0);
  EXPECT_EQ(delay("-5"), 0);
  constexpr std::string_view kDate = "Sun, 06 Nov 1994 08:49:37 GMT";
  EXPECT_EQ(delay("Sun, 06 Nov 1994 08:50:07 GMT", kDate), 30 * kSecondUs);
  EXPECT_EQ(delay("Mon, 07 Nov 1994 08:49:36 GMT", kDate), 86'399 * kSecondUs);
  EXPECT_EQ(delay("Sun, 06 Nov 1994 08:49:00 GMT", kDate), 0) << "has passed";
  EXPECT_EQ(delay("Sun, 06 Nov 2094 08:49:00 GMT"), kRetryAfterSecondsMax * kSecondUs);
  EXPECT_EQ(delay("Sun, 06 Nov 1994 08:49:00 GMT"), 0);
  EXPECT_EQ(delay("Sun, 99 Foo 2094 08:49:00 GMT"), 0);
}

TEST(HandlerAddressTest, OnlyPlainHttpAddressesAreTaken) {
  for (const char* good : {"http://localhost", "http://127.0.0.1:9000/work",
                           "HTTP://[::1]:80/a?b=c", "http://[::1]", "http://a.example?x"}) {
    EXPECT_TRUE(validate_handler(good).ok()) << good;
  }
  for (const char* bad : {"", "localhost:80", "https://a.example/", "http://", "http:///x",
                          "http://user@host/", "http://h:0/", "http://h:99999/", "http://h/a b",
                          "http://h/#x", "http://h/\r\nX: y", "http://h/ü", "http://unix:/x"}) {
    EXPECT_EQ(validate_handler(bad).error().kind(), Errc::Invalid) << bad;
  }
  EXPECT_FALSE(validate_handler("http://h/" + std::string(5000, 'x')).ok());
}

class HttpProcessorTest : public testing::Test {
 protected:
  void use(HttpProcessorOptions options) { processor_.emplace(loop_, options); }
  Work work_for(const std::string& handler, std::string name = "one") {
    Work work;
    work.partition_name = "resumes";
    work.handler = handler;
    work.item.name = std::move(name);
    work.item.gate = 3;
    work.item.calls = 2;
    work.item.steps = 5;
    work.item.data = R"({"text":"hello"})";
    return work;
  }
  Outcome process(Work work) {
    auto start = [this, &work](net::Callback<Outcome> callback) {
      processor_->process(std::move(work), std::move(callback));
    };
    return loop_.run_until(net::await_callback<Outcome>(loop_, std::move(start)));
  }
  // Beside the test's thread; the outcomes come while the loop runs.
  void begin(Work work) {
    processor_->process(std::move(work), [this](Outcome outcome) {
      outcomes_.push_back(std::move(outcome));
      if (outcomes_.size() == awaited_) loop_.stop();
    });
  }
  void run_until_outcomes(std::size_t outcomes) {
    awaited_ = outcomes;
    if (outcomes_.size() < outcomes) loop_.run();
    ASSERT_EQ(outcomes_.size(), outcomes);
  }
  // Runs the loop while the condition is awaited on another thread.
  void run_while(const std::function<void()>& waiting) {
    std::thread waiter([&] {
      waiting();
      loop_.stop();
    });
    loop_.run();
    waiter.join();
  }

  net::Loop loop_;
  std::optional<HttpProcessor> processor_{std::in_place, loop_, HttpProcessorOptions{}};
  std::vector<Outcome> outcomes_;
  std::size_t awaited_ = 0;
};

support::HandlerReply done(const HandlerCall&) {
  return answer(R"({"done":true})");
}

TEST_F(HttpProcessorTest, PostsTheBytesAndSaysWhoseTheyAre) {
  ScriptedHandler handler(done);
  Work work = work_for(handler.address() + "?tenant=7", "a/ü\n");
  const Outcome outcome = process(work);
  EXPECT_TRUE(outcome.done) << outcome.error;
  ASSERT_EQ(handler.calls("a/ü\n"), 1);
  const HandlerCall call = handler.history().at(0);
  EXPECT_EQ(call.head.method, net::Method::Post);
  EXPECT_EQ(call.head.target, "/work?tenant=7");
  EXPECT_EQ(*call.head.headers.find("Content-Type"), "application/json");
  EXPECT_EQ(*call.head.headers.find("Quern-Item"), "a%2F%C3%BC%0A");
  EXPECT_EQ(call.idempotency_key, fmt::format("resumes/a%2F%C3%BC%0A/{}.5", work.item.id));
  EXPECT_EQ(call.partition, "resumes");
  EXPECT_EQ(call.gate, 3);
  EXPECT_EQ(call.attempt, 2);
  EXPECT_EQ(call.body, work.item.data);
}

TEST_F(HttpProcessorTest, CallsRunBesideOneAnother) {
  ScriptedHandler handler([](const HandlerCall&) { return held(answer("{}")); });
  for (int i = 0; i < 100; ++i) begin(work_for(handler.address(), fmt::format("item {}", i)));
  run_while([&] { EXPECT_TRUE(handler.wait_for_calls(100)); });
  EXPECT_TRUE(outcomes_.empty());
  handler.release();
  run_until_outcomes(100);
  EXPECT_EQ(handler.most_at_once(), 100);
  for (const Outcome& outcome : outcomes_) EXPECT_EQ(outcome.kind, Outcome::Kind::Moved);
}

TEST_F(HttpProcessorTest, ManyHandlersAreCalledThoughFewClientsAreKept) {
  std::vector<std::unique_ptr<ScriptedHandler>> handlers;
  for (int i = 0; i < 70; ++i) handlers.push_back(std::make_unique<ScriptedHandler>(done));
  for (int round = 0; round < 2; ++round) {
    for (const auto& handler : handlers) EXPECT_TRUE(process(work_for(handler->address())).done);
  }
  for (const auto& handler : handlers) EXPECT_EQ(handler->calls(), 2);
}

TEST_F(HttpProcessorTest, NobodyListeningIsTriedAgainAndNamed) {
  ScriptedHandler handler(done);
  EXPECT_TRUE(process(work_for(handler.address())).done);
  handler.stop();
  const Outcome outcome = process(work_for(handler.address()));
  expect_retry(outcome, handler.address());
  EXPECT_THAT(processor_->trouble(),
              testing::ElementsAre(testing::Pair(handler.address(), outcome.error)));
  handler.start();
  EXPECT_TRUE(process(work_for(handler.address())).done);
  EXPECT_TRUE(processor_->trouble().empty());
}

TEST_F(HttpProcessorTest, AnAddressThatIsNoneIsAFailureToo) {
  expect_retry(process(work_for("ftp://x")), "ftp://x");
}

TEST_F(HttpProcessorTest, C22_AHandlerThatDiesInACallIsNoticedAtOnce) {
  auto program = support::Program::start({"net_test_server", {}, {}, {}});
  ASSERT_TRUE(program.ok()) << program.error().message();
  const auto line = (*program)->wait_for_line(support::Output::Standard, "listening ");
  ASSERT_TRUE(line.ok());
  const std::string host = "http://" + line->substr(std::strlen("listening "));
  begin(work_for(host + "/poll"));
  // It waits in the call: a second one tells.
  for (bool waiting = false; !waiting;) {
    const Outcome asked = process(work_for(host + "/waiting"));
    waiting = asked.error.ends_with(": 1");
    ASSERT_THAT(asked.error, StartsWith("HTTP 200 OK"));
  }
  ASSERT_TRUE((*program)->signal(SIGKILL).ok());
  run_until_outcomes(1);  // answer_ms is a minute: the test would hang that long
  expect_retry(outcomes_[0], host + "/poll");
}

TEST_F(HttpProcessorTest, TheClientRepeatsNoCallByItself) {
  ScriptedHandler handler(
      [](const HandlerCall& call) { return call.number == 2 ? held(answer("{}")) : answer("{}"); });
  process(work_for(handler.address()));
  // On the connection that was kept, whose end would look like one that had come before.
  begin(work_for(handler.address()));
  run_while([&] { EXPECT_TRUE(handler.wait_for_calls(2)); });
  handler.stop();
  handler.start();
  run_until_outcomes(1);
  expect_retry(outcomes_[0], handler.address());
  EXPECT_EQ(handler.calls(), 2);
}

TEST_F(HttpProcessorTest, AHandlerThatIsSilentForTooLongHasFailedTheAttempt) {
  use({.answer_ms = 50});
  ScriptedHandler handler([](const HandlerCall&) { return held(answer("{}")); });
  const Outcome outcome = process(work_for(handler.address()));
  expect_retry(outcome, "no answer within 50 ms");
  EXPECT_EQ(handler.calls(), 1) << "never repeated by the client";
}

TEST_F(HttpProcessorTest, C21_AnAnswerOfTenMegabytesIsFinalAndNamesTheLimit) {
  ScriptedHandler handler([](const HandlerCall& call) {
    const std::size_t bytes = call.item == "large" ? 10 * 1024 * 1024 : kReplyBytesMax - 11;
    return answer(R"({"data":")" + std::string(bytes, 'x') + "\"}");
  });
  expect_final(process(work_for(handler.address(), "large")), "4194304");
  EXPECT_EQ(process(work_for(handler.address(), "fits")).kind, Outcome::Kind::Moved);
}

TEST_F(HttpProcessorTest, C24_TroubleNamesTheHandlersWhoseLastCallFailed) {
  ScriptedHandler handler([](const HandlerCall& call) {
    if (call.number == 1) return answer(net::text_response(500, "out of order"));
    if (call.number == 2) return answer(R"({"error":{"message":"wrong"}})");
    return answer("{}");
  });
  ScriptedHandler good(done);
  process(work_for(good.address()));
  const auto trouble = [&] {
    const auto all = processor_->trouble();
    EXPECT_FALSE(all.contains(good.address()));
    return all.contains(handler.address()) ? all.at(handler.address()) : "";
  };
  process(work_for(handler.address()));
  EXPECT_EQ(trouble(), "HTTP 500 Internal Server Error: out of order");
  process(work_for(handler.address()));
  EXPECT_EQ(trouble(), "wrong");
  process(work_for(handler.address()));
  EXPECT_EQ(trouble(), "");
}

TEST_F(HttpProcessorTest, TroubleIsForgottenInTimeAndBounded) {
  use({.trouble_ms = -1});
  process(work_for("nowhere"));
  EXPECT_TRUE(processor_->trouble().empty()) << "older than it may be";
  use({});
  for (std::size_t i = 0; i < kHandlersRememberedMax + 10; ++i) {
    process(work_for(fmt::format("nowhere {}", i)));
  }
  const auto trouble = processor_->trouble();
  EXPECT_EQ(trouble.size(), kHandlersRememberedMax);
  EXPECT_FALSE(trouble.contains("nowhere 0"));
  EXPECT_TRUE(trouble.contains("nowhere 1009"));
}

TEST_F(HttpProcessorTest, CancelEndsWhatIsUnderWayAndWhatComesLater) {
  ScriptedHandler handler([](const HandlerCall&) { return held(answer("{}")); });
  for (int i = 0; i < 5; ++i) begin(work_for(handler.address()));
  run_while([&] { EXPECT_TRUE(handler.wait_for_calls(5)); });
  processor_->cancel();
  run_until_outcomes(5);
  begin(work_for(handler.address()));
  ASSERT_EQ(outcomes_.size(), 6u) << "without a call";
  for (const Outcome& outcome : outcomes_) EXPECT_EQ(outcome.kind, Outcome::Kind::Canceled);
  EXPECT_EQ(handler.calls(), 5);
  EXPECT_TRUE(processor_->trouble().empty()) << "that was not the handler's fault";
  // Answers that come now are dropped.
  handler.release();
  processor_.reset();
  run_while([&] { handler.stop(); });
  EXPECT_EQ(outcomes_.size(), 6u);
}

TEST_F(HttpProcessorTest, CallsUnderWayOutliveTheirProcessorAsCanceledOnes) {
  ScriptedHandler handler([](const HandlerCall&) { return held(answer("{}")); });
  begin(work_for(handler.address()));
  run_while([&] { EXPECT_TRUE(handler.wait_for_calls(1)); });
  processor_.reset();
  run_until_outcomes(1);
  EXPECT_EQ(outcomes_[0].kind, Outcome::Kind::Canceled);
}

TEST_F(HttpProcessorTest, ALoopMayGoWithCallsUnderWay) {
  ScriptedHandler handler([](const HandlerCall&) { return held(answer("{}")); });
  auto loop = std::make_unique<net::Loop>();
  auto processor = std::make_unique<HttpProcessor>(*loop, HttpProcessorOptions{});
  int answers = 0;
  processor->process(work_for(handler.address()), [&](const Outcome&) { ++answers; });
  std::thread waiter([&] {
    EXPECT_TRUE(handler.wait_for_calls(1));
    loop->stop();
  });
  loop->run();
  waiter.join();
  processor.reset();
  loop.reset();
  EXPECT_EQ(answers, 0);
}

}  // namespace
}  // namespace quern::queue
