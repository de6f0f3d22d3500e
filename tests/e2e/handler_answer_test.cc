// What handlers answer, through the whole engine: retries, errors, limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/http_fixture.h"
#include "support/scripted_handler.h"

namespace quern::e2e {
namespace {

using support::answer;
using support::HandlerCall;
using support::HandlerReply;
using support::ScriptedHandler;
using testing::HasSubstr;

constexpr std::size_t kHugeBytes = 10 * 1000 * 1000;
constexpr int kRetries = 30;

HandlerReply done() {
  return answer(R"({"done":true})");
}

class HandlerAnswerTest : public ServedTest {
 protected:
  void put_items(const ScriptedHandler& handler, const std::vector<std::string>& items,
                 const std::string& more = "") {
    ASSERT_EQ(
        put(work_, R"({"handler":")" + handler.address() + R"(","backoff_ms":10)" + more + "}")
            .status,
        201);
    std::string lines;
    for (const std::string& item : items) lines += "{\"item\":\"" + item + "\"}\n";
    ASSERT_EQ(post(work_ + "/items", lines).status, 200);
  }
  std::string item(const std::string& name) const { return work_ + "/items/" + name; }
  std::string errors_of(const std::string& name) {
    return field(get_json(item(name)), "error_messages");
  }
  void expect_failed_after_one_call(const ScriptedHandler& handler, const std::string& name,
                                    const std::string& word) {
    EXPECT_TRUE(becomes(item(name), "status", "failed")) << name;
    EXPECT_THAT(errors_of(name), HasSubstr(word)) << name;
    EXPECT_EQ(handler.calls(name), 1) << name;
    EXPECT_EQ(field(get_json(item(name)), "calls"), "1") << name;
  }
  void expect_retried(const ScriptedHandler& handler, const std::string& name,
                      const std::string& word) {
    EXPECT_TRUE(becomes(item(name), "status", "complete")) << name;
    EXPECT_THAT(errors_of(name), HasSubstr(word)) << name;
    EXPECT_EQ(handler.calls(name), 2) << name;
  }

  const std::string work_ = "/api/v1/partitions/work";
};

TEST_P(HandlerAnswerTest, C15_NoRetryIsFinalAfterOneCallWhateverTheStatus) {
  const std::string error = R"({"error":{"message":"torn in two","no_retry":true}})";
  ScriptedHandler handler([&](const HandlerCall& call) {
    return answer(net::json_response(call.item == "with-200" ? 200 : 500, error));
  });
  put_items(handler, {"with-200", "with-500"});
  expect_failed_after_one_call(handler, "with-200", "torn in two");
  expect_failed_after_one_call(handler, "with-500", "torn in two");
}

TEST_P(HandlerAnswerTest, C16_TheStatusSaysWhetherItIsTriedAgain) {
  const std::map<std::string, HandlerReply> first = {
      {"400", answer(net::text_response(400, "no"))},
      {"422", answer(net::text_response(422, "no"))},
      {"503", answer(net::text_response(503, "later"))},
      {"empty", answer(net::text_response(200, ""))},
      {"broken", answer(R"({"":)")},
      {"html", answer(net::text_response(200, "<html><body>Welcome</body></html>"))}};
  ScriptedHandler handler(
      [&](const HandlerCall& call) { return call.number == 1 ? first.at(call.item) : done(); });
  put_items(handler, {"400", "422", "503", "empty", "broken", "html"});
  expect_failed_after_one_call(handler, "400", "400");
  expect_failed_after_one_call(handler, "422", "422");
  expect_retried(handler, "503", "503");
  for (const char* name : {"empty", "broken", "html"}) expect_retried(handler, name, "200");
}

TEST_P(HandlerAnswerTest, C16_ATooManyRequestsIsRetriedNotBeforeItSays) {
  std::vector<std::chrono::steady_clock::time_point> called;  // the handler's thread
  ScriptedHandler handler([&](const HandlerCall& call) {
    called.push_back(std::chrono::steady_clock::now());
    if (call.number > 1) return done();
    return answer(net::text_response(429, "slow down").with("Retry-After", "1"));
  });
  put_items(handler, {"one"});
  expect_retried(handler, "one", "429");
  handler.stop();
  ASSERT_EQ(called.size(), 2U);
  EXPECT_GE(called[1] - called[0], std::chrono::seconds(1));
}

TEST_P(HandlerAnswerTest, C21_AnAnswerOfTenMegabytesIsAnErrorOfThatItem) {
  ScriptedHandler handler([&](const HandlerCall& call) {
    if (call.item == "small") return done();
    return answer(R"({"done":true,"data":")" + std::string(kHugeBytes, 'x') + "\"}");
  });
  put_items(handler, {"huge", "small"});
  expect_failed_after_one_call(handler, "huge", "answers too much");
  EXPECT_TRUE(becomes(item("small"), "status", "complete"));
  EXPECT_EQ(get(item("huge") + "/data").body, "") << "unchanged";
}

TEST_P(HandlerAnswerTest, C21_TheHistoryOfErrorsIsCappedHoweverOftenTheyCome) {
  const std::string long_text(100'000, 'e');
  ScriptedHandler handler([&](const HandlerCall& call) {
    const std::string number = call.item == "same" ? "" : std::to_string(call.number);
    return answer(R"({"error":{"message":")" + number + long_text + "\"}}");
  });
  put_items(handler, {"same", "different"},
            fmt::format(R"(,"max_retries":{},"backoff_max_ms":10)", kRetries));
  EXPECT_TRUE(becomes(item("same"), "status", "failed"));
  EXPECT_TRUE(becomes(item("different"), "status", "failed"));
  const boost::json::object same = get_json(item("same"));
  ASSERT_EQ(same.at("error_messages").as_array().size(), 1U);
  const boost::json::object& once = same.at("error_messages").as_array()[0].as_object();
  EXPECT_EQ(once.at("times").as_int64(), kRetries + 1);
  EXPECT_LE(once.at("message").as_string().size(), 1024U);
  const boost::json::object different = get_json(item("different"));
  EXPECT_EQ(different.at("error_messages").as_array().size(), 10U) << "the last ones are kept";
  EXPECT_LE(errors_of("different").size(), 12'000U);
  EXPECT_THAT(errors_of("different"), HasSubstr(fmt::format("\"{}eee", kRetries + 1)));
}

INSTANTIATE_TEST_SUITE_P(Stores, HandlerAnswerTest, testing::Values(Store::Sqlite, Store::Postgres),
                         name_of);

}  // namespace
}  // namespace quern::e2e
