// The addresses of a running server, as a program or a browser meets them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/quern.h"
#include "net/client.h"
#include "net/loop.h"
#include "support/postgres.h"

namespace quern::e2e {
namespace {

using net::Request;
using net::Response;
using testing::HasSubstr;

class HttpTest : public testing::Test {
 protected:
  void SetUp() override { server_ = folder_.serve(&address_); }

  Response fetch(Request request) {
    const auto endpoint = net::Endpoint::parse(address_.substr(std::string("http://").size()));
    net::Client client(loop_, *endpoint, {});
    Result<Response> answer = loop_.run_until(client.fetch(std::move(request), 1 << 20));
    CHECK_OK(answer);
    return *std::move(answer);
  }
  Response get(std::string target, net::Headers headers = {}) {
    Request request = net::get_request(std::move(target));
    for (const net::Header& header : headers) request.headers.set(header.name, header.value);
    return fetch(std::move(request));
  }
  Response post(std::string target, std::string body) {
    return fetch(net::post_request(std::move(target), std::move(body), "application/json"));
  }

  DataFolder folder_;
  std::unique_ptr<support::Program> server_;
  std::string address_;
  net::Loop loop_;
};

TEST_F(HttpTest, HealthNamesItsParts) {
  const Response health = get("/healthz");
  EXPECT_EQ(health.status, 200);
  EXPECT_EQ(health.body, R"({"status":"ok","parts":{"store":"ok","space":"ok","engine":"ok"}})");
}

TEST_F(HttpTest, MetricsCountWhatHappened) {
  ASSERT_EQ(post("/api/v1/counters/visits", R"({"key":"a"})").status, 200);
  const Response metrics = get("/metrics");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_THAT(metrics.body, HasSubstr("# TYPE quern_writer_commits_total counter\n"));
  EXPECT_THAT(metrics.body,
              testing::ContainsRegex("quern_writer_operations_total.lane=\"0\". [1-9]"));
  EXPECT_THAT(metrics.body, HasSubstr("# TYPE quern_engine_held gauge\nquern_engine_held 0\n"));
  EXPECT_THAT(metrics.body, HasSubstr("quern_http_requests_total 2\n"));
}

TEST_F(HttpTest, AnAdditionWithTheSameKeyIsMadeOnce) {
  EXPECT_EQ(post("/api/v1/counters/visits", R"({"amount":2,"key":"a"})").body,
            R"({"counter":"visits","value":2,"repeated":false})");
  EXPECT_EQ(post("/api/v1/counters/visits", R"({"amount":2,"key":"a"})").body,
            R"({"counter":"visits","value":2,"repeated":true})");
  EXPECT_EQ(post("/api/v1/counters/visits", R"({"amount":3,"key":"a"})").status, 409);
  Request request = net::post_request("/api/v1/counters/visits", "", "application/json");
  request.headers.set("Idempotency-Key", "b");
  EXPECT_EQ(fetch(std::move(request)).body, R"({"counter":"visits","value":3,"repeated":false})");
}

TEST_F(HttpTest, BadRequestsGetAProblemThatSaysWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"/api/v1/counters/visits", "not json"},
      {"/api/v1/counters/visits", "[]"},
      {"/api/v1/counters/visits", "{}"},
      {"/api/v1/counters/visits", R"({"key":1})"},
      {"/api/v1/counters/visits", R"({"key":"a","amount":0.5})"},
      {"/api/v1/counters/visits", R"({"key":"a","other":1})"},
      {"/api/v1/counters/visits", R"({"key":"a\u0000b"})"},
      {"/api/v1/counters/vi%20sits", R"({"key":"a"})"},
  };
  for (const auto& [target, body] : wrong) {
    const Response answer = post(target, body);
    EXPECT_EQ(answer.status, 400) << target << " " << body;
    EXPECT_EQ(*answer.headers.find("Content-Type"), "application/problem+json");
    EXPECT_THAT(answer.body, HasSubstr("\"detail\":"));
  }
  EXPECT_EQ(post("/api/v1/counters/a", R"({"key":"a","amount":9999999999999})").status, 413);
  EXPECT_EQ(post("/api/v1/counters/a", std::string(70'000, ' ')).status, 413);
  EXPECT_EQ(get("/api/v1/counters/none").status, 404);
  EXPECT_EQ(get("/nowhere").status, 404);
  EXPECT_EQ(get("/api/v1/counters/%ZZ").status, 400);
  EXPECT_THAT(get("/api/v1/counters").body, HasSubstr("\"items\":[]")) << "nothing was counted";
}

TEST_F(HttpTest, AnAddressSaysWhichMethodsItTakes) {
  Request request = net::get_request("/api/v1/counters/visits");
  request.method = net::Method::Delete;
  const Response answer = fetch(std::move(request));
  EXPECT_EQ(answer.status, 405);
  EXPECT_EQ(*answer.headers.find("Allow"), "GET, POST");
}

TEST_F(HttpTest, ListsGoOnWhereThePageEnded) {
  for (int i = 0; i < 205; ++i) {
    ASSERT_EQ(post(fmt::format("/api/v1/counters/c{:03}", i), R"({"key":"a"})").status, 200);
  }
  const Response first = get("/api/v1/counters");
  EXPECT_THAT(first.body, HasSubstr(R"("next":"c199")"));
  const Response second = get("/api/v1/counters?after=c199");
  EXPECT_THAT(second.body, HasSubstr(R"("counter":"c200")"));
  EXPECT_THAT(second.body, testing::Not(HasSubstr("next")));
}

TEST_F(HttpTest, ASnapshotIsServedWithRanges) {
  ASSERT_EQ(get("/api/v1/counters/visits/snapshot").status, 404);
  ASSERT_EQ(post("/api/v1/counters/visits", R"({"amount":42,"key":"a"})").status, 200);
  EXPECT_EQ(get("/api/v1/counters/visits/snapshot").status, 404) << "none was taken yet";
  ASSERT_EQ(post("/api/v1/counters/visits/snapshot", "").status, 200);
  EXPECT_EQ(get("/api/v1/counters/visits/snapshot").body,
            "{\"counter\":\"visits\",\"value\":42}\n");
  const Response part = get("/api/v1/counters/visits/snapshot", {{"Range", "bytes=2-8"}});
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, "counter");
  EXPECT_EQ(get("/api/v1/counters/visits/snapshot", {{"Range", "bytes=900-"}}).status, 416);
}

TEST_F(HttpTest, PagesOfOtherSitesCannotUseIt) {
  EXPECT_EQ(get("/healthz", {{"Host", "evil.example"}}).status, 403) << "DNS rebinding";
  EXPECT_EQ(get("/healthz", {{"Host", "evil.example:80"}}).status, 403);
  EXPECT_EQ(get("/healthz", {{"Origin", "http://evil.example"}}).status, 403);
  EXPECT_EQ(get("/healthz", {{"Origin", "null"}}).status, 403);
  const std::string host = address_.substr(std::string("http://").size());
  EXPECT_EQ(get("/healthz", {{"Origin", "http://" + host}}).status, 200);
  EXPECT_EQ(get("/healthz", {{"Host", "localhost"}}).status, 200);
  EXPECT_EQ(get("/healthz", {{"Host", "[::1]:1234"}}).status, 200);
}

TEST_F(HttpTest, TheDescriptionListsEveryAddress) {
  const Response description = get("/api/v1/openapi.json");
  EXPECT_EQ(description.status, 200);
  for (const char* address :
       {"/healthz", "/metrics", "/api/v1/counters/{name}/snapshot", "/api/v1/check",
        "/api/v1/partitions/{partition}/items/{item}/data", "/api/v1/openapi.json"}) {
    EXPECT_THAT(description.body, HasSubstr("\"" + std::string(address) + "\""));
  }
}

net::Task<int> pause(net::Loop* loop) {
  co_await loop->sleep_until(net::in_ms(20));
  co_return 0;
}

TEST(HealthTest, IsRedAndNamesTheStoreWhileTheDatabaseIsAway) {
  support::Postgres postgres;
  const DataFolder folder(postgres.create_database());
  std::string address;
  const auto server = folder.serve(&address);
  net::Loop loop;
  net::Client client(loop, *net::Endpoint::parse(address.substr(7)), {});
  const auto health = [&] {
    return loop.run_until(client.fetch(net::get_request("/healthz"), 4096));
  };
  EXPECT_EQ(health()->status, 200);
  postgres.stop();
  const Result<Response> red = health();
  ASSERT_TRUE(red.ok());
  EXPECT_EQ(red->status, 503);
  EXPECT_THAT(red->body, HasSubstr(R"("status":"red")"));
  EXPECT_THAT(red->body, testing::Not(HasSubstr(R"("store":"ok")")));
  EXPECT_FALSE(server->has_ended());
  // A write makes the writer notice too. It waits in vain, and its client gives up.
  Request write = net::post_request("/api/v1/counters/a", R"({"key":"k"})", "application/json");
  write.first_byte_ms = 200;
  EXPECT_EQ(loop.run_until(client.fetch(std::move(write), 4096)).error().kind(), Errc::Timeout);
  postgres.start();
  // Without another write, health comes back, and what waited takes effect: it was only late. These
  // waits are bounded by the test's own.
  while (health()->status != 200) loop.run_until(pause(&loop));
  const auto counters = [&] {
    return loop.run_until(client.fetch(net::get_request("/api/v1/counters"), 4096))->body;
  };
  while (counters().find(R"("counter":"a","value":1)") == std::string::npos) {
    loop.run_until(pause(&loop));
  }
}

}  // namespace
}  // namespace quern::e2e
