// What hostile and broken servers do to a fetch: nothing but a problem with a name.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support/temp_folder.h"
#include "web/compressed.h"
#include "web/fetcher_head.h"
#include "web/scripted_site.h"

namespace quern::web {
namespace {

class FetcherLimitsTest : public testing::Test {
 protected:
  std::unique_ptr<Fetcher> open(FetcherOptions options = {}) {
    options.user_agent = "quern-test/1.0";
    options.spool = folder_.path();
    return Fetcher::open(std::move(options)).value();
  }
  Fetched fetch(FetchOrder order) { return fetch_now(*fetcher_, std::move(order)); }
  Fetched fetch_saying(std::string answer) {
    ScriptedSite site(says(std::move(answer)));
    return fetch(order_to(site.url()));
  }
  FetchProblem problem_of(std::string answer) { return fetch_saying(std::move(answer)).problem; }

  support::TempFolder folder_;
  std::unique_ptr<Fetcher> fetcher_ = open();
};

// Reads the request, sends, and waits for the other to go.
ScriptedSite::Script says_and_waits(std::string answer) {
  return [answer = std::move(answer)](net::RawPeer& peer) {
    if (next_request(peer).empty()) return;
    (void)peer.send_some(answer);
    (void)peer.read_to_end();
  };
}

TEST_F(FetcherLimitsTest, ABodyBeyondTheLimitEndsTheFetch) {
  ScriptedSite site(says("HTTP/1.1 200 OK\r\n\r\n" + std::string(1000, 'x')));
  for (const std::int64_t limit : {999, 1000}) {
    FetchOrder order = order_to(site.url());
    order.body_bytes_max = limit;
    const Fetched fetched = fetch(std::move(order));
    EXPECT_EQ(fetched.problem, limit == 999 ? FetchProblem::TooLarge : FetchProblem::None);
    EXPECT_EQ(fetched.status, 200) << "what came before is kept";
  }
}

TEST_F(FetcherLimitsTest, ALengthBeyondTheLimitIsNotEvenRead) {
  ScriptedSite site(
      says_and_waits("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n"));
  EXPECT_EQ(fetch(order_to(site.url())).problem, FetchProblem::TooLarge);
}

TEST_F(FetcherLimitsTest, TheBeginningIsKeptWhereTheLimitIsSmall) {
  const std::string text = "User-agent: *\nDisallow: /\n" + std::string(1000, '#');
  const std::string packed = gzip_of(text);
  for (const bool is_packed : {false, true}) {
    const std::string& bytes = is_packed ? packed : text;
    ScriptedSite site(says("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n" +
                           std::string(is_packed ? "Content-Encoding: gzip\r\n" : "") + "\r\n" +
                           bytes + std::string(100, 'x')));
    FetchOrder order = order_to(site.url());
    order.body_bytes_max = static_cast<std::int64_t>(is_packed ? packed.size() : 26);
    const Fetched fetched = fetch(std::move(order));
    EXPECT_EQ(fetched.problem, FetchProblem::TooLarge);
    EXPECT_EQ(fetched.raw.whole(1000).value(), bytes.substr(0, is_packed ? packed.size() : 26));
    EXPECT_TRUE(fetched.body.whole(2000).value().starts_with("User-agent: *\nDisallow: /\n"));
  }
}

TEST_F(FetcherLimitsTest, ABombStopsEarly) {
  const std::string zeros(64 << 20, '\0');
  for (const auto& [coding, bomb] : std::vector<std::pair<std::string, std::string>>{
           {"gzip", gzip_of(zeros)}, {"br", brotli_bomb()}, {"zstd", zstd_of(zeros)}}) {
    ScriptedSite site(says("HTTP/1.1 200 OK\r\nContent-Encoding: " + coding + "\r\n\r\n" + bomb));
    FetchOrder order = order_to(site.url());
    order.body_bytes_max = 1 << 20;
    const Fetched fetched = fetch(std::move(order));
    EXPECT_EQ(fetched.problem, FetchProblem::TooLarge) << coding;
    EXPECT_LE(fetched.body.size(), 1 << 20) << coding;
  }
}

TEST_F(FetcherLimitsTest, AnEndlessHeadIsRefused) {
  std::string lines;
  while (lines.size() < kResponseHeadBytesMax)
    lines += "X-Filler: " + std::string(1000, 'x') + "\r\n";
  EXPECT_EQ(problem_of("HTTP/1.1 200 OK\r\n" + lines + "\r\n"), FetchProblem::TooLarge);
  EXPECT_EQ(
      problem_of("HTTP/1.1 200 OK\r\nX: " + std::string(kResponseHeadBytesMax, 'x') + "\r\n\r\n"),
      FetchProblem::TooLarge);
  std::string many;
  for (std::size_t i = 0; i <= kResponseHeadersMax; ++i) many += "a:b\r\n";
  EXPECT_EQ(problem_of("HTTP/1.1 200 OK\r\n" + many + "\r\n"), FetchProblem::TooLarge);
  std::string hints;
  while (hints.size() < kResponseHeadBytesMax) hints += "HTTP/1.1 103 Early\r\nLink: </a>\r\n\r\n";
  EXPECT_EQ(problem_of(hints), FetchProblem::TooLarge);
}

TEST_F(FetcherLimitsTest, AServerThatStallsTimesOut) {
  for (const std::string answer :
       {"", "HTTP/1.1 200 OK\r\nX: y", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"}) {
    ScriptedSite site(says_and_waits(answer));
    FetchOrder order = order_to(site.url());
    order.idle_ms = 150;
    const Fetched fetched = fetch(std::move(order));
    EXPECT_EQ(fetched.problem, FetchProblem::Timeout) << answer;
    EXPECT_NE(fetched.message, "");
  }
}

TEST_F(FetcherLimitsTest, AServerThatTricklesTimesOutInTheEnd) {
  ScriptedSite site([](net::RawPeer& peer) {
    (void)peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 200 OK\r\nX: ");
    while (peer.send_some("x") == 1) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  });
  FetchOrder order = order_to(site.url());
  order.total_ms = 400;
  const Fetched fetched = fetch(std::move(order));
  EXPECT_EQ(fetched.problem, FetchProblem::Timeout);
  EXPECT_NE(fetched.message.find("400 ms"), std::string::npos) << fetched.message;
}

TEST_F(FetcherLimitsTest, WhatIsNoHttpIsAProtocolProblem) {
  EXPECT_EQ(problem_of(""), FetchProblem::Protocol);
  EXPECT_EQ(problem_of("SSH-2.0-OpenSSH_9.2\r\n"), FetchProblem::Protocol);
  EXPECT_EQ(problem_of("HTTP/1.1 200 OK\r\nContent-Le"), FetchProblem::Protocol);
  EXPECT_EQ(problem_of("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), FetchProblem::Protocol);
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(problem_of(chunked + "5\r\nhel"), FetchProblem::Protocol);
  EXPECT_EQ(problem_of(chunked + "zz\r\nhello\r\n0\r\n\r\n"), FetchProblem::Protocol);
}

TEST_F(FetcherLimitsTest, WhatBrokeOffIsKept) {
  const Fetched fetched = fetch_saying("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(fetched.status, 200);
  EXPECT_EQ(fetched.raw.whole(100).value(), "abc");
  EXPECT_TRUE(is_passing(fetched.problem));
}

TEST_F(FetcherLimitsTest, AWrongCodingIsNamed) {
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n";
  EXPECT_EQ(problem_of(head + "<html>plain</html>"), FetchProblem::Coding);
  EXPECT_EQ(problem_of(head + gzip_of("cut short").substr(0, 15)), FetchProblem::Coding);
  EXPECT_EQ(problem_of("HTTP/1.1 200 OK\r\nContent-Encoding: gzip,gzip,gzip\r\n"
                       "Content-Encoding: gzip, gzip\r\n\r\nx"),
            FetchProblem::Coding);
}

TEST_F(FetcherLimitsTest, NobodyThereIsAConnectProblem) {
  int port = 0;
  {
    const ScriptedSite site(says(""));
    port = site.port();
  }
  const Fetched fetched = fetch(order_to("http://127.0.0.1:" + std::to_string(port) + "/"));
  EXPECT_EQ(fetched.problem, FetchProblem::Connect);
  EXPECT_NE(fetched.message.find("127.0.0.1"), std::string::npos);
}

// No fault of the site's: the crawl asks again.
TEST_F(FetcherLimitsTest, NoDescriptorLeftIsOurProblem) {
  ScriptedSite site(says("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = ::dup(0);
  ::close(next);
  const rlimit none{static_cast<rlim_t>(next), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const Fetched fetched = fetch(order_to(site.url()));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(fetched.problem, FetchProblem::Internal) << fetched.message;
  EXPECT_TRUE(is_passing(fetched.problem));
}

TEST_F(FetcherLimitsTest, ANameWithoutAnAddressIsANameProblem) {
  EXPECT_EQ(fetch(order_to("http://no-such-host.invalid/")).problem, FetchProblem::Name);
  EXPECT_EQ(fetch(order_to("http://a'b!c/")).problem, FetchProblem::Name);
}

TEST_F(FetcherLimitsTest, CancelEndsWhatIsUnderWay) {
  std::promise<void> reached;
  ScriptedSite site([&reached](net::RawPeer& peer) {
    (void)peer.read_until("\r\n\r\n");
    reached.set_value();
    (void)peer.read_to_end();
  });
  std::promise<Fetched> promise;
  fetcher_->fetch(order_to(site.url()),
                  [&promise](Fetched fetched) { promise.set_value(std::move(fetched)); });
  reached.get_future().wait();
  EXPECT_EQ(fetcher_->under_way(), 1U);
  fetcher_->cancel_all();
  EXPECT_EQ(promise.get_future().get().problem, FetchProblem::Canceled);
  EXPECT_EQ(fetcher_->under_way(), 0U);
}

TEST_F(FetcherLimitsTest, TheDestructorTellsEverybody) {
  ScriptedSite site(says_and_waits(""));
  std::atomic<int> canceled = 0;
  for (int i = 0; i < 50; ++i) {
    fetcher_->fetch(order_to(site.url()), [&canceled](const Fetched& fetched) {
      if (fetched.problem == FetchProblem::Canceled) ++canceled;
    });
  }
  fetcher_.reset();
  EXPECT_EQ(canceled, 50);
}

TEST_F(FetcherLimitsTest, BeyondTheLimitAFetchIsTurnedAway) {
  ScriptedSite site(says_and_waits(""));
  FetcherOptions options;
  options.transfers_max = 2;
  fetcher_ = open(options);
  for (int i = 0; i < 2; ++i) fetcher_->fetch(order_to(site.url()), [](const Fetched&) {});
  const Fetched fetched = fetch(order_to(site.url()));
  EXPECT_EQ(fetched.problem, FetchProblem::Canceled);
  EXPECT_NE(fetched.message.find("2 fetches"), std::string::npos);
  EXPECT_EQ(fetcher_->under_way(), 2U);
}

// Goal: thousands of fetches, begun from the callbacks of others, all end once.
TEST_F(FetcherLimitsTest, ThousandsOfFetchesEndOnce) {
  constexpr int kFetches = 3000;
  ScriptedSite site([](net::RawPeer& peer) {
    for (int i = 0; i < 100; ++i) {
      if (next_request(peer).empty()) return;
      (void)peer.send_some("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    }
  });
  std::atomic<int> begun = 0;
  std::atomic<int> right = 0;
  std::atomic<int> ended = 0;
  std::promise<void> all;
  std::function<void()> next = [&] {
    if (begun.fetch_add(1) >= kFetches) return;
    fetcher_->fetch(order_to(site.url()), [&](const Fetched& fetched) {
      if (fetched.status == 200 && fetched.body.size() == 2) ++right;
      next();
      if (++ended == kFetches) all.set_value();
    });
  };
  for (int i = 0; i < 40; ++i) next();
  ASSERT_EQ(all.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
  EXPECT_EQ(right, kFetches);
  EXPECT_LE(site.connections(), 200) << "connections are used again";
}

}  // namespace
}  // namespace quern::web
