// What goes with a crawl's job, and what others have of it; that it goes behind the locks of its
// sites; on every store.
#include "crawl/removal.h"

#include "conformance/crawl_fixture.h"

namespace quern::crawl {
namespace {

class CrawlRemovalTest : public CrawlStoreTest {
 protected:
  static net::Task<> remove_task(CrawlRemovalTest* self, tree::JobId job, Result<>* done) {
    const RemovalParts parts{self->loop_.loop(), *self->writer_, *self->readers_};
    *done = co_await remove_crawl(parts, job);
  }
  Result<> remove(tree::JobId job) {
    Result<> done;
    loop_.run_task([&]() -> net::Task<> { return remove_task(this, job, &done); });
    return done;
  }
};

TEST_P(CrawlRemovalTest, PagesOfAllSitesGoAndWhatAnotherCrawlWantsStays) {
  static constexpr Sql kParts{"SELECT count(*) FROM crawl_site"};
  static constexpr Sql kCrawls{"SELECT count(*) FROM crawl"};
  const tree::Job first = begin("first");
  admit_pages(first, "a.test", static_cast<int>(kRemovedAtOnce) + 300);
  admit_pages(first, "b.test", 3);
  const tree::Job second = begin("second");
  admit_pages(second, "c.test", 2);
  ASSERT_EQ(pages(), kRemovedAtOnce + 305);
  const Result<> removed = remove(first.id);
  ASSERT_TRUE(removed.ok()) << removed.error().message();
  EXPECT_EQ(pages(), 2);
  EXPECT_EQ(count(kParts), 1);
  EXPECT_EQ(count(kCrawls), 1);
  EXPECT_TRUE(remove(first.id).ok()) << "again";
  EXPECT_EQ(pages(), 2);
}

TEST_P(CrawlRemovalTest, ACrawlThatGoesTakesNoMorePages) {
  const tree::Job job = begin("only");
  admit_pages(job, "a.test", 1);
  ASSERT_TRUE(remove(job.id).ok());
  const Site site = *ensure_site(*writer_, *readers_, "a.test", 1);
  AdmitOrder order{site, job.id, job.collection, 1000, {}};
  order.candidates.emplace_back().url = "http://a.test/late";
  auto put = store::Fenced{store::Fence{site.partition.value, 0},
                           [&order](Tx& tx) { return admit(tx, order); }};
  const Result<Admitted> admitted = writer_->run(queue::lane_of(site.partition), put);
  ASSERT_FALSE(admitted.ok());
  EXPECT_EQ(admitted.error().kind(), Errc::Conflict);
  EXPECT_EQ(pages(), 0);
}

// Whoever holds a site's lock sees its pages as they are until it lets go.
TEST_P(CrawlRemovalTest, PagesGoBehindTheLockOfTheirSite) {
  static constexpr Sql kLock{"SELECT partition FROM site WHERE name = 'a.test'"};
  static constexpr Sql kHeld{"SELECT id FROM partition WHERE id = $1",
                             "SELECT id FROM partition WHERE id = $1 FOR UPDATE"};
  static constexpr Sql kWaiting{"SELECT 0",
                                "SELECT count(*) FROM pg_locks WHERE NOT granted AND database ="
                                " (SELECT oid FROM pg_database WHERE datname = current_database())"
                                " OR NOT granted AND database IS NULL"};
  const tree::Job job = begin("only");
  admit_pages(job, "a.test", 7);
  if (GetParam() == store::StoreKind::Sqlite) {  // there, whoever writes is alone
    EXPECT_TRUE(remove(job.id).ok());
    EXPECT_EQ(pages(), 0);
    return;
  }
  auto session = *database_->connect_writer();
  const std::int64_t partition = count(kLock);
  ASSERT_TRUE(session->script("BEGIN").ok());
  const store::Param row[] = {partition};
  ASSERT_TRUE(session->run(kHeld, row).ok());
  std::future<Result<>> removed = std::async(std::launch::async, [&] { return remove(job.id); });
  ASSERT_TRUE(queue::eventually([&] { return count(kWaiting) > 0; })) << "nobody waits";
  EXPECT_EQ(pages(), 7);
  ASSERT_TRUE(session->script("COMMIT").ok());
  const Result<> done = removed.get();
  EXPECT_TRUE(done.ok()) << done.error().message();
  EXPECT_EQ(pages(), 0);
}

INSTANTIATE_TEST_SUITE_P(Stores, CrawlRemovalTest,
                         testing::Values(store::StoreKind::Sqlite, store::StoreKind::Postgres),
                         store::store_name);

}  // namespace
}  // namespace quern::crawl
