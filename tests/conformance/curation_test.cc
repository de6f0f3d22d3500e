// Curation on either store: an engine at work, and a podcast of this machine.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <thread>

#include "conformance/engine_fixture.h"
#include "research/curator.h"
#include "research/feed_row.h"
#include "step/import.h"
#include "support/feed_site.h"
#include "support/program.h"

namespace quern::research {
namespace {

using store::StoreKind;
using store::Tx;
using support::FeedSite;
using testing::HasSubstr;

class CurationTest : public store::StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    store::WriterOptions options;
    options.guard = std::make_shared<queue::PartitionGuard>();
    ASSERT_NO_FATAL_FAILURE(open(options));
    readers_ = *store::Readers::open(*database_, {});
    pool_ = std::make_unique<io::Pool>(io::PoolOptions{.threads = 2});
    const auto url = blob::BlobUrl::of_folder(folder_ / "blobs");
    blobs_ = *blob::BlobStore::open(url, *writer_, *readers_, blob::BlobStore::Owner::Only);
    start();
  }
  void TearDown() override {
    stop();
    blobs_.reset();
    pool_.reset();
    readers_.reset();
    close();
  }

  void start() {
    loop_ = std::make_unique<queue::LoopThread>();
    CuratorParts parts{.loop = loop_->loop(),
                       .writer = *writer_,
                       .readers = *readers_,
                       .pool = *pool_,
                       .blobs = *blobs_,
                       .data = folder_.path(),
                       .decide =
                           [](const std::string&) {
                             return TypeDecision{"Detect", {}};
                           },
                       .open_job = {},
                       .poke_job = [](tree::JobId) {},
                       .poke = {},
                       .publish = [](std::string_view, boost::json::object) {},
                       .changed = [] {}};
    parts.open_job = [this](const tree::NewJob& order) {
      return step::open_import(*writer_, *readers_, order, [](queue::PartitionId) {});
    };
    parts.poke = [this](queue::PartitionId id) { engine_->poke(id); };
    CuratorOptions options;
    options.allow_private = "*";
    options.gap_ms = 0;
    options.tries_max = tries_max_;
    options.feed_entries_max = 500;
    loop_->run([&] { curator_ = std::make_unique<Curator>(std::move(parts), options); });
    queue::Processors processors;
    CHECK_OK(curator_->add_processors(processors));
    loop_->run([&] {
      engine_ =
          std::make_unique<queue::Engine>(loop_->loop(), *writer_, processors,
                                          queue::EngineOptions{.lease_ms = 2000, .scan_ms = 50});
      engine_->start();
    });
  }
  void stop() {
    if (!loop_) return;
    loop_->run_task([&]() -> net::Task<> { return curator_->stop(); });
    loop_->run_task([&]() -> net::Task<> { return engine_->stop(5000); });
    loop_->run([&] {
      engine_.reset();
      curator_.reset();
    });
    loop_.reset();
  }

  tree::JobId begin(Kind kind, std::vector<Source> sources) {
    CurateRequest request;
    request.kind = kind;
    request.collection = "default";
    request.sources = std::move(sources);
    tree::JobId job;
    loop_->run_task([&]() -> net::Task<> { return begin_one(request, job); });
    return job;
  }
  net::Task<> begin_one(CurateRequest request, tree::JobId& job) {
    const Result<CurateReply> reply = co_await curator_->begin(std::move(request));
    EXPECT_TRUE(reply.ok() && reply->job) << (reply.ok() ? "no job" : reply.error().message());
    if (reply.ok() && reply->job) job = reply->job->id;
  }
  Curation load(tree::JobId job) {
    return readers_->run([job](Tx& tx) { return load_curation(tx, job); }).value();
  }
  // Whether it has ended, in time.
  bool ends(tree::JobId job) {
    const auto give_up = std::chrono::steady_clock::now() + support::kProgramPatience;
    while (load(job).ended_us == 0) {
      if (std::chrono::steady_clock::now() > give_up) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return true;
  }
  std::map<std::string, Curated> all(Kind kind) {
    CuratedFilter filter;
    filter.kind = kind;
    const auto list = readers_->run([filter](Tx& tx) { return list_curated(tx, filter); });
    std::map<std::string, Curated> by_title;
    for (const Curated& one : list.value()) by_title[one.title] = one;
    EXPECT_EQ(by_title.size(), list->size()) << "one is there twice";
    return by_title;
  }
  std::vector<FeedRow> feeds() {
    return readers_->run([](Tx& tx) { return list_feeds(tx, {}); }).value();
  }
  std::vector<FeedRow> claim() {
    return writer_->run({}, [](Tx& tx) { return claim_due_feeds(tx, 10); }).value();
  }
  Source feed_source() {
    Source source;
    source.what = SourceKind::Feed;
    source.url = site_.url();
    return source;
  }

  std::int64_t tries_max_ = 1;
  FeedSite site_;
  std::unique_ptr<store::Readers> readers_;
  std::unique_ptr<io::Pool> pool_;
  std::unique_ptr<blob::BlobStore> blobs_;
  std::unique_ptr<queue::LoopThread> loop_;
  std::unique_ptr<Curator> curator_;
  std::unique_ptr<queue::Engine> engine_;
};

TEST_P(CurationTest, PagesThatLeadToEachOtherEnd) {
  site_.put_sound("/1.wav", 1);
  site_.put_sound("/2.wav", 2);
  site_.put_feed({{"g1", "One", "1.wav"}}, "/feed.xml", "feed2.xml");
  site_.put_feed({{"g2", "Two", "2.wav"}, {"g1", "One", "1.wav"}}, "/feed2.xml", "feed.xml");
  const tree::JobId job = begin(Kind::Episode, {feed_source()});
  ASSERT_TRUE(ends(job));
  const auto episodes = all(Kind::Episode);
  ASSERT_EQ(episodes.size(), 2U);
  EXPECT_EQ(episodes.at("One").media, MediaState::Ready);
  EXPECT_EQ(episodes.at("Two").media, MediaState::Ready);
  EXPECT_EQ(site_.times("/1.wav"), 1U);
  const auto sources =
      readers_->run([job](Tx& tx) { return list_sources(tx, job, kSourcesListedMax); });
  EXPECT_EQ(sources->size(), 2U);
}

TEST_P(CurationTest, MoreEntriesThanOneTransactionTakes) {
  std::vector<support::FeedItem> items;
  for (int i = 0; i < 120; ++i) {
    items.push_back({fmt::format("g{}", i), fmt::format("Episode {}", i), "gone.wav"});
  }
  site_.put_feed(items);
  const tree::JobId job = begin(Kind::Episode, {feed_source()});
  ASSERT_TRUE(ends(job));
  const auto episodes = all(Kind::Episode);
  // list_curated() gives a page of 100; the sources say how many there are.
  EXPECT_EQ(episodes.size(), 100U);
  const auto source = readers_->run([job](Tx& tx) { return load_source(tx, job, 1); });
  EXPECT_EQ(source->found, 120);
  EXPECT_EQ(source->changed, 120);
  EXPECT_THAT(episodes.begin()->second.problem, HasSubstr("not-found"));
}

// Each page leads to another one.
TEST_P(CurationTest, AFeedThatNeverEndsIsReadUpToALimit) {
  for (int page = 1; page <= 10; ++page) {
    std::vector<support::FeedItem> items;
    for (int i = 0; i < 200; ++i) items.push_back({fmt::format("g{}", i), "The same", "gone.wav"});
    const std::string path = page == 1 ? "/feed.xml" : fmt::format("/{}.xml", page);
    site_.put_feed(items, path, fmt::format("{}.xml", page + 1));
  }
  const tree::JobId job = begin(Kind::Episode, {feed_source()});
  ASSERT_TRUE(ends(job));
  const auto sources =
      readers_->run([job](Tx& tx) { return list_sources(tx, job, kSourcesListedMax); });
  ASSERT_EQ(sources->size(), 3U) << "200 of each";
  EXPECT_EQ(sources->at(1).problem, "");
  EXPECT_THAT(sources->at(2).problem, HasSubstr("600 entries were taken"));
}

TEST_P(CurationTest, AServerThatDiesLeavesItToTheNext) {
  site_.put_sound("/1.wav", 1);
  support::Fault hang;
  hang.kind = support::Fault::Kind::Hang;
  hang.after = 10;
  site_.files().add_fault("/1.wav", hang);
  site_.put_feed({{"g1", "One", "1.wav"}});
  const tree::JobId job = begin(Kind::Clip, {feed_source()});
  const auto give_up = std::chrono::steady_clock::now() + support::kProgramPatience;
  while (site_.times("/1.wav") == 0 && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  stop();
  start();
  ASSERT_TRUE(ends(job));
  const Curated one = all(Kind::Clip).at("One");
  EXPECT_EQ(one.media, MediaState::Ready);
  EXPECT_GT(one.number, 0);
  EXPECT_EQ(site_.times("/1.wav"), 2U);
}

// The feed answers, and the sound is away for an hour; then the other way round.
TEST_P(CurationTest, WhatACanceledJobWaitsForEndsWithIt) {
  stop();
  tries_max_ = 4;
  start();
  support::Fault away;
  away.status = 503;
  away.times = 1;
  away.headers = {{"Retry-After", "3600"}};
  site_.put_sound("/1.wav", 1);
  site_.put_feed({{"g1", "One", "1.wav"}});
  for (const char* path : {"/1.wav", "/feed.xml"}) {
    const std::size_t before = site_.times(path);
    away.nth = static_cast<int>(before) + 1;
    site_.files().add_fault(path, away);
    const tree::JobId job = begin(Kind::Episode, {feed_source()});
    const auto give_up = std::chrono::steady_clock::now() + support::kProgramPatience;
    while (site_.times(path) == before && std::chrono::steady_clock::now() < give_up) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    // Its item may be on its way to sleep just now.
    const auto canceled =
        writer_->run({}, [job](Tx& tx) -> Result<tree::Job> { return tree::cancel_job(tx, job); });
    ASSERT_TRUE(canceled.ok());
    loop_->run_task([&]() -> net::Task<> { return curator_->job_canceled(job); });
    EXPECT_TRUE(ends(job)) << path;
    EXPECT_EQ(site_.times(path), before + 1) << "nobody asks again";
  }
  EXPECT_THAT(all(Kind::Episode).at("One").problem, HasSubstr("canceled"));
  // What it lacks comes when it is asked for again.
  ASSERT_TRUE(ends(begin(Kind::Episode, {feed_source()})));
  EXPECT_EQ(all(Kind::Episode).at("One").media, MediaState::Ready);
  EXPECT_EQ(all(Kind::Episode).at("One").problem, "");
}

TEST_P(CurationTest, ANewVersionThatCouldNotBeHadIsTriedAgain) {
  site_.put_sound("/1.wav", 1);
  site_.put_feed({{"g1", "One", "1.wav"}});
  ASSERT_TRUE(ends(begin(Kind::Episode, {feed_source()})));
  const Curated before = all(Kind::Episode).at("One");
  site_.put_feed({{"g1", "One", "2.wav"}});
  ASSERT_TRUE(ends(begin(Kind::Episode, {feed_source()})));
  const Curated between = all(Kind::Episode).at("One");
  EXPECT_EQ(between.sha256, before.sha256) << "what is here stays";
  EXPECT_THAT(between.problem, HasSubstr("not-found"));
  site_.put_sound("/2.wav", 2);
  ASSERT_TRUE(ends(begin(Kind::Episode, {feed_source()})));
  const Curated after = all(Kind::Episode).at("One");
  EXPECT_EQ(after.media, MediaState::Ready);
  EXPECT_EQ(after.problem, "");
  EXPECT_NE(after.sha256, before.sha256);
  ASSERT_TRUE(ends(begin(Kind::Episode, {feed_source()})));
  EXPECT_EQ(site_.times("/1.wav"), 1U);
  EXPECT_EQ(site_.times("/2.wav"), 2U) << "what is here is not fetched again";
}

TEST_P(CurationTest, AnEarlierJobThatEndsLateChangesNothingOfWhatALaterOneBrought) {
  site_.put_sound("/1.wav", 1);
  site_.put_feed({{"g1", "One", "1.wav"}});
  support::Fault hang;
  hang.kind = support::Fault::Kind::Hang;
  hang.after = 10;
  site_.files().add_fault("/1.wav", hang);
  const tree::JobId first = begin(Kind::Episode, {feed_source()});
  const auto give_up = std::chrono::steady_clock::now() + support::kProgramPatience;
  while (site_.times("/1.wav") == 0 && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const auto canceled = writer_->run(
      {}, [first](Tx& tx) -> Result<tree::Job> { return tree::cancel_job(tx, first); });
  ASSERT_TRUE(canceled.ok());
  const tree::JobId second = begin(Kind::Episode, {feed_source()});
  ASSERT_NE(first, second);
  ASSERT_TRUE(ends(second));
  EXPECT_EQ(all(Kind::Episode).at("One").media, MediaState::Ready);
  // The first one's request ends now, and with it the first one.
  stop();
  start();
  ASSERT_TRUE(ends(first));
  const Curated one = all(Kind::Episode).at("One");
  EXPECT_EQ(one.media, MediaState::Ready);
  EXPECT_EQ(one.problem, "");
  EXPECT_EQ(one.job, second);
}

TEST_P(CurationTest, AFeedIsCheckedByOneAtATimeAndLessOftenWhereItFails) {
  site_.put_feed({{"g1", "One", "gone.wav"}});
  ASSERT_TRUE(ends(begin(Kind::Episode, {feed_source()})));
  ASSERT_EQ(feeds().size(), 1U);
  EXPECT_TRUE(claim().empty()) << "it was looked at just now";
  const FeedId id = feeds()[0].id;
  ASSERT_NO_FATAL_FAILURE(script("UPDATE research_feed SET next_us = 0"));
  ASSERT_EQ(claim().size(), 1U);
  EXPECT_TRUE(claim().empty()) << "somebody looks at it";
  std::vector<std::int64_t> waits;
  for (int i = 0; i < 30; ++i) {
    const auto noted = writer_->run({}, [id](Tx& tx) -> Result<bool> {
      TRY(note_feed_problem(tx, id, "server: it is away", 3'600'000'000));
      return true;
    });
    ASSERT_TRUE(noted.ok());
    const FeedRow row = feeds()[0];
    waits.push_back(row.next_us - *row.checked_us);
  }
  EXPECT_EQ(waits[0], 3'600'000'000);
  EXPECT_EQ(waits[1], 7'200'000'000);
  EXPECT_EQ(waits.back(), kFeedCheckMsMax * 1000);
  EXPECT_EQ(feeds()[0].failures, 30);
  const auto removed = writer_->run({}, [id](Tx& tx) -> Result<bool> {
    TRY(remove_feed(tx, id));
    return true;
  });
  EXPECT_TRUE(removed.ok());
  EXPECT_TRUE(feeds().empty());
}

INSTANTIATE_TEST_SUITE_P(Stores, CurationTest,
                         testing::Values(StoreKind::Sqlite, StoreKind::Postgres),
                         store::store_name);

}  // namespace
}  // namespace quern::research
