// The named queues, timers and limits of a real server, over HTTP, on every store; and what becomes
// of a timer whose server is killed.
#include "e2e/http_fixture.h"
#include "io/clock.h"

namespace quern::e2e {
namespace {

namespace json = boost::json;

std::string pack_full(const std::string& site) {
  return R"({"type":"pack_full","site":")" + site + "\"}";
}
std::string start_timer(const std::string& site, const std::string& seconds) {
  return R"({"type":"start_timer","site":")" + site + R"(","timeout":)" + seconds +
         R"(,"callback_queue":"PACK","callback_msg":)" + pack_full(site) + "}";
}

class QueuesTest : public ServedTest {
 protected:
  // The bodies of a queue's messages, sorted.
  std::vector<std::string> bodies(const std::string& queue) {
    std::vector<std::string> bodies;
    const json::object page = get_json("/api/v1/queues/" + queue + "/messages");
    for (const json::value& item : page.at("items").as_array()) {
      bodies.push_back(json::serialize(item.as_object().at("body")));
    }
    std::sort(bodies.begin(), bodies.end());
    return bodies;
  }
  template <class Condition>
  static bool eventually(Condition condition) {
    const auto give_up = std::chrono::steady_clock::now() + support::kProgramPatience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > give_up) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }
  // A new server in place of the old one, which is soon known to be dead.
  void serve_again(support::Environment environment) {
    server_->kill();
    environment.emplace_back("QUERN_LEASE", "2");
    server_ = folder_.start({"serve", "--listen", "127.0.0.1:0"}, std::move(environment));
    const auto line = server_->wait_for_line(support::Output::Standard, "http://");
    ASSERT_TRUE(line.ok()) << line.error().message();
    address_ = line->substr(line->find("http://"));
  }
  bool has_timer(const std::string& key) { return get("/api/v1/timers/" + key).status == 200; }
};

TEST_P(QueuesTest, AMessageIsPostedOncePerKeyAndCanBeSeen) {
  const std::string at = "/api/v1/queues/HEAD/messages";
  const std::string body = R"({"type":"index+crawl","site":"a.org"})";
  const net::Headers key{{"Idempotency-Key", "one"}};
  const net::Response first = post(at, body, key);
  EXPECT_EQ(first.status, 202) << first.body;
  EXPECT_EQ(first.body, R"({"queue":"INDEX","message":"one","repeated":false})");
  EXPECT_EQ(post(at, body, key).body, R"({"queue":"INDEX","message":"one","repeated":true})");
  EXPECT_EQ(post(at, R"({"type":"index","site":"a.org"})", key).status, 409);
  EXPECT_EQ(post(at, body).status, 202);
  EXPECT_EQ(bodies("INDEX"), (std::vector<std::string>{body, body}));
  const json::object page = get_json("/api/v1/queues/INDEX/messages?limit=1");
  EXPECT_EQ(page.at("items").as_array().size(), 1U);
  const std::string next(page.at("next").as_string());
  EXPECT_EQ(get_json("/api/v1/queues/INDEX/messages?after=" + next).at("items").as_array().size(),
            1U);
  EXPECT_TRUE(get_json("/api/v1/queues/CRAWL/messages").at("items").as_array().empty());
}

TEST_P(QueuesTest, WhatIsNoMessageIsRefused) {
  const std::string index = R"({"type":"index","site":"a.org"})";
  EXPECT_EQ(post("/api/v1/queues/NOWHERE/messages", index).status, 404);
  EXPECT_EQ(get("/api/v1/queues/NOWHERE/messages").status, 404);
  EXPECT_EQ(post("/api/v1/queues/CRAWL/messages", index).status, 400);
  EXPECT_EQ(post("/api/v1/queues/INDEX/messages", R"({"type":"index"})").status, 400);
  EXPECT_EQ(post("/api/v1/queues/INDEX/messages", "").status, 400);
  EXPECT_EQ(post("/api/v1/queues/INDEX/messages", std::string(70'000, ' ')).status, 413);
  EXPECT_EQ(post("/api/v1/queues/INDEX/messages", index, {{"Idempotency-Key", "timer:a:1"}}).status,
            400);
  EXPECT_EQ(get("/api/v1/queues/INDEX/messages?status=odd").status, 400);
  EXPECT_EQ(get("/api/v1/queues/INDEX/messages?statsu=failed").status, 400);
  EXPECT_TRUE(bodies("INDEX").empty());
}

TEST_P(QueuesTest, ATimerThatAMessageStartedPostsItsCallback) {
  EXPECT_EQ(get("/api/v1/timers/slow.org").status, 404);
  ASSERT_EQ(post("/api/v1/queues/TIMER/messages", start_timer("slow.org", "3600")).status, 202);
  ASSERT_TRUE(eventually([&] { return has_timer("slow.org"); }));
  const json::object timer = get_json("/api/v1/timers/slow.org");
  EXPECT_EQ(timer.at("timeout"), 3600);
  EXPECT_EQ(timer.at("callback_queue"), "PACK");
  EXPECT_EQ(json::serialize(timer.at("callback_msg")), pack_full("slow.org"));
  ASSERT_EQ(post("/api/v1/queues/TIMER/messages", start_timer("quick.org", "0.05")).status, 202);
  ASSERT_TRUE(eventually([&] { return !bodies("PACK").empty(); }));
  EXPECT_EQ(bodies("PACK"), std::vector<std::string>{pack_full("quick.org")});
  const json::array timers = get_json("/api/v1/timers").at("items").as_array();
  ASSERT_EQ(timers.size(), 1U);
  EXPECT_EQ(timers[0].at("timer"), "slow.org");
  EXPECT_TRUE(get_json("/api/v1/timers?after=slow.org").at("items").as_array().empty());
}

TEST_P(QueuesTest, A5_ATimerWhoseServerWasKilledFiresOnceAtTheRestart) {
  const std::int64_t due_us = io::system_clock().now_us() + 4'000'000;  // or a little later
  ASSERT_EQ(post("/api/v1/queues/TIMER/messages", start_timer("a.org", "4")).status, 202);
  ASSERT_TRUE(eventually([&] { return has_timer("a.org"); }));
  server_->kill();
  const std::int64_t killed_us = io::system_clock().now_us();
  ASSERT_LT(killed_us, due_us) << "this machine is too slow to tell anything";
  // The deadline passes while nobody runs.
  ASSERT_TRUE(eventually([&] { return io::system_clock().now_us() > killed_us + 4'000'000; }));
  server_ = folder_.serve(&address_);
  ASSERT_TRUE(eventually([&] { return !bodies("PACK").empty(); }));
  EXPECT_EQ(bodies("PACK"), std::vector<std::string>{pack_full("a.org")});
  EXPECT_FALSE(has_timer("a.org"));
}

TEST_P(QueuesTest, A6_ACrashBetweenTakingTheTimerAndPostingItsCallbackPostsItOnce) {
  for (const char* point : {"queue.timer.fired", "queue.put.inserted:2"}) {
    const std::string site = std::string(point) + ".org";
    ASSERT_NO_FATAL_FAILURE(serve_again({{"QUERN_CRASH", std::string("point:") + point}}));
    ASSERT_EQ(post("/api/v1/queues/TIMER/messages", start_timer(site, "0.05")).status, 202);
    const auto ended = server_->wait();
    ASSERT_TRUE(ended.ok()) << "it was to die at " << point;
    ASSERT_TRUE(ended->killed_by(SIGKILL)) << ended->text();
    const std::size_t before = point == std::string("queue.timer.fired") ? 0 : 1;
    ASSERT_NO_FATAL_FAILURE(serve_again({}));
    ASSERT_TRUE(eventually([&] { return bodies("PACK").size() > before; })) << point;
    ASSERT_TRUE(eventually([&] { return !has_timer(site); }));
    EXPECT_EQ(bodies("PACK").size(), before + 1) << point;
  }
}

TEST_P(QueuesTest, LimitsAreMadeChangedAndTakenAway) {
  const std::string at = "/api/v1/limits/a.org";
  EXPECT_EQ(get(at).status, 404);
  const net::Response made =
      put(at, R"({"concurrency":2,"gap_ms":1500})", {{"If-None-Match", "*"}});
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.body, R"({"limit":"a.org","version":1,"concurrency":2,"gap_ms":1500})");
  EXPECT_EQ(etag(made), "\"1\"");
  EXPECT_EQ(put(at, "{}", {{"If-None-Match", "*"}}).status, 412);
  EXPECT_EQ(put(at, R"({"gap_ms":7})", {{"If-Match", "\"1\""}}).status, 200);
  EXPECT_EQ(put(at, R"({"gap_ms":8})", {{"If-Match", "\"1\""}}).status, 412);
  EXPECT_EQ(get(at).body, R"({"limit":"a.org","version":2,"concurrency":0,"gap_ms":7})");
  for (const char* body : {R"({"gap":1})", R"({"gap_ms":-1})", R"({"gap_ms":86400001})",
                           R"({"concurrency":1001})", R"({"concurrency":"2"})", "[]"}) {
    EXPECT_EQ(put(at, body).status, 400) << body;
  }
  EXPECT_EQ(get_json("/api/v1/limits").at("items").as_array().size(), 1U);
  EXPECT_EQ(remove(at, {{"If-Match", "1"}}).status, 412);
  EXPECT_EQ(remove(at, {{"If-Match", "2"}}).status, 204);
  EXPECT_EQ(remove(at).status, 404);
}

INSTANTIATE_TEST_SUITE_P(Stores, QueuesTest, testing::Values(Store::Sqlite, Store::Postgres),
                         name_of);

}  // namespace
}  // namespace quern::e2e
