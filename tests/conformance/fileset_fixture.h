// What the tests of datasets share: a store of either kind, an engine at work, and a world outside
// that answers from a script.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conformance/engine_fixture.h"
#include "conformance/fileset_doubles.h"
#include "fileset/landing.h"
#include "fileset/scripted_outside.h"
#include "fileset/service.h"
#include "fileset/show.h"
#include "step/import.h"

namespace quern::fileset {

class FilesetTest : public store::StoreTest {
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
    answer_ = std::make_shared<PlatformAnswer>();
    web_ = std::make_shared<ScriptedWeb>();
    items_ = std::make_shared<ScriptedItems>();
    auto platforms = std::make_shared<Platforms>();
    platforms->push_back(std::make_unique<ScriptedPlatform>(answer_));
    platforms_ = platforms;
    web_->pages[kPageUrl] = page_of(kPageUrl, "<html><head></head><body>data</body></html>");
    start();
  }
  void TearDown() override {
    stop();
    blobs_.reset();
    pool_.reset();
    readers_.reset();
    close();
  }

  // The server begins, or begins again after a death.
  void start() {
    loop_ = std::make_unique<queue::LoopThread>();
    ServiceParts parts{.loop = loop_->loop(),
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
                       .publish = [](std::string_view, boost::json::object) {}};
    parts.open_job = [this](const tree::NewJob& order) {
      return step::open_import(*writer_, *readers_, order, [](queue::PartitionId) {});
    };
    parts.poke = [this](queue::PartitionId id) { engine_->poke(id); };
    ServiceOptions options;
    options.tries_max = 1;
    options.at_once = at_once_;
    service_ = std::make_unique<Service>(std::move(parts), options);
    queue::Processors processors;
    CHECK_OK(service_->add_processors(processors, backends()));
    loop_->run([&] {
      engine_ =
          std::make_unique<queue::Engine>(loop_->loop(), *writer_, processors,
                                          queue::EngineOptions{.lease_ms = 2000, .scan_ms = 50});
      engine_->start();
    });
  }
  void stop() {
    if (!loop_) return;
    loop_->run([&] { service_->stop(); });
    loop_->run_task([&]() -> net::Task<> { return engine_->stop(5000); });
    loop_->run([&] { engine_.reset(); });
    service_.reset();
    loop_->run([&] { closed(); });
    loop_.reset();
  }

  virtual std::shared_ptr<WebArchive> tool_web() { return web_; }
  virtual Backends backends() {
    return {outside_,
            [this](const ToolOrder&) {
              return Tools{tool_web(), has_account_ ? items_ : nullptr, platforms_};
            },
            [] {}};
  }
  // On the loop, when nothing uses the backends any more.
  virtual void closed() {}

  // A file of the platform's, with the bytes that are served.
  ManifestFile& add_file(const std::string& path, const std::string& bytes) {
    ManifestFile file;
    file.path = path;
    file.size = static_cast<std::int64_t>(bytes.size());
    file.md5 = md5_hex(bytes);
    file.platform_url = "https://data.test/files/" + path;
    outside_.file(file.platform_url, bytes);
    PlatformItem& item = answer_->item;
    item.platform_name = "scripted";
    item.platform_domain = "data.test";
    item.platform_id = "1";
    item.archiveorg_item_name = "data.test-1";
    item.manifest.push_back(file);
    return item.manifest.back();
  }

  DatasetOrder order_of(const std::string& url = kPageUrl, RequestOptions options = {}) {
    DatasetOrder order;
    order.collection = "default";
    order.request = *parse_request(request_of(url));
    order.options = std::move(options);
    return order;
  }
  tree::Job begin(DatasetOrder order) {
    Result<tree::Job> job = Error{Errc::Internal, "not run"};
    loop_->run_task([&]() -> net::Task<> { return begin_task(this, &order, &job); });
    CHECK_OK(job);
    return *std::move(job);
  }
  static net::Task<> begin_task(FilesetTest* self, DatasetOrder* order, Result<tree::Job>* job) {
    *job = co_await self->service_->begin(std::move(*order));
  }
  Result<tree::Job> retry(tree::JobId id) {
    Result<tree::Job> job = Error{Errc::Internal, "not run"};
    loop_->run_task([&]() -> net::Task<> { return retry_task(this, id, &job); });
    return job;
  }
  static net::Task<> retry_task(FilesetTest* self, tree::JobId id, Result<tree::Job>* job) {
    *job = co_await self->service_->retry(id);
  }

  Shown load(tree::JobId job) {
    Result<Shown> shown = readers_->run([job](store::Tx& tx) { return load_shown(tx, job); });
    CHECK_OK(shown);
    return *std::move(shown);
  }
  // Waits for its end.
  Shown finish(tree::JobId job) {
    EXPECT_TRUE(queue::eventually([&] { return load(job).row.state == RequestState::Ended; }));
    return load(job);
  }
  boost::json::object result_of(tree::JobId job) {
    return boost::json::parse(finish(job).row.result).as_object();
  }
  boost::json::object run(RequestOptions options = {}) {
    return result_of(begin(order_of(kPageUrl, std::move(options))).id);
  }
  std::int64_t count(const store::Sql& sql) {
    return *readers_->run([&](store::Tx& tx) { return tx.value<std::int64_t>(sql); });
  }

  ScriptedOutside outside_;
  std::shared_ptr<PlatformAnswer> answer_;
  std::shared_ptr<ScriptedWeb> web_;
  std::shared_ptr<ScriptedItems> items_;
  std::shared_ptr<const Platforms> platforms_;
  bool has_account_ = true;
  std::int64_t at_once_ = 6;
  std::unique_ptr<store::Readers> readers_;
  std::unique_ptr<io::Pool> pool_;
  std::unique_ptr<blob::BlobStore> blobs_;
  std::unique_ptr<queue::LoopThread> loop_;
  std::unique_ptr<queue::Engine> engine_;
  std::unique_ptr<Service> service_;
};

}  // namespace quern::fileset
