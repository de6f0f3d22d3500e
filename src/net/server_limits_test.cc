// The server against peers that lie, stall, flood or vanish. Deadlines are short here; none is
// measured.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>

#include "net/raw_peer.h"
#include "net/server.h"

namespace quern::net {
namespace {

Task<Result<>> echo(Exchange& exchange) {
  CO_TRY_ASSIGN(std::string body, co_await exchange.read_all(1024));
  co_return co_await exchange.respond(text_response(200, std::move(body)));
}

Task<Result<>> ignore_body(Exchange& exchange) {
  co_return co_await exchange.respond(text_response(200, "ignored"));
}

TEST(MalformedTest, GetsA400AndTheConnectionCloses) {
  ServerOnThread server({}, echo);
  const std::string wrong[] = {
      "nonsense\r\n\r\n",
      "GET / HTTP/1.1\r\n\r\n",
      "GET / HTTP/3.0\r\nHost: x\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: x\r\nBad Name: y\r\n\r\n",
      request_text("PUT", "/", "Content-Length: 1x\r\n"),
      request_text("PUT", "/", "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"),
      request_text("PUT", "/", "Transfer-Encoding: chunked\r\n") + "zz\r\n",
      request_text("PUT", "/", "Transfer-Encoding: chunked\r\n") + "1\r\nabc",
      std::string("\x16\x03\x01\x02", 4) + "\r\n\r\n",  // TLS spoken to a plain port
  };
  for (const std::string& text : wrong) {
    RawPeer peer = server.peer();
    peer.send(text);
    const std::string answer = peer.read_to_end();
    EXPECT_EQ(answer.substr(0, 12), "HTTP/1.1 400") << text;
    EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos) << text;
  }
  EXPECT_GE(server.metrics().requests_malformed, 6u);
}

TEST(MalformedTest, EmptyLinesBeforeARequestAreSkipped) {
  ServerOnThread server({}, echo);
  RawPeer peer = server.peer();
  peer.send("\r\n\r\n" + request_text("GET", "/"));
  EXPECT_EQ(peer.read_status(), "200");
}

TEST(HeadLimitTest, TheLargestHeadPassesAndOneByteMoreGets431) {
  ServerOptions options;
  options.head_bytes_max = 4000;
  ServerOnThread server(options, echo);
  const std::string empty = request_text("GET", "/", "X: \r\n");
  const std::string fits(4000 - empty.size(), 'x');
  RawPeer good = server.peer();
  good.send(request_text("GET", "/", "X: " + fits + "\r\n"));
  EXPECT_EQ(good.read_status(), "200");
  RawPeer bad = server.peer();
  bad.send(request_text("GET", "/", "X: " + fits + "x\r\n"));
  EXPECT_EQ(bad.read_to_end().substr(9, 3), "431");
  RawPeer endless = server.peer();
  endless.send_some("GET / HTTP/1.1\r\nX: " + std::string(1 << 20, 'x'));
  EXPECT_EQ(endless.read_to_end().substr(9, 3), "431") << "read though it had more to say";
}

TEST(HeadDeadlineTest, ASlowHeadGets408AndSilenceIsJustClosed) {
  ServerOptions options;
  options.head_ms = 500;
  ServerOnThread server(options, echo);
  RawPeer slow = server.peer();
  slow.send("GET / HTTP/1.1\r\nHo");
  EXPECT_EQ(slow.read_to_end().substr(9, 3), "408");
  RawPeer silent = server.peer();
  EXPECT_EQ(silent.read_to_end(), "");
}

TEST(IdleTest, AConnectionMayPauseLongerThanAHeadMayTakeThenCloses) {
  ServerOptions options;
  options.head_ms = 200;
  options.idle_ms = 1000;
  ServerOnThread server(options, echo);
  RawPeer peer = server.peer();
  peer.send(request_text("GET", "/"));
  EXPECT_EQ(peer.read_status(), "200");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // longer than head_ms, on purpose
  peer.send(request_text("GET", "/"));
  EXPECT_EQ(peer.read_status(), "200");
  EXPECT_EQ(peer.read_to_end(), "") << "idle for too long";
}

TEST(BodyLimitTest, ADeclaredLengthBeyondTheLimitIsRefusedUnread) {
  ServerOnThread server({}, echo);
  RawPeer fits = server.peer();
  fits.send(request_text("PUT", "/", "", std::string(1024, 'x')));
  EXPECT_EQ(fits.read_status(), "200");
  RawPeer over = server.peer();
  over.send(request_text("PUT", "/", "Content-Length: 1025\r\n"));
  EXPECT_EQ(over.read_answer().substr(9, 3), "413");
}

TEST(BodyLimitTest, ChunksAreCountedAsTheyCome) {
  ServerOnThread server({}, echo);
  RawPeer over = server.peer();
  over.send(request_text("PUT", "/", "Transfer-Encoding: chunked\r\n") + "400\r\n" +
            std::string(1024, 'x') + "\r\n1\r\nx\r\n");
  EXPECT_EQ(over.read_answer().substr(9, 3), "413");
  RawPeer fits = server.peer();
  fits.send(request_text("PUT", "/", "Transfer-Encoding: chunked\r\n") + "400\r\n" +
            std::string(1024, 'x') + "\r\n0\r\n\r\n");
  EXPECT_EQ(fits.read_status(), "200");
}

TEST(BodyLimitTest, TheDefaultHoldsWhereTheHandlerNamesNone) {
  ServerOptions options;
  options.body_bytes_max = 10;
  ServerOnThread server(options, [](Exchange& exchange) -> Task<Result<>> {
    char buffer[64];
    for (;;) {
      CO_TRY_ASSIGN(const std::size_t bytes, co_await exchange.read(buffer));
      if (bytes == 0) break;
    }
    co_return co_await exchange.respond(empty_response(204));
  });
  RawPeer peer = server.peer();
  peer.send(request_text("PUT", "/", "", "0123456789"));
  EXPECT_EQ(peer.read_status(), "204");
  peer.send(request_text("PUT", "/", "", "0123456789a"));
  EXPECT_EQ(peer.read_status(), "413");
}

TEST(ExpectTest, IsAnsweredWhenTheHandlerFirstReads) {
  ServerOnThread server({}, echo);
  RawPeer peer = server.peer();
  peer.send(request_text("PUT", "/", "Expect: 100-continue\r\nContent-Length: 3\r\n"));
  EXPECT_EQ(peer.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  peer.send("abc");
  EXPECT_EQ(peer.read_status(), "200");
  peer.send(request_text("GET", "/"));
  EXPECT_EQ(peer.read_status(), "200");
}

TEST(ExpectTest, IsRefusedByAnAnswerWithoutReading) {
  ServerOnThread server({}, ignore_body);
  RawPeer peer = server.peer();
  peer.send(request_text("PUT", "/", "Expect: 100-continue\r\nContent-Length: 3\r\n"));
  peer.end_sending();
  const std::string all = peer.read_to_end();
  EXPECT_EQ(all.substr(0, 12), "HTTP/1.1 200");
  EXPECT_NE(all.find("Connection: close\r\n"), std::string::npos);
}

TEST(ExpectTest, NeedsNo100WhereTheBodyIsThereAlready) {
  ServerOnThread server({}, echo);
  RawPeer peer = server.peer();
  peer.send(request_text("PUT", "/", "Expect: 100-Continue\r\n", "abc"));
  EXPECT_EQ(peer.read_status(), "200");
  RawPeer other = server.peer();
  other.send(request_text("PUT", "/", "Expect: miracles\r\n", "abc"));
  EXPECT_EQ(other.read_to_end().substr(9, 3), "417");
}

TEST(UnreadBodyTest, AShortRestIsDroppedAndTheConnectionKept) {
  ServerOnThread server({}, ignore_body);
  RawPeer peer = server.peer();
  peer.send(request_text("PUT", "/", "", std::string(200'000, 'x')));
  EXPECT_EQ(peer.read_status(), "200");
  peer.send(request_text("PUT", "/", "Transfer-Encoding: chunked\r\n") + "5\r\nhello\r\n0\r\n\r\n");
  EXPECT_EQ(peer.read_status(), "200");
  EXPECT_EQ(server.metrics().connections_total, 1u);
}

TEST(UnreadBodyTest, ALongRestClosesTheConnectionAfterTheAnswerWasRead) {
  ServerOnThread server({}, ignore_body);
  RawPeer peer = server.peer();
  peer.send(request_text("PUT", "/", "Content-Length: 4000000\r\n"));
  peer.send_some(std::string(4'000'000, 'x'));
  const std::string answer = peer.read_to_end();
  EXPECT_EQ(answer.substr(9, 3), "200");
  EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos);
}

TEST(UnreadBodyTest, ARestThatNeverComesIsWaitedForWithALimit) {
  ServerOptions options;
  options.drain_ms = 30;
  options.linger_ms = 30;
  ServerOnThread server(options, ignore_body);
  RawPeer peer = server.peer();
  peer.send(request_text("PUT", "/", "Content-Length: 10\r\n"));
  EXPECT_EQ(peer.read_status(), "200");
  EXPECT_EQ(peer.read_to_end(), "");
  EXPECT_TRUE(server.reaches([](const ServerMetrics& m) { return m.connections_open == 0; }));
}

TEST(StallTest, ABodyThatStallsWhileWeReadGets408) {
  ServerOptions options;
  options.body_stall_ms = 30;
  ServerOnThread server(options, echo);
  RawPeer peer = server.peer();
  peer.send(request_text("PUT", "/", "Content-Length: 10\r\n") + "12345");
  EXPECT_EQ(peer.read_to_end().substr(9, 3), "408");
}

TEST(StallTest, TimeInWhichWeDoNotReadCountsForNothing) {
  ServerOptions options;
  options.body_stall_ms = 30;
  ServerOnThread* self = nullptr;
  ServerOnThread server(options, [&self](Exchange& exchange) {
    return [](Loop* loop, Exchange& ex) -> Task<Result<>> {
      char first[5];
      CO_TRY(co_await ex.read(first));
      co_await loop->sleep_until(in_ms(150));
      co_return co_await echo(ex);
    }(&self->loop(), exchange);
  });
  self = &server;
  RawPeer peer = server.peer();
  peer.send(request_text("PUT", "/", "Content-Length: 10\r\n") + "12345");
  peer.send("67890");
  EXPECT_EQ(peer.read_status(), "200");
}

TEST(StallTest, AHandlerMayAllowLongerPauses) {
  ServerOptions options;
  options.body_stall_ms = 20;
  ServerOnThread server(options, [](Exchange& exchange) {
    exchange.set_body_stall_ms(60'000);
    return echo(exchange);
  });
  RawPeer peer = server.peer();
  peer.send(request_text("PUT", "/", "Content-Length: 10\r\n") + "12345");
  std::this_thread::sleep_for(
      std::chrono::milliseconds(100));  // longer than the default, on purpose
  peer.send("67890");
  EXPECT_EQ(peer.read_status(), "200");
}

TEST(StallTest, AnAnswerNobodyReadsIsGivenUp) {
  ServerOptions options;
  options.write_stall_ms = 30;
  std::promise<Errc> ended;
  ServerOnThread server(options, [&ended](Exchange& exchange) {
    return [](std::promise<Errc>* promise, Exchange& ex) -> Task<Result<>> {
      CO_TRY(co_await ex.start(ResponseHead{}, std::nullopt));
      const std::string piece(100'000, 'x');
      for (;;) {
        const auto written = co_await ex.write(piece);
        if (written) continue;
        promise->set_value(written.error().kind());
        co_return written;
      }
    }(&ended, exchange);
  });
  RawPeer peer = server.peer();
  peer.send(request_text("GET", "/"));
  EXPECT_EQ(ended.get_future().get(), Errc::Timeout);
  EXPECT_TRUE(server.reaches([](const ServerMetrics& m) { return m.connections_open == 0; }));
}

TEST(FairnessTest, APeerThatReadsAsFastAsWeWriteKeepsNobodyWaiting) {
  ServerOnThread server({}, [](Exchange& exchange) -> Task<Result<>> {
    if (exchange.request().target != "/endless") co_return co_await echo(exchange);
    CO_TRY(co_await exchange.start(ResponseHead{}, std::nullopt));
    for (;;) CO_TRY(co_await exchange.write("x"));
  });
  RawPeer endless = server.peer();
  endless.send(request_text("GET", "/endless"));
  std::atomic<bool> enough{false};
  std::thread reader([&] {
    while (!enough) endless.read_bytes(100'000);
    endless.close();
  });
  RawPeer other = server.peer();
  for (int i = 0; i < 100; ++i) {
    other.send(request_text("GET", "/"));
    EXPECT_EQ(other.read_status(), "200");
  }
  enough = true;
  reader.join();
}

TEST(VanishedPeerTest, AReadEndsWithUnavailable) {
  std::promise<Errc> ended;
  ServerOnThread server({}, [&ended](Exchange& exchange) {
    return [](std::promise<Errc>* promise, Exchange& ex) -> Task<Result<>> {
      auto body = co_await ex.read_all(100);
      promise->set_value(body.ok() ? Errc::Internal : body.error().kind());
      co_return std::move(body).error();
    }(&ended, exchange);
  });
  RawPeer peer = server.peer();
  peer.send(request_text("PUT", "/", "Content-Length: 10\r\n") + "12345");
  peer.close();
  EXPECT_EQ(ended.get_future().get(), Errc::Unavailable);
}

TEST(ConnectionLimitTest, OneMoreGets503AndTheOthersGoOn) {
  ServerOptions options;
  options.connections_max = 3;
  ServerOnThread server(options, echo);
  std::vector<RawPeer> peers;
  for (int i = 0; i < 3; ++i) {
    peers.push_back(server.peer());
    peers.back().send(request_text("GET", "/"));
    EXPECT_EQ(peers.back().read_status(), "200");
  }
  RawPeer refused = server.peer();
  refused.send(request_text("GET", "/"));
  refused.end_sending();
  const std::string answer = refused.read_to_end();
  EXPECT_EQ(answer.substr(9, 3), "503");
  EXPECT_NE(answer.find("Retry-After: "), std::string::npos);
  EXPECT_EQ(server.metrics().connections_refused, 1u);

  peers[0].send(request_text("GET", "/"));
  EXPECT_EQ(peers[0].read_status(), "200");
  peers[0].close();
  ASSERT_TRUE(server.reaches([](const ServerMetrics& m) { return m.connections_open == 2; }));
  RawPeer next = server.peer();
  next.send(request_text("GET", "/"));
  EXPECT_EQ(next.read_status(), "200");
}

TEST(ConnectionLimitTest, RefusalsAreLimitedToo) {
  ServerOptions options;
  options.connections_max = 0;
  options.refusals_max = 2;
  options.linger_ms = 60'000;
  ServerOnThread server(options, echo);
  RawPeer first = server.peer();
  RawPeer second = server.peer();
  EXPECT_EQ(first.read_status(), "503");
  EXPECT_EQ(second.read_status(), "503");
  RawPeer third = server.peer();
  EXPECT_EQ(third.read_to_end(), "");
}

// Takes every descriptor the process may have; gives them back when it goes.
class NoDescriptorsLeft {
 public:
  NoDescriptorsLeft() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    io::Descriptor probe(::dup(0));
    rlimit tight = before_;
    tight.rlim_cur = static_cast<rlim_t>(probe.get()) + 8;
    ::setrlimit(RLIMIT_NOFILE, &tight);
    probe.close();
    for (int fd = ::dup(0); fd >= 0; fd = ::dup(0)) taken_.emplace_back(fd);
  }
  ~NoDescriptorsLeft() {
    taken_.clear();
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }

 private:
  rlimit before_{};
  std::vector<io::Descriptor> taken_;
};

TEST(DescriptorTest, RunningOutPausesAcceptingAndRecovers) {
  ServerOnThread server({}, echo);
  io::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const SocketAddress address = numeric_addresses(server.endpoint()).at(0);
  {
    const NoDescriptorsLeft none;
    ASSERT_EQ(
        ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.size),
        0);
    ASSERT_TRUE(server.reaches([](const ServerMetrics& m) { return m.accept_pauses > 0; }));
  }
  RawPeer peer(std::move(socket));
  peer.send(request_text("GET", "/"));
  EXPECT_EQ(peer.read_status(), "200");
}

}  // namespace
}  // namespace quern::net
