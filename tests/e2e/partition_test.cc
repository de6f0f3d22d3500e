// Partitions over HTTP, as their users meet them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/http_fixture.h"
#include "support/scripted_handler.h"

namespace quern::e2e {
namespace {

using net::Response;
using testing::HasSubstr;
using testing::Not;

// Nobody listens there; partitions that are not to be worked on have delayed items or none.
constexpr char kNobody[] = R"({"handler":"http://127.0.0.1:9/"})";

class PartitionTest : public ServedTest {
 protected:
  std::string with_handler(const support::ScriptedHandler& handler, const std::string& more) {
    return R"({"handler":")" + handler.address() + "\"" + more + "}";
  }

  const std::string mail_ = "/api/v1/partitions/mail";
};

support::HandlerReply finish(const support::HandlerCall&) {
  return support::answer(R"({"done":true})");
}

TEST_P(PartitionTest, C1_OfTwoWhoReadTheSameVersionOnlyTheFirstSaves) {
  const Response made = put(mail_, kNobody, {{"If-None-Match", "*"}});
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(etag(made), "\"1\"");
  const std::string seen = etag(get(mail_));
  const Response first = put(mail_, R"({"priority":1})", {{"If-Match", seen}});
  EXPECT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(etag(first), "\"2\"");
  const Response second = put(mail_, R"({"priority":2})", {{"If-Match", seen}});
  EXPECT_EQ(second.status, 412) << second.body;
  EXPECT_THAT(second.body, HasSubstr(R"("kind":"stale")"));
  EXPECT_EQ(field(get_json(mail_), "priority"), "1") << "unchanged by the second";
  EXPECT_EQ(put(mail_, kNobody, {{"If-None-Match", "*"}}).status, 412);
  EXPECT_EQ(put(mail_, "{}", {{"If-Match", "2"}}).status, 200) << "without quotes, too";
}

TEST_P(PartitionTest, C2_SavingAfterADeleteBringsNothingBack) {
  const std::string seen = etag(put(mail_, kNobody));
  ASSERT_EQ(remove(mail_).status, 204);
  EXPECT_EQ(put(mail_, kNobody, {{"If-Match", seen}}).status, 412);
  EXPECT_EQ(get(mail_).status, 404);
  EXPECT_THAT(get("/api/v1/partitions").body, Not(HasSubstr("mail")));
  EXPECT_EQ(put(mail_, kNobody).status, 201) << "it can be made anew";
}

TEST_P(PartitionTest, APutChangesOnlyWhatItNames) {
  ASSERT_EQ(put(mail_, R"({"handler":"http://127.0.0.1:9/a","auto_close":true,"max_retries":2,)"
                       R"("concurrency":3,"backoff_ms":4,"backoff_max_ms":5,"retain_seconds":6})")
                .status,
            201);
  ASSERT_EQ(put(mail_, R"({"priority":7,"retain_seconds":null})").status, 200);
  const boost::json::object mail = get_json(mail_);
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"partition", "mail"},      {"version", "2"},     {"handler", "http://127.0.0.1:9/a"},
      {"auto_close", "true"},     {"max_retries", "2"}, {"manual_checkpoint", "false"},
      {"concurrency", "3"},       {"backoff_ms", "4"},  {"backoff_max_ms", "5"},
      {"retain_seconds", "null"}, {"priority", "7"},    {"gate", "0"},
      {"status", "available"},    {"sealed", "false"},  {"items", "0"},
      {"complete", "0"},          {"failed", "0"},      {"available", "0"},
  };
  for (const auto& [name, value] : expected) EXPECT_EQ(field(mail, name), value) << name;
  EXPECT_THAT(field(mail, "created"), testing::MatchesRegex("20[0-9-]+T[0-9:.]+Z"));
}

TEST_P(PartitionTest, WrongRequestsAreRefusedWithTheNameOfWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {R"({"handler":"http://127.0.0.1:9/","colour":1})", "'colour'"},
      {R"({"handler":1})", "'handler'"},
      {R"({"handler":"ftp://x/"})", "http://"},
      {R"({"handler":"http://127.0.0.1:9/","concurrency":0})", "concurrency"},
      {R"({"handler":"http://127.0.0.1:9/","max_retries":-2})", "max_retries"},
      {R"({"handler":"http://127.0.0.1:9/","status":"complete"})", "'status'"},
      {R"({"priority":1})", "handler"},
      {"[]", "object"},
      {"not json", "object"},
  };
  for (const auto& [body, word] : wrong) {
    const Response answer = put(mail_, body);
    EXPECT_EQ(answer.status, 400) << body;
    EXPECT_THAT(answer.body, HasSubstr(word)) << body;
  }
  EXPECT_EQ(get(mail_).status, 404) << "nothing was made";
  EXPECT_EQ(put("/api/v1/partitions/quern:mine", kNobody).status, 400) << "names of our own";
  EXPECT_EQ(put("/api/v1/partitions/" + std::string(201, 'a'), kNobody).status, 400);
  EXPECT_EQ(put("/api/v1/partitions/a%0Ab", kNobody).status, 400);
  EXPECT_EQ(put(mail_ + "?colour=red", kNobody).status, 400);
  EXPECT_EQ(put(mail_, kNobody, {{"If-Match", "W/\"1\""}}).status, 400);
  EXPECT_EQ(put(mail_, std::string(70'000, ' ')).status, 413);
  EXPECT_EQ(get("/api/v1/partitions?status=running%20late").status, 400);
  EXPECT_EQ(get("/api/v1/partitions?limit=0").status, 400);
  EXPECT_EQ(get("/api/v1/partitions?limit=1001").status, 400);
  for (const char* change : {"/seal", "/advance", "/requeue"}) {
    EXPECT_EQ(post(mail_ + change).status, 404) << change;
  }
  EXPECT_EQ(remove(mail_).status, 404);
}

TEST_P(PartitionTest, NamesMayHoldAnythingThatCanBeRead) {
  const std::string name = "a/b ä?&=%+\"";
  std::string target = "/api/v1/partitions";
  net::append_segment(target, name);
  ASSERT_EQ(put(target, kNobody).status, 201);
  std::string item = target + "/items";
  net::append_segment(item, name);
  ASSERT_EQ(put(item + "?delay_ms=100000000", "x").status, 201);
  EXPECT_EQ(field(get_json(target), "partition"), name);
  EXPECT_EQ(field(get_json(item), "item"), name);
  EXPECT_EQ(get(item + "/data").body, "x");
}

TEST_P(PartitionTest, ListsGoOnWhereThePageEnded) {
  for (int i = 0; i < 7; ++i) {
    ASSERT_EQ(put(fmt::format("/api/v1/partitions/p{}", i), kNobody).status, 201);
  }
  std::string names;
  std::string after;
  int pages = 0;
  do {
    const boost::json::object page = get_json("/api/v1/partitions?limit=3&after=" + after);
    for (const auto& one : page.at("items").as_array()) {
      names += field(one.as_object(), "partition") + " ";
    }
    after = field(page, "next");
    ++pages;
  } while (!after.empty());
  EXPECT_EQ(names, "p0 p1 p2 p3 p4 p5 p6 ");
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(field(get_json("/api/v1/partitions?status=failed"), "items"), "[]");
}

TEST_P(PartitionTest, C10_AnItemBelowTheGateIsRefusedByName) {
  ASSERT_EQ(put(mail_, R"({"handler":"http://127.0.0.1:9/","manual_checkpoint":true})").status,
            201);
  ASSERT_EQ(put(mail_ + "/items/late?gate=5&delay_ms=100000000", "x").status, 201);
  EXPECT_EQ(post(mail_ + "/advance", "", {{"If-Match", "99"}}).status, 412);
  const Response advanced = post(mail_ + "/advance");
  ASSERT_EQ(advanced.status, 200) << advanced.body;
  EXPECT_THAT(advanced.body, HasSubstr(R"("gate":5)"));
  const Response below = put(mail_ + "/items/early?gate=4", "x");
  EXPECT_EQ(below.status, 409);
  EXPECT_THAT(below.body, HasSubstr("gate 5"));
  EXPECT_EQ(get(mail_ + "/items/early").status, 404);
  EXPECT_EQ(put(mail_ + "/items/late?gate=5&delay_ms=100000000", "x").status, 200)
      << "what was put before is the same still";
  EXPECT_EQ(post(mail_ + "/advance").status, 409) << "gate 5 has one to do";
  EXPECT_EQ(field(get_json(mail_), "gate"), "5") << "and stays where it is";
}

TEST_P(PartitionTest, C18_AnEmptyPartitionClosesOnlyWhenItIsSealed) {
  const support::ScriptedHandler handler(finish);
  ASSERT_EQ(put(mail_, with_handler(handler, R"(,"auto_close":true)")).status, 201);
  // Another one that was put later is done: this one was looked at, and left open.
  const std::string other = "/api/v1/partitions/other";
  ASSERT_EQ(put(other, with_handler(handler, R"(,"auto_close":true)")).status, 201);
  ASSERT_EQ(put(other + "/items/one", "x").status, 201);
  ASSERT_TRUE(becomes(other, "status", "complete"));
  EXPECT_EQ(field(get_json(mail_), "status"), "available") << "it waits for its producer";
  const Response sealed = post(mail_ + "/seal");
  ASSERT_EQ(sealed.status, 200) << sealed.body;
  EXPECT_THAT(sealed.body, HasSubstr(R"("sealed":true)"));
  EXPECT_TRUE(becomes(mail_, "status", "complete"));
  const Response refused = put(mail_ + "/items/one", "x");
  EXPECT_EQ(refused.status, 409);
  EXPECT_THAT(refused.body, HasSubstr("sealed"));
  EXPECT_EQ(put(mail_, "{}").status, 200) << "a put opens it again";
  EXPECT_EQ(put(mail_ + "/items/one", "x").status, 201);
}

TEST_P(PartitionTest, C18_AddingToAClosedPartitionReopensItOrIsRefusedAsConfigured) {
  const support::ScriptedHandler handler(finish);
  const std::string strict = "/api/v1/partitions/strict";
  ASSERT_EQ(put(mail_, with_handler(handler, R"(,"auto_close":true)")).status, 201);
  ASSERT_EQ(
      put(strict, with_handler(handler, R"(,"auto_close":true,"refuse_when_closed":true)")).status,
      201);
  for (const std::string& partition : {mail_, strict}) {
    ASSERT_EQ(put(partition + "/items/one", "x").status, 201);
    ASSERT_TRUE(becomes(partition, "status", "complete"));
  }
  const Response refused = put(strict + "/items/two", "x");
  EXPECT_EQ(refused.status, 409);
  EXPECT_THAT(refused.body, HasSubstr("closed"));
  EXPECT_EQ(put(mail_ + "/items/two", "x").status, 201);
  EXPECT_TRUE(becomes(mail_ + "/items/two", "status", "complete"));
  EXPECT_TRUE(becomes(mail_, "status", "complete")) << "and it closes again";
}

TEST_P(PartitionTest, FailedItemsAreRequeued) {
  std::atomic<bool> healthy = false;
  const support::ScriptedHandler handler([&healthy](const support::HandlerCall&) {
    return healthy ? support::answer(R"({"done":true})")
                   : support::answer(R"({"error":{"message":"not today","no_retry":true}})");
  });
  ASSERT_EQ(put(mail_, with_handler(handler, "")).status, 201);
  ASSERT_EQ(post(mail_ + "/items", "{\"item\":\"a\"}\n{\"item\":\"b\"}\n{\"item\":\"c\"}\n").status,
            200);
  ASSERT_TRUE(becomes(mail_, "failed", "3"));
  EXPECT_EQ(field(get_json(mail_), "status"), "failed");
  const boost::json::object failed = get_json(mail_ + "/items/a");
  EXPECT_EQ(field(failed, "status"), "failed");
  EXPECT_THAT(field(failed, "error_messages"), HasSubstr("not today"));
  EXPECT_THAT(get(mail_ + "/items?status=failed&limit=2").body, HasSubstr(R"("next":"b")"));
  healthy = true;
  EXPECT_EQ(post(mail_ + "/requeue", R"({"item":"none"})").status, 404);
  EXPECT_EQ(post(mail_ + "/requeue", R"({"itm":"a"})").status, 400);
  EXPECT_EQ(post(mail_ + "/requeue", "", {{"If-Match", "0"}}).status, 412);
  EXPECT_EQ(post(mail_ + "/requeue", R"({"item":"a"})").body, R"({"requeued":1})");
  EXPECT_EQ(post(mail_ + "/requeue").body, R"({"requeued":2})");
  EXPECT_TRUE(becomes(mail_, "complete", "3"));
  EXPECT_EQ(post(mail_ + "/requeue", R"({"item":"a"})").status, 409) << "it has not failed";
}

TEST_P(PartitionTest, MoreFailedItemsThanAPageHoldsAreRequeuedByOneRequest) {
  std::atomic<bool> healthy = false;
  const support::ScriptedHandler handler([&healthy](const support::HandlerCall&) {
    return healthy ? support::answer(R"({"done":true})")
                   : support::answer(R"({"error":{"message":"no","no_retry":true}})");
  });
  ASSERT_EQ(put(mail_, with_handler(handler, R"(,"concurrency":200)")).status, 201);
  std::string lines;
  for (int i = 0; i < 1100; ++i) lines += fmt::format("{{\"item\":\"i{}\"}}\n", i);
  ASSERT_EQ(post(mail_ + "/items", lines).status, 200);
  ASSERT_TRUE(becomes(mail_, "failed", "1100"));
  healthy = true;
  EXPECT_EQ(post(mail_ + "/requeue").body, R"({"requeued":1100})");
  EXPECT_TRUE(becomes(mail_, "complete", "1100"));
}

TEST_P(PartitionTest, EventsTellWhatHappenedInOrder) {
  const support::ScriptedHandler handler(finish);
  ASSERT_EQ(put(mail_, with_handler(handler, R"(,"auto_close":true)")).status, 201);
  ASSERT_EQ(put(mail_ + "/items/one?gate=3", "x").status, 201);
  ASSERT_EQ(post(mail_ + "/seal").status, 200);
  ASSERT_TRUE(becomes(mail_, "status", "complete"));
  std::string after = "0";
  std::int64_t number = 0;
  std::vector<std::string> kinds;
  while (!after.empty()) {
    const boost::json::object page = get_json(mail_ + "/events?limit=2&after=" + after);
    for (const auto& one : page.at("items").as_array()) {
      const boost::json::object& event = one.as_object();
      EXPECT_EQ(field(event, "number"), std::to_string(++number)) << "no gaps";
      EXPECT_EQ(field(event, "id"), "mail/" + std::to_string(number));
      kinds.push_back(field(event, "kind"));
      if (kinds.back() == "item.complete") {
        EXPECT_EQ(field(event, "item"), "one");
        EXPECT_EQ(field(event, "gate"), "3");
      }
    }
    after = field(page, "next");
  }
  EXPECT_THAT(kinds,
              testing::UnorderedElementsAre("partition.opened", "gate.opened", "partition.sealed",
                                            "item.complete", "partition.closed"));
  EXPECT_EQ(kinds.back(), "partition.closed");
}

TEST_P(PartitionTest, ADeletedPartitionIsGoneWithAllItsItems) {
  std::string lines;
  for (int i = 0; i < 2500; ++i) lines += fmt::format("{{\"item\":\"i{}\"}}\n", i);
  ASSERT_EQ(post(mail_ + "/items", lines).status, 200);
  EXPECT_EQ(field(get_json(mail_), "items"), "2500");
  EXPECT_EQ(field(get_json(mail_), "declared"), "false");
  EXPECT_EQ(remove(mail_, {{"If-Match", "99"}}).status, 412);
  EXPECT_EQ(remove(mail_).status, 204);
  EXPECT_EQ(get(mail_).status, 404);
  EXPECT_EQ(get(mail_ + "/items").status, 404);
  ASSERT_EQ(put(mail_, kNobody).status, 201);
  EXPECT_EQ(field(get_json(mail_ + "/items"), "items"), "[]");
}

TEST_P(PartitionTest, AHandlerThatFailsIsNamedByTheHealthWhichStaysGreen) {
  const support::ScriptedHandler handler([](const support::HandlerCall&) {
    return support::answer(net::text_response(500, "broken"));
  });
  ASSERT_EQ(put(mail_, with_handler(handler, "")).status, 201);
  ASSERT_EQ(put(mail_ + "/items/one", "x").status, 201);
  ASSERT_TRUE(becomes("/healthz", "status", "degraded"));
  const Response health = get("/healthz");
  EXPECT_EQ(health.status, 200);
  EXPECT_THAT(health.body, HasSubstr("\"handler " + handler.address() + "\":"));
  EXPECT_THAT(health.body, HasSubstr("500"));
  EXPECT_THAT(get("/metrics").body, testing::ContainsRegex("quern_engine_taken_total [1-9]"));
}

INSTANTIATE_TEST_SUITE_P(Stores, PartitionTest, testing::Values(Store::Sqlite, Store::Postgres),
                         name_of);

}  // namespace
}  // namespace quern::e2e
