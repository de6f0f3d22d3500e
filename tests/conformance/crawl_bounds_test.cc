// What is kept in memory of crawls is bounded, and beyond the bounds nothing is lost; on every
// store.
#include <gmock/gmock.h>

#include <boost/json.hpp>

#include "conformance/crawl_fixture.h"
#include "crawl/service.h"
#include "support/test_site.h"

namespace quern::crawl {
namespace {

namespace json = boost::json;

class CrawlBoundsTest : public CrawlStoreTest {
 protected:
  // A fetch of a page is recorded: it leads where nobody follows.
  void record_redirect(PageId id) {
    const Page page = *readers_->run([id](Tx& tx) { return load_page(tx, id); });
    const Site site = *readers_->run([&page](Tx& tx) { return load_site(tx, page.site); });
    FetchRecord record;
    record.page = page;
    record.status = 301;
    record.why = "it leads elsewhere";
    record.why_kind = "redirect";
    record.links = R"({"kind":"redirect","links":[{"href":"ftp://elsewhere.test/"}]})";
    auto write = store::Fenced{store::Fence{site.partition.value, 0},
                               [&record](Tx& tx) { return record_fetch(tx, record); }};
    const Result<Recorded> done = writer_->run(queue::lane_of(site.partition), write);
    CHECK_OK(done);
    CHECK(done->state == PageState::Fetched);
  }
  std::vector<PageId> all_pages() {
    static constexpr Sql kIds{"SELECT id FROM page ORDER BY id LIMIT 1000"};
    return *readers_->run([](Tx& tx) -> Result<std::vector<PageId>> {
      TRY_ASSIGN(const store::Rows rows, tx.query(kIds));
      std::vector<PageId> ids;
      for (const store::Row row : rows) ids.push_back(row.get<PageId>(0));
      return ids;
    });
  }
};

TEST_P(CrawlBoundsTest, ACrawlThatIsNotKeptIsReadAgain) {
  std::vector<tree::Job> jobs;
  for (const char* key : {"a", "b", "c"}) jobs.push_back(begin(key));
  CrawlCache cache(2);
  for (int round = 0; round < 2; ++round) {
    for (const tree::Job& job : jobs) {
      const Result<Crawl> crawl = readers_->run([&](Tx& tx) { return cache.load(tx, job.id); });
      ASSERT_TRUE(crawl.ok()) << crawl.error().message();
      EXPECT_EQ(crawl->job, job.id);
      EXPECT_EQ(crawl->order->urls, std::vector<std::string>{"http://a.test/"});
      EXPECT_TRUE(cache.contains(job.id));
    }
    int kept = 0;
    for (const tree::Job& job : jobs) kept += cache.contains(job.id) ? 1 : 0;
    EXPECT_LE(kept, 2);
  }
}

// What has no room is found by the sweep.
TEST_P(CrawlBoundsTest, PagesThatAreNamedBeyondTheBoundAreFollowedToo) {
  constexpr int kPages = 20;
  const tree::Job job = begin("only");
  admit_pages(job, "a.test", kPages);
  const std::vector<PageId> pages = all_pages();
  ASSERT_EQ(pages.size(), static_cast<std::size_t>(kPages));
  for (const PageId page : pages) record_redirect(page);
  CrawlCache cache;
  io::Pool pool(io::PoolOptions{.threads = 1});
  std::atomic<int> settled = 0;
  FollowingParts parts{.loop = loop_.loop(),
                       .writer = *writer_,
                       .readers = *readers_,
                       .pool = pool,
                       .crawls = cache,
                       .waiting_max = 3,
                       .poke = [](queue::PartitionId) {},
                       .sealed = [](tree::JobId) {},
                       .reset_timer = [](const Crawl&) {},
                       .settled = [&settled](const Page&, bool) { ++settled; }};
  const auto follower = std::make_shared<Follower>(std::move(parts));
  loop_.run([&] {
    for (const PageId page : pages) follower->fetched(page);
    follower->start();
  });
  EXPECT_TRUE(queue::eventually([&] { return settled == kPages; })) << settled;
  loop_.run_task([&]() -> net::Task<> { return follower->stop(); });
  for (const PageId id : pages) {
    const Page page = *readers_->run([id](Tx& tx) { return load_page(tx, id); });
    EXPECT_EQ(page.state, PageState::Out) << page.url;
  }
}

// A server whose every bound is reached; its sites answer 404, so that nothing has to be read.
class SmallServiceTest : public CrawlStoreTest {
 protected:
  void SetUp() override {
    CrawlStoreTest::SetUp();
    pool_ = std::make_unique<io::Pool>(io::PoolOptions{.threads = 2});
    const auto url = blob::BlobUrl::of_folder(folder_ / "blobs");
    blobs_ = *blob::BlobStore::open(url, *writer_, *readers_, blob::BlobStore::Owner::Only);
    ServiceParts parts{.loop = loop_.loop(),
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
                       .poke = [this](queue::PartitionId id) { engine_->poke(id); },
                       .poke_timers = [] {},
                       .publish = [](std::string_view, json::object) {}};
    parts.open_job = [this](const tree::NewJob& order) {
      return step::open_import(*writer_, *readers_, order, [](queue::PartitionId) {});
    };
    ServiceOptions options;
    options.allow_private = "*";
    options.connect_to = {{"*", fmt::format("127.0.0.1:{}", site_.port())}};
    options.limits = {.crawls_kept = 2,
                      .fetched_sites_kept = 2,
                      .followed_sites_kept = 2,
                      .waiting_max = 1,
                      .seeded_at_once = 2};
    service_ = *Service::open(std::move(parts), options);
    queue::Processors processors;
    CHECK_OK(service_->add_processors(processors));
    loop_.run([&] {
      engine_ =
          std::make_unique<queue::Engine>(loop_.loop(), *writer_, processors,
                                          queue::EngineOptions{.lease_ms = 2000, .scan_ms = 50});
      engine_->start();
      service_->start();
    });
  }
  void TearDown() override {
    loop_.run_task([&]() -> net::Task<> { return service_->stop(); });
    loop_.run_task([&]() -> net::Task<> { return engine_->stop(5000); });
    loop_.run([&] {
      engine_.reset();
      service_.reset();
    });
    blobs_.reset();
    pool_.reset();
    CrawlStoreTest::TearDown();
  }
  static net::Task<> begin_task(Service* service, CrawlOrder order, bool* begun) {
    const Result<tree::Job> job = co_await service->begin(std::move(order));
    *begun = job.ok();
  }
  bool begin_crawl_of(const std::vector<std::string>& urls) {
    const json::object given{
        {"urls", json::array(urls.begin(), urls.end())}, {"collection", "default"}, {"delay", 0}};
    bool begun = false;
    loop_.run_task([&]() -> net::Task<> {
      return begin_task(service_.get(), *parse_order(json::serialize(given)), &begun);
    });
    return begun;
  }

  support::TestSite site_;
  std::unique_ptr<io::Pool> pool_;
  std::unique_ptr<blob::BlobStore> blobs_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<queue::Engine> engine_;
};

TEST_P(SmallServiceTest, MoreCrawlsAndSitesThanItKeepsAreAllSeenTo) {
  static constexpr Sql kEnded{"SELECT count(*) FROM crawl WHERE ended AND seeded"};
  static constexpr Sql kOut{
      "SELECT count(*) FROM page WHERE state = 4 AND why_kind = 'status' AND status = 404"};
  constexpr int kCrawls = 8;
  constexpr int kSitesOfEach = 4;
  for (int crawl = 0; crawl < kCrawls; ++crawl) {
    std::vector<std::string> urls;
    for (int i = 0; i < kSitesOfEach; ++i) {
      const int host = crawl * kSitesOfEach + i;
      for (const char* page : {"none", "nothing"}) {
        urls.push_back(fmt::format("http://host{:04}.test/{}", host, page));
      }
    }
    ASSERT_TRUE(begin_crawl_of(urls));
  }
  ASSERT_TRUE(queue::eventually([&] { return count(kEnded) == kCrawls; })) << count(kEnded);
  EXPECT_EQ(count(kOut), 2 * kCrawls * kSitesOfEach);
  for (int host = 0; host < kCrawls * kSitesOfEach; ++host) {
    std::multiset<std::string> asked;
    for (const support::SiteRequest& one : site_.log(0, fmt::format("host{:04}.test", host))) {
      asked.insert(one.target);
    }
    // What is not kept of robots.txt is in the store.
    EXPECT_THAT(asked, testing::ElementsAre("/none", "/nothing", "/robots.txt")) << host;
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, CrawlBoundsTest,
                         testing::Values(store::StoreKind::Sqlite, store::StoreKind::Postgres),
                         store::store_name);
INSTANTIATE_TEST_SUITE_P(Stores, SmallServiceTest,
                         testing::Values(store::StoreKind::Sqlite, store::StoreKind::Postgres),
                         store::store_name);

}  // namespace
}  // namespace quern::crawl
