#include "fileset/net_outside.h"

#include "support/download_fixture.h"
#include "web/scripted_site.h"

namespace quern::fileset {
namespace {

using Kind = support::Fault::Kind;
using web::FetchProblem;

class NetOutsideTest : public DownloadFixture {
 protected:
  Ask to(const std::string& url) {
    Ask ask;
    ask.url = url;
    return ask;
  }
};

TEST_F(NetOutsideTest, AnAnswerComesWithItsParts) {
  server_.put("/api", {.bytes = "{\"a\": 1}", .content_type = "application/json"});
  Ask question = to(server_.url("/api"));
  question.headers = {{"Accept", "application/json"}};
  const Answer answer = ask(question);
  EXPECT_EQ(answer.problem, FetchProblem::None) << answer.message;
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "{\"a\": 1}");
  EXPECT_EQ(answer.url, server_.url("/api"));
  EXPECT_EQ(answer.tries, 1);
  EXPECT_EQ(answer.address, "127.0.0.1");
  EXPECT_EQ(web::find_header(answer.headers, "Content-Type"), "application/json");
  EXPECT_EQ(answer.last.raw.whole(100).value(), answer.body);
  EXPECT_EQ(server_.requests()[0].header("Accept"), "application/json");
}

TEST_F(NetOutsideTest, WhatMayPassIsAskedAgain) {
  server_.put("/api", {.bytes = "fine"});
  server_.add_fault("/api", {.kind = Kind::Status, .nth = 1, .status = 503});
  server_.add_fault(
      "/api", {.kind = Kind::Status, .nth = 2, .status = 429, .headers = {{"Retry-After", "1"}}});
  server_.add_fault("/api", {.kind = Kind::Reset, .nth = 3, .after = 2});
  const Answer answer = ask(to(server_.url("/api")));
  EXPECT_EQ(answer.body, "fine") << answer.message;
  EXPECT_EQ(answer.tries, 4);
}

TEST_F(NetOutsideTest, AnAllowanceThatIsUsedUpIsWaitedFor) {
  server_.put("/api", {.bytes = "fine"});
  server_.add_fault("/api",
                    {.kind = Kind::Status,
                     .status = 403,
                     .headers = {{"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", "1"}}});
  EXPECT_EQ(ask(to(server_.url("/api"))).body, "fine");
  server_.put("/denied", {});
  server_.add_fault("/denied", {.kind = Kind::Status, .times = 100, .status = 403});
  EXPECT_EQ(ask(to(server_.url("/denied"))).tries, 1);
}

TEST_F(NetOutsideTest, TriesHaveAnEnd) {
  server_.put("/api", {});
  server_.add_fault("/api", {.kind = Kind::Status, .times = 100, .status = 504});
  Ask question = to(server_.url("/api"));
  question.tries = 3;
  const Answer answer = ask(question);
  EXPECT_EQ(answer.status, 504);
  EXPECT_EQ(answer.problem, FetchProblem::None);
  EXPECT_EQ(answer.tries, 3);
  EXPECT_EQ(server_.requests().size(), 3U);
}

TEST_F(NetOutsideTest, WhatDoesNotPassIsAskedOnce) {
  EXPECT_EQ(ask(to(server_.url("/nothing"))).status, 404);
  EXPECT_EQ(server_.requests().size(), 1U);
  EXPECT_EQ(ask(to("no address")).problem, FetchProblem::Address);
  EXPECT_EQ(ask(to("ftp://a/")).problem, FetchProblem::Address);
  EXPECT_EQ(ask(to("http://127.0.0.2/")).problem, FetchProblem::Address);
}

TEST_F(NetOutsideTest, AWaitBeyondOurPatienceIsToldAtOnce) {
  server_.put("/api", {});
  server_.add_fault(
      "/api",
      {.kind = Kind::Status, .times = 100, .status = 429, .headers = {{"Retry-After", "3600"}}});
  EXPECT_EQ(ask(to(server_.url("/api"))).status, 429);
  const Answer next = ask(to(server_.url("/api")));
  EXPECT_EQ(next.problem, FetchProblem::Timeout);
  EXPECT_NE(next.message.find("left alone"), std::string::npos) << next.message;
  EXPECT_EQ(server_.requests().size(), 1U);
}

TEST_F(NetOutsideTest, RedirectsAreFollowedUnlessToldOtherwise) {
  server_.put("/from", {});
  server_.add_fault(
      "/from",
      {.kind = Kind::Status, .times = 100, .status = 302, .headers = {{"Location", "a?b"}}});
  server_.put("/a?b", {.bytes = "there"});
  const Answer answer = ask(to(server_.url("/from")));
  EXPECT_EQ(answer.body, "there");
  EXPECT_EQ(answer.url, server_.url("/a?b"));
  Ask seeing = to(server_.url("/from"));
  seeing.follow = false;
  const Answer seen = ask(seeing);
  EXPECT_EQ(seen.status, 302);
  EXPECT_EQ(web::find_header(seen.headers, "Location"), "a?b");
}

TEST_F(NetOutsideTest, RedirectsHaveAnEnd) {
  server_.put("/loop", {});
  server_.add_fault(
      "/loop",
      {.kind = Kind::Status, .times = 100, .status = 301, .headers = {{"Location", "/loop"}}});
  const Answer answer = ask(to(server_.url("/loop")));
  EXPECT_EQ(answer.problem, FetchProblem::TooLarge);
  EXPECT_EQ(server_.requests().size(), static_cast<std::size_t>(kHopsMax) + 1);
  server_.put("/out", {});
  server_.add_fault(
      "/out",
      {.kind = Kind::Status, .status = 301, .headers = {{"Location", "file:///etc/passwd"}}});
  EXPECT_EQ(ask(to(server_.url("/out"))).problem, FetchProblem::Address);
}

TEST_F(NetOutsideTest, SecretsGoToTheFirstOriginOnly) {
  support::FaultyFiles other;
  other.put("/b", {.bytes = "b"});
  for (const bool away : {false, true}) {
    server_.put("/b", {.bytes = "b"});
    server_.put("/from", {});
    server_.forget_requests();
    server_.clear_faults();
    const std::string target = away ? other.url("/b") : server_.url("/b");
    server_.add_fault(
        "/from",
        {.kind = Kind::Status, .times = 100, .status = 307, .headers = {{"Location", target}}});
    Ask question = to(server_.url("/from"));
    question.headers = {{"Authorization", "LOW key:secret"}, {"X-Own", "1"}, {"Accept", "a/b"}};
    const Answer answer = ask(question);
    EXPECT_EQ(answer.body, "b");
    EXPECT_EQ(server_.requests()[0].header("Authorization"), "LOW key:secret");
    const auto last = away ? other.requests()[0] : server_.requests()[1];
    EXPECT_EQ(last.header("Authorization"), away ? "" : "LOW key:secret");
    EXPECT_EQ(last.header("X-Own"), away ? "" : "1");
    EXPECT_EQ(last.header("Accept"), "a/b");
    EXPECT_EQ(answer.request_head.find("secret"), std::string::npos) << "nobody reads it there";
    EXPECT_EQ(answer.last.request_head.find("secret"), std::string::npos);
  }
}

TEST_F(NetOutsideTest, ABodyBeyondItsLimitIsTooLarge) {
  Ask question = to(server_.url("/a"));
  question.bytes_max = 1000;
  const Answer answer = ask(question);
  EXPECT_EQ(answer.problem, FetchProblem::TooLarge);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.tries, 1);
}

TEST_F(NetOutsideTest, AFileIsPut) {
  const std::string bytes(300'000, 'x');
  std::promise<std::string> seen;
  web::ScriptedSite site([&](net::RawPeer& peer) {
    (void)peer.read_until("\r\n\r\n");
    seen.set_value(peer.read_bytes(bytes.size()));
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  });
  Ask question = to(site.url("/item/a"));
  question.method = "PUT";
  question.file = folder_ / "upload";
  EXPECT_EQ(ask(question).problem, FetchProblem::Internal) << "there is no such file";
  ASSERT_TRUE(io::write_file_durably(question.file, bytes).ok());
  const Answer answer = ask(question);
  EXPECT_EQ(answer.status, 200) << answer.message;
  EXPECT_TRUE(seen.get_future().get() == bytes);
}

TEST_F(NetOutsideTest, AMirrorAnswersForItsOriginal) {
  options_.bases = {{"https://api.example.org/v2", server_.url("/mirror")},
                    {"https://files.example.org", server_.url("")}};
  open();
  server_.put("/mirror/articles", {});
  server_.add_fault("/mirror/articles",
                    {.kind = Kind::Status, .status = 302, .headers = {{"Location", "/v2/other"}}});
  server_.put("/mirror/other", {.bytes = "other"});
  const Answer answer = ask(to("https://api.example.org/v2/articles"));
  EXPECT_EQ(answer.body, "other") << answer.message;
  EXPECT_EQ(answer.url, "https://api.example.org/v2/other");
  DownloadOrder asked = order();
  asked.url = "https://files.example.org/a";
  const Downloaded done = download(asked);
  expect_verified(done);
  EXPECT_EQ(done.terminal_url, "https://files.example.org/a");
}

TEST_F(NetOutsideTest, ClosingEndsWhatWaits) {
  outside_->close();
  EXPECT_EQ(ask(to(server_.url("/a"))).problem, FetchProblem::Canceled);
  const Downloaded done = download(order());
  EXPECT_EQ(done.status, "error-platform-download");
  EXPECT_TRUE(done.passing);
  EXPECT_TRUE(server_.requests().empty());
}

// A loop, and all that waits in it, may go while bytes still come.
TEST_F(NetOutsideTest, WhatIsUnderWayCanBeLeft) {
  for (const Kind kind : {Kind::Drip, Kind::Hang}) {
    const std::string path = kind == Kind::Drip ? "/drip" : "/hang";
    server_.put(path, {.size = 1 << 20});
    server_.add_fault(path, {.kind = kind, .times = 100, .after = 1000});
    auto loop = std::make_unique<net::Loop>();
    auto outside = std::make_unique<NetOutside>(
        NetOutsideParts{*loop, *fetcher_, pool_},
        NetOutsideOptions{.allowed = web::AllowedHosts::parse("127.0.0.1").value()});
    const auto leave = [](NetOutside* out, DownloadOrder asked) -> net::Task<> {
      (void)co_await out->download(std::move(asked));
    };
    DownloadOrder asked = bare_order(path);
    asked.part += path.substr(1);  // the one that was left may still be held
    loop->spawn("left", leave(outside.get(), std::move(asked)));
    const auto begun = [](net::Loop* on, support::FaultyFiles* server,
                          std::string at) -> net::Task<bool> {
      while (server->requests(at).empty()) co_await on->sleep_until(net::in_ms(1));
      co_return true;
    };
    (void)loop->run_until(begun(loop.get(), &server_, path));
    loop.reset();
    outside.reset();
  }
}

TEST(HopsTest, TheLongestBeginningIsReplaced) {
  const std::map<std::string, std::string> bases = {{"https://a.org", "http://one"},
                                                    {"https://a.org/v2", "http://two"},
                                                    {"https://b.org/", "http://three/"}};
  EXPECT_EQ(replace_base(bases, "https://a.org"), "http://one");
  EXPECT_EQ(replace_base(bases, "https://a.org/v1?x"), "http://one/v1?x");
  EXPECT_EQ(replace_base(bases, "https://a.org/v2/x"), "http://two/x");
  EXPECT_EQ(replace_base(bases, "https://a.org/v22"), "http://one/v22");
  EXPECT_EQ(replace_base(bases, "https://a.org.evil/"), "https://a.org.evil/");
  EXPECT_EQ(replace_base(bases, "https://a.org:8443/"), "https://a.org:8443/");
  EXPECT_EQ(replace_base(bases, "https://b.org/c"), "http://three/c");
  EXPECT_EQ(replace_base({}, "https://b.org/c"), "https://b.org/c");
}

TEST(HopsTest, SecretsAreTakenOutOfAHead) {
  EXPECT_EQ(without_secrets("GET / HTTP/1.1\r\nHost: a\r\nauthorization: x\r\nCookie: y\r\n"
                            "Accept: */*\r\n\r\n"),
            "GET / HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n");
  EXPECT_EQ(without_secrets(""), "");
}

}  // namespace
}  // namespace quern::fileset
