#include "web/fetcher.h"

#include <gtest/gtest.h>

#include "support/temp_folder.h"
#include "web/compressed.h"
#include "web/scripted_site.h"

namespace quern::web {
namespace {

class FetcherTest : public testing::Test {
 protected:
  std::unique_ptr<Fetcher> open(FetcherOptions options = {}) {
    options.user_agent = "quern-test/1.0";
    options.spool = folder_.path();
    return Fetcher::open(std::move(options)).value();
  }
  Fetched fetch(FetchOrder order) { return fetch_now(*fetcher_, std::move(order)); }

  support::TempFolder folder_;
  std::unique_ptr<Fetcher> fetcher_ = open();
};

constexpr char kHello[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

TEST_F(FetcherTest, AnAnswerComesWithAllItsParts) {
  ScriptedSite site(
      says("HTTP/1.1 203 Quite fine\r\nSet-Cookie: a=1\r\nX-Empty:\r\nSet-Cookie:  b=2 \r\n"
           "Content-Length: 5\r\n\r\nhello"));
  const Fetched fetched = fetch(order_to(site.url("/a/../b?c|d#e")));
  EXPECT_EQ(fetched.problem, FetchProblem::None) << fetched.message;
  EXPECT_EQ(fetched.status, 203);
  EXPECT_EQ(fetched.reason, "Quite fine");
  EXPECT_EQ(fetched.version, "1.1");
  const HeaderList expected = {
      {"Set-Cookie", "a=1"}, {"X-Empty", ""}, {"Set-Cookie", "b=2"}, {"Content-Length", "5"}};
  EXPECT_EQ(fetched.headers, expected);
  EXPECT_EQ(fetched.address, "127.0.0.1");
  EXPECT_EQ(fetched.body.whole(100).value(), "hello");
  EXPECT_EQ(fetched.raw.whole(100).value(), "hello");
  EXPECT_EQ(fetched.request_head, "GET /b?c|d HTTP/1.1\r\nHost: " + site.place() +
                                      "\r\nUser-Agent: quern-test/1.0\r\nAccept: */*\r\n"
                                      "Accept-Encoding: gzip, deflate, br, zstd\r\n\r\n");
  EXPECT_GE(fetched.ended_us, fetched.began_us);
  EXPECT_EQ(fetcher_->under_way(), 0U);
}

TEST_F(FetcherTest, OurHeadersGiveWayToThoseOfTheOrder) {
  ScriptedSite site(says(kHello));
  FetchOrder order = order_to(site.url());
  order.headers = {{"accept", "text/html"}, {"If-None-Match", "\"x\""}, {"X-Empty", ""}};
  const Fetched fetched = fetch(std::move(order));
  EXPECT_EQ(fetched.request_head.find("Accept: */*"), std::string::npos);
  EXPECT_NE(fetched.request_head.find("\r\naccept: text/html\r\nIf-None-Match: \"x\"\r\nX-Empty:"),
            std::string::npos)
      << fetched.request_head;
}

TEST_F(FetcherTest, AHeadHasNoBodyWhateverItsLengthSays) {
  ScriptedSite site(
      says("HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n"
           "Content-Encoding: gzip\r\n\r\n"));
  FetchOrder order = order_to(site.url());
  order.method = "HEAD";
  const Fetched fetched = fetch(std::move(order));
  EXPECT_EQ(fetched.problem, FetchProblem::None) << fetched.message;
  EXPECT_EQ(fetched.status, 200);
  EXPECT_EQ(fetched.body.size(), 0);
  EXPECT_TRUE(fetched.request_head.starts_with("HEAD / HTTP/1.1\r\n"));
}

TEST_F(FetcherTest, APostCarriesItsBody) {
  std::promise<std::string> seen;
  ScriptedSite site([&seen](net::RawPeer& peer) {
    const std::string head = peer.read_until("\r\n\r\n");
    seen.set_value(head + peer.read_bytes(7));
    peer.send(kHello);
  });
  FetchOrder order = order_to(site.url());
  order.method = "POST";
  order.body = std::string("a=\0&b=1", 7);
  order.headers = {{"Content-Type", "application/x-quern"}};
  EXPECT_EQ(fetch(std::move(order)).status, 200);
  const std::string request = seen.get_future().get();
  EXPECT_TRUE(request.starts_with("POST / HTTP/1.1\r\n"));
  EXPECT_TRUE(request.ends_with(std::string("\r\n\r\na=\0&b=1", 11)));
  EXPECT_NE(request.find("Content-Type: application/x-quern"), std::string::npos);
  EXPECT_EQ(request.find("Expect"), std::string::npos);
}

TEST_F(FetcherTest, ARedirectIsSeenAndNotFollowed) {
  ScriptedSite site(says("HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n"));
  const Fetched fetched = fetch(order_to(site.url()));
  EXPECT_EQ(fetched.status, 302);
  EXPECT_EQ(find_header(fetched.headers, "location"), "/next");
  EXPECT_EQ(site.connections(), 1);
}

TEST_F(FetcherTest, OfSeveralHeadsTheLastCounts) {
  ScriptedSite site(
      says("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
           "HTTP/1.1 200 OK\r\nX: y\r\nTransfer-Encoding: chunked\r\n\r\n"
           "2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nX: trailer\r\n\r\n"));
  const Fetched fetched = fetch(order_to(site.url()));
  EXPECT_EQ(fetched.status, 200);
  EXPECT_EQ(find_header(fetched.headers, "Link"), "");
  EXPECT_EQ(find_header(fetched.headers, "X"), "y");
  EXPECT_EQ(fetched.headers.size(), 2U) << "trailers are none of them";
  EXPECT_EQ(fetched.raw.whole(100).value(), "hello") << "without its chunks";
}

TEST_F(FetcherTest, BodiesComeRawAndDecoded) {
  const std::string text(100'000, 'x');
  for (const auto& [coding, bytes] :
       std::vector<std::pair<std::string, std::string>>{{"gzip", gzip_of(text)},
                                                        {"deflate", deflated(text, -MAX_WBITS)},
                                                        {"zstd", zstd_of(text)},
                                                        {"br", brotli_sample()},
                                                        {"unheard-of", "as it is"}}) {
    ScriptedSite site(says("HTTP/1.0 200 OK\r\nContent-Encoding: " + coding + "\r\n\r\n" + bytes));
    const Fetched fetched = fetch(order_to(site.url()));
    EXPECT_EQ(fetched.problem, FetchProblem::None) << coding << ": " << fetched.message;
    EXPECT_EQ(fetched.version, "1.0");
    EXPECT_EQ(fetched.raw.whole(1 << 20).value(), bytes) << coding;
    const std::string expected = coding == "br"           ? std::string(kBrotliText)
                                 : coding == "unheard-of" ? bytes
                                                          : text;
    EXPECT_EQ(fetched.body.whole(1 << 20).value(), expected) << coding;
  }
}

TEST_F(FetcherTest, LongBodiesGoToTheSpool) {
  const std::string text(3 * kBodyInMemory, 'y');
  ScriptedSite site(says("HTTP/1.1 200 OK\r\n\r\n" + text));
  const Fetched fetched = fetch(order_to(site.url()));
  EXPECT_EQ(fetched.body.whole(1 << 20).value(), text);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << "without a name";
}

TEST_F(FetcherTest, ASpoolThatIsGoneIsOurProblem) {
  ScriptedSite site(says("HTTP/1.1 200 OK\r\n\r\n" + std::string(2 * kBodyInMemory, 'z')));
  std::filesystem::remove(folder_.path());
  const Fetched fetched = fetch(order_to(site.url()));
  EXPECT_EQ(fetched.problem, FetchProblem::Internal);
  std::filesystem::create_directory(folder_.path());
  FetcherOptions nowhere;
  nowhere.spool = folder_ / "none";
  EXPECT_EQ(Fetcher::open(nowhere).error().kind(), Errc::Missing);
}

TEST_F(FetcherTest, ConnectionsAreKept) {
  ScriptedSite site([](net::RawPeer& peer) {
    for (int i = 0; i < 3; ++i) {
      (void)peer.read_until("\r\n\r\n");
      peer.send(kHello);
    }
  });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fetch(order_to(site.url())).status, 200);
  EXPECT_EQ(site.connections(), 1);
}

TEST_F(FetcherTest, WhatCannotBeSentIsRefused) {
  EXPECT_EQ(fetch(order_to("ftp://h/")).problem, FetchProblem::Internal);
  EXPECT_EQ(fetch(order_to("file:///etc/passwd")).problem, FetchProblem::Internal);
  FetchOrder header = order_to("http://127.0.0.1/");
  header.headers = {{"X", "a\r\nHost: b"}};
  EXPECT_EQ(fetch(std::move(header)).problem, FetchProblem::Internal);
  FetchOrder method = order_to("http://127.0.0.1/");
  method.method = "GET /x";
  EXPECT_EQ(fetch(std::move(method)).problem, FetchProblem::Internal);
  EXPECT_EQ(fetcher_->under_way(), 0U);
}

TEST_F(FetcherTest, AUserInTheAddressIsNotSent) {
  ScriptedSite site(says(kHello));
  const Fetched fetched =
      fetch(order_to("http://me:secret@127.0.0.1:" + std::to_string(site.port()) + "/"));
  EXPECT_EQ(fetched.status, 200);
  EXPECT_EQ(fetched.request_head.find("Authorization"), std::string::npos);
}

// Goal: an address that is not public is refused before anybody is spoken to.
TEST_F(FetcherTest, PrivateAddressesAreRefusedBeforeConnect) {
  ScriptedSite site(says(kHello));
  const Fetched fetched = fetch(order_to(site.url(), ""));
  EXPECT_EQ(fetched.problem, FetchProblem::Address);
  EXPECT_NE(fetched.message.find("127.0.0.1"), std::string::npos);
  EXPECT_EQ(fetched.status, 0);
  EXPECT_EQ(fetched.request_head, "");
  EXPECT_FALSE(is_passing(fetched.problem));
  for (const std::string host : {"[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "localhost"}) {
    const std::string url = "http://" + host + ":" + std::to_string(site.port()) + "/";
    EXPECT_EQ(fetch(order_to(url, "")).problem, FetchProblem::Address) << host;
  }
  EXPECT_EQ(site.connections(), 0);
}

TEST_F(FetcherTest, ANameThatLeadsInsideIsRefusedUnlessAllowed) {
  ScriptedSite site(says(kHello));
  FetcherOptions options;
  options.connect_to = {{"rebound.example:80", site.place()}, {"six.example", "[::1]:1"}};
  fetcher_ = open(options);
  EXPECT_EQ(fetch(order_to("http://rebound.example/", "")).problem, FetchProblem::Address);
  EXPECT_EQ(fetch(order_to("http://rebound.example/", "127.0.0.1")).problem, FetchProblem::Address)
      << "the name is what is allowed";
  EXPECT_EQ(fetch(order_to("http://six.example/", "")).problem, FetchProblem::Address);
  EXPECT_EQ(site.connections(), 0);
  const Fetched fetched = fetch(order_to("http://rebound.example/", "rebound.example:80"));
  EXPECT_EQ(fetched.status, 200) << fetched.message;
  EXPECT_NE(fetched.request_head.find("\r\nHost: rebound.example\r\n"), std::string::npos);
}

TEST_F(FetcherTest, AKeptConnectionIsNotForThoseWhoMayNotOpenIt) {
  ScriptedSite site([](net::RawPeer& peer) {
    (void)peer.read_until("\r\n\r\n");
    peer.send(kHello);
    EXPECT_EQ(peer.read_to_end(), "") << "a request that may not be";
  });
  EXPECT_EQ(fetch(order_to(site.url())).status, 200);
  const Fetched fetched = fetch(order_to(site.url(), ""));
  EXPECT_EQ(fetched.problem, FetchProblem::Address);
  EXPECT_NE(fetched.message, "");
  EXPECT_EQ(site.connections(), 1);
  fetcher_.reset();
}

TEST_F(FetcherTest, AStarLeadsEveryHostToOnePlace) {
  ScriptedSite site(says(kHello));
  FetcherOptions options;
  options.connect_to = {{"*", site.place()}, {"other.example", "127.0.0.1:1"}};
  fetcher_ = open(options);
  EXPECT_EQ(fetch(order_to("http://a.example/", "*")).status, 200);
  EXPECT_EQ(fetch(order_to("http://b.example:8080/", "*")).status, 200);
  EXPECT_EQ(fetch(order_to("http://other.example/", "*")).problem, FetchProblem::Connect);
}

TEST_F(FetcherTest, ProxiesOfTheEnvironmentAreIgnored) {
  ScriptedSite proxy(says(kHello));
  ScriptedSite site(says(kHello));
  ::setenv("http_proxy", proxy.url().c_str(), 1);
  ::setenv("all_proxy", proxy.url().c_str(), 1);
  EXPECT_EQ(fetch(order_to(site.url())).status, 200);
  ::unsetenv("http_proxy");
  ::unsetenv("all_proxy");
  EXPECT_EQ(proxy.connections(), 0);
}

TEST(FetchProblemTest, EachHasAName) {
  EXPECT_EQ(to_string(FetchProblem::TooLarge), "too_large");
  EXPECT_TRUE(is_passing(FetchProblem::Timeout));
  EXPECT_FALSE(is_passing(FetchProblem::None));
  EXPECT_FALSE(is_passing(FetchProblem::Coding));
}

}  // namespace
}  // namespace quern::web
