// What the tests of crawls share: a store of either kind, with crawls and pages that nobody
// fetches.
#pragma once

#include "conformance/engine_fixture.h"
#include "crawl/crawl.h"
#include "crawl/page.h"
#include "step/import.h"

namespace quern::crawl {

using store::Sql;
using store::Tx;

class CrawlStoreTest : public store::StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    store::WriterOptions options;
    options.guard = std::make_shared<queue::PartitionGuard>();
    ASSERT_NO_FATAL_FAILURE(open(options));
    readers_ = *store::Readers::open(*database_, {});
  }
  void TearDown() override {
    readers_.reset();
    close();
  }

  tree::Job begin(const std::string& key, const std::string& collection = "default") {
    tree::NewJob wanted;
    wanted.kind = "crawl";
    wanted.collection = collection;
    wanted.key = key;
    wanted.source = "http://a.test/";
    const Result<tree::Job> job =
        step::open_import(*writer_, *readers_, wanted, [](queue::PartitionId) {});
    CHECK_OK(job);
    CrawlOrder order;
    order.urls = {"http://a.test/"};
    order.collection = collection;
    CHECK_OK(writer_->run({}, [&](Tx& tx) -> Result<bool> {
      TRY(begin_crawl(tx, *job, order));
      return true;
    }));
    return *job;
  }
  // So many pages of a site, "http://SITE/0", …
  void admit_pages(const tree::Job& job, const std::string& name, int pages) {
    const Result<Site> site = ensure_site(*writer_, *readers_, name, 1);
    CHECK_OK(site);
    for (int from = 0; from < pages; from += static_cast<int>(kAdmittedAtOnce)) {
      AdmitOrder order{*site, job.id, job.collection, 1'000'000, {}};
      for (int i = from; i < std::min(pages, from + static_cast<int>(kAdmittedAtOnce)); ++i) {
        Candidate candidate;
        candidate.url = fmt::format("http://{}/{}", name, i);
        candidate.again = true;
        order.candidates.push_back(std::move(candidate));
      }
      auto put = store::Fenced{store::Fence{site->partition.value, 0},
                               [&order](Tx& tx) { return admit(tx, order); }};
      CHECK_OK(writer_->run(queue::lane_of(site->partition), put));
    }
  }
  std::int64_t count(const Sql& question) {
    return *readers_->run([&](Tx& tx) { return tx.value<std::int64_t>(question); });
  }
  std::int64_t pages() {
    static constexpr Sql kPages{"SELECT count(*) FROM page"};
    return count(kPages);
  }

  std::unique_ptr<store::Readers> readers_;
  queue::LoopThread loop_;
};

}  // namespace quern::crawl
