// Long polls, graceful stop and interrupts: requests that wait for something else than their peer.
#include <gtest/gtest.h>

#include "net/raw_peer.h"
#include "net/server.h"

namespace quern::net {
namespace {

std::string_view name_of(WaitEnd end) {
  switch (end) {
    case WaitEnd::Notified:
      return "notified";
    case WaitEnd::TimedOut:
      return "timed out";
    case WaitEnd::PeerGone:
      return "peer gone";
    case WaitEnd::Stopping:
      return "stopping";
    case WaitEnd::Interrupted:
      return "interrupted";
  }
  return "?";
}

// "/poll" waits for the event, "/hold" for its release whatever else happens, "/upload" reads.
class LongPollTest : public testing::Test {
 protected:
  void start(ServerOptions options = {}) {
    server_ = std::make_unique<ServerOnThread>(
        std::move(options), [this](Exchange& exchange) { return handle(this, exchange); });
    server_->on_loop([this] {
      event_ = std::make_unique<Event>(server_->loop());
      release_ = std::make_unique<Event>(server_->loop());
      return true;
    });
  }
  ~LongPollTest() override {
    if (!server_) return;
    server_->on_loop([this] { return release_->notify_all(); });
  }

  static Task<Result<>> handle(LongPollTest* self, Exchange& exchange) {
    self->exchange_ = &exchange;
    if (exchange.request().target == "/hold") {
      (void)co_await self->release_->wait();
      co_return co_await exchange.respond(text_response(200, "held"));
    }
    if (exchange.request().target == "/upload") {
      const auto body = co_await exchange.read_all(100);
      const std::string text(body ? "whole" : to_string(body.error().kind()));
      co_return co_await exchange.respond(text_response(200, text));
    }
    const bool now = exchange.request().target == "/now";
    const WaitEnd end = co_await exchange.wait(*self->event_, now ? in_ms(0) : kNever);
    self->last_end_.set_value(end);
    self->last_end_ = {};
    co_return co_await exchange.respond(text_response(200, std::string(name_of(end))));
  }

  // Of the poll that waits now.
  std::future<WaitEnd> ended() {
    std::future<WaitEnd> future;
    server_->on_loop([&] {
      future = last_end_.get_future();
      return true;
    });
    return future;
  }
  bool wait_for_waiters(std::size_t count) {
    return server_->reaches([&](const ServerMetrics&) {
      return server_->on_loop([&] { return event_->waiters() + release_->waiters() == count; });
    });
  }
  std::size_t notify_all() {
    return server_->on_loop([this] { return event_->notify_all(); });
  }
  std::string body(RawPeer& peer) {
    const std::string answer = peer.read_answer();
    return answer.substr(answer.find("\r\n\r\n") + 4);
  }

  std::unique_ptr<Event> event_;
  std::unique_ptr<Event> release_;
  std::promise<WaitEnd> last_end_;
  Exchange* exchange_ = nullptr;
  std::unique_ptr<ServerOnThread> server_;
};

TEST_F(LongPollTest, EndsWhenNotifiedOrAtItsDeadline) {
  start();
  RawPeer peer = server_->peer();
  peer.send(request_text("GET", "/poll"));
  ASSERT_TRUE(wait_for_waiters(1));
  EXPECT_EQ(notify_all(), 1u);
  EXPECT_EQ(body(peer), "notified");
  peer.send(request_text("GET", "/now"));
  EXPECT_EQ(body(peer), "timed out");
}

TEST_F(LongPollTest, NoticesThatItsClientHasGone) {
  start();
  RawPeer peer = server_->peer();
  peer.send(request_text("GET", "/poll"));
  ASSERT_TRUE(wait_for_waiters(1));
  auto end = ended();
  peer.close();
  EXPECT_EQ(end.get(), WaitEnd::PeerGone);
}

TEST_F(LongPollTest, DoesNotTouchAPipelinedRequest) {
  start();
  RawPeer peer = server_->peer();
  peer.send(request_text("GET", "/poll"));
  ASSERT_TRUE(wait_for_waiters(1));
  peer.send(request_text("GET", "/now"));
  const auto seen = server_->metrics().bytes_in;
  EXPECT_EQ(notify_all(), 1u);
  EXPECT_EQ(body(peer), "notified");
  EXPECT_EQ(body(peer), "timed out");
  EXPECT_EQ(server_->metrics().bytes_in, seen + request_text("GET", "/now").size());
}

TEST_F(LongPollTest, NoticesAResetBehindAPipelinedRequest) {
  start();
  RawPeer peer = server_->peer();
  peer.send(request_text("GET", "/poll"));
  ASSERT_TRUE(wait_for_waiters(1));
  auto end = ended();
  peer.send(request_text("GET", "/now"));
  peer.reset();
  EXPECT_EQ(end.get(), WaitEnd::PeerGone);
}

TEST_F(LongPollTest, WakesThousandsAndNoneTwice) {
  start();
  std::vector<RawPeer> peers;
  for (int i = 0; i < 500; ++i) {
    peers.push_back(server_->peer());
    peers.back().send(request_text("GET", "/hold"));
  }
  ASSERT_TRUE(wait_for_waiters(500));
  EXPECT_EQ(server_->on_loop([this] { return release_->notify_all(); }), 500u);
  for (RawPeer& peer : peers) EXPECT_EQ(body(peer), "held");
}

TEST_F(LongPollTest, StopEndsPollsAtOnceAndLetsRequestsFinish) {
  start();
  RawPeer polling = server_->peer();
  polling.send(request_text("GET", "/poll"));
  RawPeer working = server_->peer();
  working.send(request_text("GET", "/hold"));
  RawPeer idle = server_->peer();
  idle.send(request_text("GET", "/now"));
  EXPECT_EQ(body(idle), "timed out");
  ASSERT_TRUE(wait_for_waiters(2));

  auto stopped = server_->begin_stop(60'000);
  EXPECT_EQ(idle.read_to_end(), "");
  const std::string polled = polling.read_to_end();
  EXPECT_NE(polled.find("Connection: close\r\n"), std::string::npos);
  EXPECT_NE(polled.find("stopping"), std::string::npos);
  EXPECT_EQ(stopped.wait_for(std::chrono::seconds(0)), std::future_status::timeout);

  server_->on_loop([this] { return release_->notify_all(); });
  EXPECT_NE(working.read_to_end().find("held"), std::string::npos);
  EXPECT_EQ(stopped.get(), 0u);
}

TEST_F(LongPollTest, StopCutsWhatOutlastsTheGracePeriod) {
  start();
  RawPeer uploading = server_->peer();
  uploading.send(request_text("PUT", "/upload", "Content-Length: 10\r\n") + "123");
  ASSERT_TRUE(server_->reaches([](const ServerMetrics& m) { return m.requests_in_flight == 1; }));
  EXPECT_EQ(server_->stop(10), 1u);
  EXPECT_EQ(uploading.read_to_end(), "");
  EXPECT_EQ(server_->metrics().connections_open, 0u);
}

TEST_F(LongPollTest, StopAcceptsNobodyMore) {
  start();
  const Endpoint endpoint = server_->endpoint();
  EXPECT_EQ(server_->stop(1000), 0u);
  io::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const SocketAddress address = numeric_addresses(endpoint).at(0);
  EXPECT_NE(
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.size),
      0);
}

TEST_F(LongPollTest, AnInterruptEndsAReadAndTheHandlerAnswers) {
  start();
  RawPeer peer = server_->peer();
  peer.send(request_text("PUT", "/upload", "Content-Length: 10\r\n") + "123");
  ASSERT_TRUE(server_->reaches([](const ServerMetrics& m) { return m.requests_in_flight == 1; }));
  server_->on_loop([this] {
    exchange_->interrupt();
    return true;
  });
  const std::string answer = peer.read_to_end();
  EXPECT_NE(answer.find("canceled"), std::string::npos);
  EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos);
}

TEST_F(LongPollTest, AnInterruptEndsAWait) {
  start();
  RawPeer peer = server_->peer();
  peer.send(request_text("GET", "/poll"));
  ASSERT_TRUE(wait_for_waiters(1));
  server_->on_loop([this] {
    exchange_->interrupt();
    return true;
  });
  EXPECT_NE(peer.read_to_end().find("interrupted"), std::string::npos);
}

TEST_F(LongPollTest, ALoopMayGoWithRequestsStillWaiting) {
  Loop* loop = nullptr;
  std::unique_ptr<Event> never;
  RawPeer peer{io::Descriptor()};
  {
    Loop own;
    loop = &own;
    never = std::make_unique<Event>(own);
    ServerOptions options;
    options.listen = {*Endpoint::parse("127.0.0.1:0")};
    auto server = Server::open(own, options, [&](Exchange& exchange) {
      return [](Loop* l, Event* event, Exchange& ex) -> Task<Result<>> {
        l->stop();
        (void)co_await ex.wait(*event, kNever);
        ADD_FAILURE() << "resumed";
        co_return Result<>{};
      }(loop, never.get(), exchange);
    });
    ASSERT_TRUE(server.ok());
    peer = RawPeer(server->endpoints()[0]);
    peer.send(request_text("GET", "/"));
    own.run();
    EXPECT_EQ(never->waiters(), 1u);
  }
  EXPECT_EQ(never->waiters(), 0u);
  EXPECT_EQ(peer.read_to_end(), "");
}

}  // namespace
}  // namespace quern::net
