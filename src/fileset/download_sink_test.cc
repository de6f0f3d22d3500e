#include "fileset/download_sink.h"

#include <gtest/gtest.h>

#include <future>

#include "io/file.h"
#include "support/temp_folder.h"

namespace quern::fileset {
namespace {

using Take = web::BodySink::Take;

class DownloadSinkTest : public testing::Test {
 protected:
  DownloadSinkTest() {
    web::FetcherOptions options;
    options.spool = folder_.path();
    fetcher_ = web::Fetcher::open(std::move(options)).value();
    part_ = DownloadPart::open(folder_ / "part", "http://x/").value();
    Expected expected;
    expected.bytes_max = 64 << 20;
    sink_ = std::make_shared<DownloadSink>(SinkParts{part_, *fetcher_, writers_, pool_, 1 << 20},
                                           expected);
    web::Fetched head;
    head.status = 200;
    EXPECT_EQ(sink_->begin(head), web::BodySink::Begin::Take);
  }

  // Else the last job would end its own thread with the sink that it holds.
  ~DownloadSinkTest() override { writers_->stop(); }

  Result<> finish() {
    std::promise<Result<>> promise;
    sink_->finish([&promise](Result<> drained) { promise.set_value(std::move(drained)); });
    return promise.get_future().get();
  }
  // What the fetcher does: pieces until it must wait.
  std::int64_t give_until_wait(const std::string& piece) {
    std::int64_t given = 0;
    while (sink_->take(piece) == Take::Taken) given += static_cast<std::int64_t>(piece.size());
    return given;
  }

  support::TempFolder folder_;
  std::unique_ptr<web::Fetcher> fetcher_;
  std::shared_ptr<io::Pool> writers_ = std::make_shared<io::Pool>(io::PoolOptions{.threads = 1});
  io::Pool pool_{{.threads = 1}};
  std::shared_ptr<DownloadPart> part_;
  std::shared_ptr<DownloadSink> sink_;
};

// Goal: a disk that is slower than the network costs no more memory than the limit.
TEST_F(DownloadSinkTest, NoMoreThanTheLimitWaitsForTheDisk) {
  std::promise<void> release;
  io::Pool::Job busy = [held = release.get_future().share()](io::Pool::Call) { held.wait(); };
  ASSERT_TRUE(writers_->try_push(busy));
  const std::string piece(16 * 1024, 'x');
  const std::int64_t given = give_until_wait(piece);
  EXPECT_LE(given, static_cast<std::int64_t>(kSinkBytesMax));
  EXPECT_GT(given, static_cast<std::int64_t>(kSinkBytesMax) / 2);
  EXPECT_FALSE(sink_->has_room());
  EXPECT_EQ(part_->size(), 0);
  release.set_value();
  EXPECT_TRUE(finish().ok());
  EXPECT_TRUE(sink_->has_room());
  EXPECT_EQ(part_->size(), given);
  EXPECT_EQ(sink_->taken(), given);
  EXPECT_EQ(sink_->take(piece), Take::Taken);
}

TEST_F(DownloadSinkTest, BytesBeyondTheFileAreNotTaken) {
  Expected expected;
  expected.size = 10;
  expected.bytes_max = 100;
  sink_ = std::make_shared<DownloadSink>(SinkParts{part_, *fetcher_, writers_, pool_, 1 << 20},
                                         expected);
  web::Fetched head;
  head.status = 200;
  (void)sink_->begin(head);
  EXPECT_EQ(sink_->take("0123456789"), Take::Taken);
  EXPECT_EQ(sink_->take("x"), Take::Stop);
  EXPECT_TRUE(sink_->is_too_long());
  EXPECT_FALSE(sink_->is_too_large());
  EXPECT_TRUE(finish().ok());
  EXPECT_EQ(part_->size(), 10);
}

TEST_F(DownloadSinkTest, WhatIsStoppedTakesNothing) {
  sink_->stop();
  EXPECT_EQ(sink_->take("x"), Take::Stop);
  EXPECT_TRUE(finish().ok());
}

TEST_F(DownloadSinkTest, APoolThatHasStoppedIsTold) {
  EXPECT_EQ(sink_->take("x"), Take::Taken);
  writers_->stop();
  EXPECT_EQ(finish().error().kind(), Errc::Canceled);
  EXPECT_EQ(sink_->take("x"), Take::Stop);
}

}  // namespace
}  // namespace quern::fileset
