// Bodies that are not kept by the fetcher: into a sink as they come, and out of a file.
#include <gtest/gtest.h>

#include <condition_variable>

#include "support/temp_folder.h"
#include "web/compressed.h"
#include "web/scripted_site.h"

namespace quern::web {
namespace {

// Takes up to `room` bytes, then lets the server wait.
class TestSink final : public BodySink {
 public:
  explicit TestSink(std::size_t room = std::string::npos) : room_(room) {}

  Begin begin(const Fetched& head) override {
    const std::scoped_lock lock(mutex_);
    EXPECT_EQ(bytes_, "") << "the head comes first";
    ++begun_;
    status_ = head.status;
    type_ = find_header(head.headers, "Content-Type");
    EXPECT_EQ(head.address, "127.0.0.1");
    EXPECT_TRUE(head.request_head.starts_with("GET / ")) << head.request_head;
    return answer_;
  }
  Take take(std::string_view bytes) override {
    const std::scoped_lock lock(mutex_);
    if (stop_) return Take::Stop;
    if (bytes_.size() + bytes.size() > room_) {
      ++waits_;
      changed_.notify_all();
      return Take::Wait;
    }
    bytes_ += bytes;
    return Take::Taken;
  }
  bool has_room() override { return true; }

  void wait_until_full() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(net::kPatienceS),
                                  [this] { return waits_ > 0; }));
  }
  void set_room(std::size_t room) {
    const std::scoped_lock lock(mutex_);
    room_ = room;
  }
  void stop() {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  void answer(Begin answer) { answer_ = answer; }
  std::string bytes() const {
    const std::scoped_lock lock(mutex_);
    return bytes_;
  }
  int status() const { return status_; }
  int begun() const { return begun_; }
  const std::string& type() const { return type_; }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t room_;
  Begin answer_ = Begin::Take;
  bool stop_ = false;
  int waits_ = 0;
  int begun_ = 0;
  int status_ = 0;
  std::string type_;
  std::string bytes_;
};

class FetcherStreamTest : public testing::Test {
 protected:
  static std::unique_ptr<Fetcher> open(const std::filesystem::path& spool) {
    FetcherOptions options;
    options.user_agent = "quern-test/1.0";
    options.spool = spool;
    return Fetcher::open(std::move(options)).value();
  }
  std::future<Fetched> begin(FetchOrder order) {
    auto promise = std::make_shared<std::promise<Fetched>>();
    auto future = promise->get_future();
    fetcher_->fetch(std::move(order),
                    [promise](Fetched fetched) { promise->set_value(std::move(fetched)); });
    return future;
  }
  FetchOrder order_into(const std::shared_ptr<TestSink>& sink, const std::string& url) {
    FetchOrder order = order_to(url);
    order.sink = sink;
    return order;
  }
  std::shared_ptr<const io::FileReader> file_of(std::string_view bytes) {
    const std::filesystem::path path = folder_ / "upload";
    CHECK_OK(io::write_file_durably(path, bytes));
    return std::make_shared<const io::FileReader>(io::FileReader::open(path).value());
  }

  support::TempFolder folder_;
  std::unique_ptr<Fetcher> fetcher_ = open(folder_.path());
};

std::string pattern(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 7 + i / 251);
  return text;
}

TEST_F(FetcherStreamTest, ASinkGetsTheBytesAsTheyWereSent) {
  const std::string packed = gzip_of(pattern(500'000));
  ScriptedSite site(
      says("HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Encoding: gzip\r\n"
           "Content-Length: " +
           std::to_string(packed.size()) + "\r\n\r\n" + packed));
  const auto sink = std::make_shared<TestSink>();
  FetchOrder order = order_into(sink, site.url());
  order.body_bytes_max = 10;  // of what the fetcher keeps itself
  const Fetched fetched = fetch_now(*fetcher_, std::move(order));
  EXPECT_EQ(fetched.problem, FetchProblem::None) << fetched.message;
  EXPECT_EQ(fetched.status, 200);
  EXPECT_EQ(sink->bytes(), packed) << "not decoded";
  EXPECT_EQ(sink->begun(), 1);
  EXPECT_EQ(sink->status(), 200);
  EXPECT_EQ(sink->type(), "a/b");
  EXPECT_EQ(fetched.raw.size(), 0);
  EXPECT_EQ(fetched.body.size(), 0);
}

TEST_F(FetcherStreamTest, AnErrorsPageIsKeptWhereTheSinkSaysSo) {
  ScriptedSite site(says("HTTP/1.1 404 No\r\nContent-Length: 4\r\n\r\ngone"));
  const auto sink = std::make_shared<TestSink>();
  sink->answer(BodySink::Begin::Keep);
  const Fetched fetched = fetch_now(*fetcher_, order_into(sink, site.url()));
  EXPECT_EQ(fetched.status, 404);
  EXPECT_EQ(fetched.body.whole(100).value(), "gone");
  EXPECT_EQ(sink->bytes(), "");
}

TEST_F(FetcherStreamTest, ASinkThatRefusesTheHeadSeesNoByte) {
  ScriptedSite site(says("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"));
  const auto sink = std::make_shared<TestSink>();
  sink->answer(BodySink::Begin::Refuse);
  const Fetched fetched = fetch_now(*fetcher_, order_into(sink, site.url()));
  EXPECT_EQ(fetched.problem, FetchProblem::Canceled);
  EXPECT_EQ(fetched.status, 200) << "the head is there";
  EXPECT_EQ(sink->bytes(), "");
}

TEST_F(FetcherStreamTest, ABodyThatBreaksOffIsAProblemAndWhatCameIsThere) {
  ScriptedSite site(says("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"));
  const auto sink = std::make_shared<TestSink>();
  const Fetched fetched = fetch_now(*fetcher_, order_into(sink, site.url()));
  EXPECT_EQ(fetched.problem, FetchProblem::Protocol);
  EXPECT_EQ(sink->bytes(), "half");
}

// Goal: a sink without room holds the server back, for as long as it likes, and loses nothing.
TEST_F(FetcherStreamTest, AServerWaitsForTheSink) {
  const std::string text = pattern(32 << 20);
  std::atomic<bool> sent_all = false;
  ScriptedSite site([&](net::RawPeer& peer) {
    if (next_request(peer).empty()) return;
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(text.size()) + "\r\n\r\n");
    peer.send(text);
    sent_all = true;
  });
  const auto sink = std::make_shared<TestSink>(1 << 20);
  FetchOrder order = order_into(sink, site.url());
  order.idle_ms = 50;
  auto future = begin(std::move(order));
  sink->wait_until_full();
  // Stalled transfers are looked for meanwhile, more than once: this one is none.
  ScriptedSite silent([](net::RawPeer& peer) { (void)peer.read_to_end(); });
  for (int i = 0; i < 2; ++i) {
    FetchOrder stalls = order_to(silent.url());
    stalls.idle_ms = 100;
    EXPECT_EQ(fetch_now(*fetcher_, std::move(stalls)).problem, FetchProblem::Timeout);
  }
  EXPECT_FALSE(sent_all) << "more than any socket holds";
  EXPECT_LE(sink->bytes().size(), 1U << 20);
  sink->set_room(std::string::npos);
  fetcher_->look_again();
  const Fetched fetched = future.get();
  EXPECT_EQ(fetched.problem, FetchProblem::None) << fetched.message;
  EXPECT_EQ(sink->bytes(), text);
}

TEST_F(FetcherStreamTest, ASinkCanWaitManyTimes) {
  const std::string text = pattern(3 << 20);
  ScriptedSite site(says("HTTP/1.1 200 OK\r\n\r\n" + text));
  const auto sink = std::make_shared<TestSink>(0);
  auto future = begin(order_into(sink, site.url()));
  std::size_t room = 0;
  while (future.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
    sink->set_room(room += 100'000);
    fetcher_->look_again();
  }
  EXPECT_EQ(future.get().problem, FetchProblem::None);
  EXPECT_EQ(sink->bytes(), text);
}

TEST_F(FetcherStreamTest, ASinkThatStopsEndsTheTransfer) {
  ScriptedSite site(says("HTTP/1.1 200 OK\r\n\r\n" + pattern(3 << 20)));
  const auto sink = std::make_shared<TestSink>(100'000);
  auto future = begin(order_into(sink, site.url()));
  sink->wait_until_full();
  sink->stop();
  fetcher_->look_again();
  EXPECT_EQ(future.get().problem, FetchProblem::Canceled);
  EXPECT_EQ(fetcher_->under_way(), 0U);
}

TEST_F(FetcherStreamTest, WhatWaitsCanBeCanceled) {
  ScriptedSite site(says("HTTP/1.1 200 OK\r\n\r\n" + pattern(3 << 20)));
  const auto sink = std::make_shared<TestSink>(100'000);
  auto future = begin(order_into(sink, site.url()));
  sink->wait_until_full();
  fetcher_->cancel_all();
  EXPECT_EQ(future.get().problem, FetchProblem::Canceled);
}

TEST_F(FetcherStreamTest, AFileIsSentWithItsLength) {
  const std::string text = pattern(3'000'001);
  std::promise<std::string> seen;
  ScriptedSite site([&](net::RawPeer& peer) {
    const std::string head = peer.read_until("\r\n\r\n");
    seen.set_value(head + peer.read_bytes(text.size()));
    peer.send("HTTP/1.1 201 Made\r\nContent-Length: 0\r\n\r\n");
  });
  FetchOrder order = order_to(site.url("/item/a"));
  order.method = "PUT";
  order.upload = file_of(text);
  order.headers = {{"X-Archive-Queue-Derive", "0"}};
  const Fetched fetched = fetch_now(*fetcher_, std::move(order));
  EXPECT_EQ(fetched.status, 201) << fetched.message;
  const std::string request = seen.get_future().get();
  EXPECT_TRUE(request.starts_with("PUT /item/a HTTP/1.1\r\n")) << request.substr(0, 300);
  EXPECT_NE(request.find("\r\nContent-Length: 3000001\r\n"), std::string::npos);
  EXPECT_EQ(request.find("Transfer-Encoding"), std::string::npos);
  EXPECT_EQ(request.find("Expect"), std::string::npos);
  EXPECT_TRUE(request.ends_with("\r\n\r\n" + text));
}

TEST_F(FetcherStreamTest, AnEmptyFileIsSentToo) {
  ScriptedSite site(says("HTTP/1.1 201 Made\r\nContent-Length: 0\r\n\r\n"));
  FetchOrder order = order_to(site.url());
  order.method = "PUT";
  order.upload = file_of("");
  const Fetched fetched = fetch_now(*fetcher_, std::move(order));
  EXPECT_EQ(fetched.status, 201) << fetched.message;
  EXPECT_NE(fetched.request_head.find("\r\nContent-Length: 0\r\n"), std::string::npos);
}

TEST_F(FetcherStreamTest, AFileGoesNowhereItMayNot) {
  ScriptedSite site(says("HTTP/1.1 201 Made\r\nContent-Length: 0\r\n\r\n"));
  FetchOrder order = order_to(site.url(), "");
  order.method = "PUT";
  order.upload = file_of("secret");
  EXPECT_EQ(fetch_now(*fetcher_, std::move(order)).problem, FetchProblem::Address);
  EXPECT_EQ(site.connections(), 0);
}

TEST_F(FetcherStreamTest, AFileThatShrinksMeanwhileIsOurProblem) {
  ScriptedSite site([](net::RawPeer& peer) {
    (void)peer.read_until("\r\n\r\n");
    (void)peer.read_to_end();
  });
  FetchOrder order = order_to(site.url());
  order.method = "PUT";
  order.upload = file_of(pattern(100'000));
  std::filesystem::resize_file(folder_ / "upload", 1000);
  const Fetched fetched = fetch_now(*fetcher_, std::move(order));
  EXPECT_EQ(fetched.problem, FetchProblem::Internal);
  EXPECT_NE(fetched.message.find("shorter"), std::string::npos) << fetched.message;
}

}  // namespace
}  // namespace quern::web
