// Servers at work that are killed, stopped, or lose their database.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "e2e/http_fixture.h"
#include "support/scripted_handler.h"
#include "support/tcp_proxy.h"

namespace quern::e2e {
namespace {

using support::answer;
using support::HandlerCall;
using support::HandlerReply;
using support::held;
using support::Output;
using support::Program;
using support::ScriptedHandler;
using testing::HasSubstr;

constexpr char kScan[] = "100";      // milliseconds
constexpr char kShortLease[] = "2";  // seconds
constexpr char kEndless[] = "3600";  // a lease that no test sees the end of
// The row says 30 s. What matters is that it is longer than the lease; ten seconds would tell no
// more than these.
constexpr std::chrono::seconds kOutage{6};
// Generous upper bounds, which mean "hung".
constexpr std::chrono::seconds kHealthLimit{10};
constexpr std::chrono::seconds kTakeoverLimit{20};

HandlerReply done() {
  return answer(R"({"done":true})");
}
// Holds the first calls of all items until the test lets them go.
HandlerReply hold_first(const HandlerCall& call) {
  return call.number == 1 ? held(done()) : done();
}

class EngineProcessTest : public ServedTest {
 protected:
  void SetUp() override {}  // each test starts its servers by itself

  std::unique_ptr<Program> serve(const DataFolder& folder, const char* lease,
                                 std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"serve",   "--listen", "127.0.0.1:0", "--scan", kScan,
                                          "--lease", lease,      "--log-level", "info"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    auto program = folder.start(arguments);
    const auto line = program->wait_for_line(Output::Standard, "http://");
    CHECK_OK(line);
    address_ = line->substr(line->find("http://"));  // requests go to the last one
    return program;
  }
  // Of the store that this test runs on.
  std::string database() const {
    for (const auto& [name, value] : folder_.options({}).environment) {
      if (name == "QUERN_DB") return value.value_or("");
    }
    return "";
  }
  void put_items(const ScriptedHandler& handler, int items, int concurrency) {
    const std::string fields =
        fmt::format(R"({{"handler":"{}","concurrency":{},"backoff_ms":20,"backoff_max_ms":20}})",
                    handler.address(), concurrency);
    ASSERT_EQ(put(work_, fields).status, 201);
    std::string lines;
    for (int i = 0; i < items; ++i) lines += fmt::format("{{\"item\":\"i{}\"}}\n", i);
    ASSERT_EQ(post(work_ + "/items", lines).status, 200);
  }
  std::string of_item(int number, std::string_view name) {
    return field(get_json(fmt::format("{}/items/i{}", work_, number)), name);
  }
  bool all_complete(int items) { return becomes(work_, "complete", std::to_string(items)); }
  std::int64_t metric(const std::string& name) {
    const std::string text = get("/metrics").body;
    const std::size_t at = text.find("\n" + name + " ");
    return at == std::string::npos ? -1
                                   : std::strtoll(text.c_str() + at + name.size() + 2, nullptr, 10);
  }
  template <class Condition>
  bool eventually(Condition condition) {
    const auto give_up = std::chrono::steady_clock::now() + support::kProgramPatience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > give_up) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }
  // Events say who wrote: tokens never fall, each item is completed once.
  void expect_sound_events(int items) {
    std::int64_t token = 0;
    std::map<std::string, int> completed;
    const boost::json::object page = get_json(work_ + "/events?limit=1000");
    for (const auto& event : page.at("items").as_array()) {
      EXPECT_GE(event.at("token").as_int64(), token);
      token = event.at("token").as_int64();
      if (event.at("kind").as_string() == "item.complete")
        ++completed[field(event.as_object(), "item")];
    }
    EXPECT_EQ(static_cast<int>(completed.size()), items);
    for (const auto& [name, times] : completed) EXPECT_EQ(times, 1) << name;
  }

  const std::string work_ = "/api/v1/partitions/work";
};

class EngineOnPostgresTest : public EngineProcessTest {};

// Two of five items are under way when their owner dies: they are interrupted, and done again.
TEST_P(EngineOnPostgresTest, C7_AfterAKillAnotherServerGoesOnWhenTheLeaseIsOver) {
  ScriptedHandler handler(hold_first);
  const DataFolder other_folder(database());
  const auto owner = serve(folder_, kShortLease);
  put_items(handler, 5, /*concurrency=*/2);
  ASSERT_TRUE(handler.wait_for_calls(2));
  const auto other = serve(other_folder, kShortLease);
  const std::string owned_by = field(get_json(work_), "owner");
  owner->kill();
  const auto killed = std::chrono::steady_clock::now();
  ASSERT_TRUE(handler.wait_for_calls("i0", 2));
  EXPECT_LT(std::chrono::steady_clock::now() - killed, kTakeoverLimit);
  EXPECT_NE(field(get_json(work_), "owner"), owned_by);
  handler.release();
  ASSERT_TRUE(eventually([&] {
    handler.release();
    return field(get_json(work_), "complete") == "5";
  }));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(of_item(i, "interruptions"), i < 2 ? "1" : "0") << i;
    EXPECT_EQ(of_item(i, "calls"), i < 2 ? "2" : "1") << i;
    EXPECT_EQ(of_item(i, "retry_count"), "0") << "a death is no failed attempt";
  }
  expect_sound_events(5);
}

// With a folder's lock in hand the former owner is known to be dead, however long its lease; a
// server on PostgreSQL waits for that to end.
TEST_P(EngineProcessTest, C7_AServerThatIsStartedAgainAfterAKillGoesOn) {
  const char* lease = GetParam() == Store::Sqlite ? kEndless : kShortLease;
  ScriptedHandler handler(hold_first);
  auto owner = serve(folder_, lease);
  put_items(handler, 3, /*concurrency=*/1);
  ASSERT_TRUE(handler.wait_for_calls(1));
  owner->kill();
  owner = serve(folder_, lease);
  ASSERT_TRUE(eventually([&] {
    handler.release();
    return field(get_json(work_), "complete") == "3";
  }));
  EXPECT_EQ(of_item(0, "interruptions"), "1");
  EXPECT_EQ(of_item(0, "calls"), "2");
  EXPECT_EQ(of_item(1, "calls"), "1");
  expect_sound_events(3);
}

TEST_P(EngineProcessTest, C8_AStopWaitsForTheCallSavesItsResultAndGivesEverythingBack) {
  ScriptedHandler handler(hold_first);
  auto owner = serve(folder_, kEndless, {"--grace", "60"});
  put_items(handler, 2, /*concurrency=*/1);
  ASSERT_TRUE(handler.wait_for_calls(1));
  ASSERT_TRUE(owner->signal(SIGTERM).ok());
  ASSERT_TRUE(owner->wait_for_line(Output::Error, "serve.stopping").ok());
  EXPECT_FALSE(owner->has_ended()) << "it waits for the call";
  handler.release();
  EXPECT_TRUE(owner->wait()->exited_with(0)) << owner->text(Output::Error);
  EXPECT_EQ(handler.calls(), 1) << "nothing more is taken";
  if (GetParam() == Store::Postgres) {
    EXPECT_EQ(support::Postgres::shared().run_sql(
                  database(), "SELECT count(*) FROM partition WHERE owner IS NOT NULL"),
              "0");
    EXPECT_EQ(support::Postgres::shared().run_sql(database(), "SELECT count(*) FROM owner"), "0");
  }
  // Another machine's, where there can be one.
  const DataFolder elsewhere(database());
  owner = serve(GetParam() == Store::Postgres ? elsewhere : folder_, kEndless);
  ASSERT_TRUE(eventually([&] {
    handler.release();
    return field(get_json(work_), "complete") == "2";
  }));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(of_item(i, "calls"), "1") << i;
    EXPECT_EQ(of_item(i, "interruptions"), "0") << i;
  }
}

TEST_P(EngineProcessTest, C8_ACallThatOutlastsTheGracePeriodIsInterruptedAndMadeAgain) {
  ScriptedHandler handler(hold_first);
  auto owner = serve(folder_, kEndless, {"--grace", "1"});
  put_items(handler, 1, /*concurrency=*/1);
  ASSERT_TRUE(handler.wait_for_calls(1));
  ASSERT_TRUE(owner->signal(SIGTERM).ok());
  EXPECT_TRUE(owner->wait()->exited_with(0)) << owner->text(Output::Error);
  owner = serve(folder_, kEndless);
  ASSERT_TRUE(all_complete(1));
  EXPECT_EQ(of_item(0, "calls"), "2");
  EXPECT_EQ(of_item(0, "interruptions"), "1");
}

INSTANTIATE_TEST_SUITE_P(Stores, EngineProcessTest, testing::Values(Store::Sqlite, Store::Postgres),
                         name_of);

// Nobody else was there to take over: the results that came meanwhile count.
TEST_P(EngineOnPostgresTest, C23_ResultsThatCameWhileTheDatabaseWasAwayAreStoredAfterwards) {
  support::Postgres postgres;
  ScriptedHandler handler(hold_first);
  const DataFolder folder(postgres.create_database());
  const auto owner = serve(folder, kShortLease);
  put_items(handler, 5, /*concurrency=*/3);
  ASSERT_TRUE(handler.wait_for_calls(3));
  postgres.stop();
  handler.release();
  std::this_thread::sleep_for(kOutage);
  EXPECT_FALSE(owner->has_ended()) << owner->text(Output::Error);
  EXPECT_EQ(handler.calls(), 3) << "nothing is begun that cannot be stored";
  postgres.start();
  ASSERT_TRUE(eventually([&] {
    handler.release();
    const net::Response answer = get(work_);
    return answer.status == 200 && answer.body.find(R"("complete":5)") != std::string::npos;
  })) << owner->text(Output::Error);
  EXPECT_EQ(handler.calls(), 5) << "none was called twice";
  for (int i = 0; i < 5; ++i) EXPECT_EQ(of_item(i, "interruptions"), "0") << i;
  expect_sound_events(5);
}

// Only this server has lost the database; another one takes over meanwhile. What the first one
// brings back is too late.
TEST_P(EngineOnPostgresTest, C23_LeasesAreValidatedAgainBeforeAnythingIsWritten) {
  support::TcpProxy proxy(support::Postgres::shared());
  ScriptedHandler handler(hold_first);
  const DataFolder cut_off_folder(proxy.url(database()));
  const auto cut_off = serve(cut_off_folder, kShortLease);
  const std::string cut_off_address = address_;
  put_items(handler, 3, /*concurrency=*/3);
  ASSERT_TRUE(handler.wait_for_calls(3));
  proxy.stall();
  handler.release();  // its results cannot be stored
  const auto other = serve(folder_, kShortLease);
  ASSERT_TRUE(all_complete(3));
  const std::string before = get(work_ + "/items").body + get(work_ + "/events").body;
  proxy.resume();
  address_ = cut_off_address;
  EXPECT_TRUE(eventually([&] { return metric("quern_engine_lost_total") >= 1; }))
      << cut_off->text(Output::Error);
  EXPECT_TRUE(eventually([&] { return get("/healthz").status == 200; }));
  EXPECT_EQ(get(work_ + "/items").body + get(work_ + "/events").body, before);
  EXPECT_EQ(handler.calls(), 6) << "each was called by both";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(of_item(i, "interruptions"), "1") << i;
  expect_sound_events(3);
}

TEST_P(EngineOnPostgresTest, C24_HealthIsRedAndNamesTheStoreWhileTheDatabaseIsDown) {
  support::Postgres postgres;
  support::TcpProxy proxy(postgres);
  const DataFolder folder(proxy.url(postgres.create_database()));
  const auto owner = serve(folder, kShortLease);
  EXPECT_TRUE(eventually([&] { return get("/healthz").status == 200; }));
  const auto expect_red = [&](const char* how) {
    const auto begin = std::chrono::steady_clock::now();
    const net::Response health = get("/healthz");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, kHealthLimit) << how;
    EXPECT_EQ(health.status, 503) << how << ": " << health.body;
    EXPECT_THAT(health.body, HasSubstr(R"("status":"red")")) << how;
    EXPECT_EQ(health.body.find(R"("store":"ok")"), std::string::npos) << how << health.body;
  };
  proxy.stall();
  expect_red("it hangs");
  proxy.resume();
  EXPECT_TRUE(eventually([&] { return get("/healthz").status == 200; }));
  postgres.stop();
  expect_red("it refuses");
  postgres.start();
  EXPECT_TRUE(eventually([&] { return get("/healthz").status == 200; }));
}

INSTANTIATE_TEST_SUITE_P(Stores, EngineOnPostgresTest, testing::Values(Store::Postgres), name_of);

TEST_P(EngineProcessTest, C24_AHandlerThatFailsOrIsAwayIsNamedAndQuernItselfIsWell) {
  ScriptedHandler failing([](const HandlerCall&) { return answer(net::text_response(500, "no")); });
  ScriptedHandler away([](const HandlerCall&) { return done(); });
  away.stop();
  const auto owner = serve(folder_, kShortLease);
  EXPECT_THAT(get("/healthz").body, HasSubstr(R"("status":"ok")"));
  const std::vector<std::pair<std::string, std::string>> partitions = {
      {"/api/v1/partitions/failing", failing.address()},
      {"/api/v1/partitions/away", away.address()}};
  for (const auto& [partition, handler] : partitions) {
    ASSERT_EQ(put(partition, fmt::format(R"({{"handler":"{}"}})", handler)).status, 201);
    ASSERT_EQ(put(partition + "/items/one", "x").status, 201);
    EXPECT_TRUE(eventually([&] {
      return get("/healthz").body.find("handler " + handler) != std::string::npos;
    })) << partition;
  }
  const auto begin = std::chrono::steady_clock::now();
  const net::Response health = get("/healthz");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kHealthLimit);
  EXPECT_EQ(health.status, 200) << health.body;
  EXPECT_THAT(health.body, HasSubstr(R"("status":"degraded")"));
  EXPECT_THAT(health.body, HasSubstr("handler " + failing.address()));
  EXPECT_THAT(health.body, HasSubstr("500"));
  EXPECT_THAT(health.body, HasSubstr("handler " + away.address()));
}

}  // namespace
}  // namespace quern::e2e
