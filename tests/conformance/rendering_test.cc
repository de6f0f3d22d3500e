// Renderings: the PDF of a web page beside its document; on every store.
#include "tree/rendering.h"

#include <fmt/format.h>

#include "conformance/engine_fixture.h"
#include "conformance/tree_fixture.h"
#include "step/renderer.h"
#include "tree/remove.h"

namespace quern::tree {
namespace {

using model::ErrorKind;

class RenderingTest : public TreeTest {
 protected:
  static NewFile page(const std::string& name, const std::string& text) {
    NewFile file = file_of(name, "<html>" + text, "Page");
    file.content_type = "text/html";
    file.text = Text{text, {}, blob::sha256_of(text), false};
    file.complete = true;
    return file;
  }
  // A crawl with one page that is a document, done.
  Job made_job(const std::string& key) {
    const Job job = open_job(key);
    const File root = add_root(job, 0, key + ".test/", "Page");
    page_ = add_child(root, 0, page(key + ".test/", "words of " + key)).id;
    finish(root);
    ingest(root.shard);
    seal(job.id);
    finish_shard_of(job);
    return reload(job.id);
  }
  static NewRendering made_of(FileId file, const std::string& word) {
    NewRendering made;
    made.file = file;
    made.pdf = put("%PDF-1.4 " + word);
    made.thumbnail = Thumbnail{put("\x89PNG " + word), "image/png"};
    return made;
  }
  Result<KeptRendering> keep(const NewRendering& rendering) {
    return writer_->run({}, [rendering](Tx& tx) { return keep_rendering(tx, rendering); });
  }
  std::optional<Rendering> find(FileId file) {
    return *read([file](Tx& tx) { return find_rendering(tx, file); });
  }
  void remove_job(JobId id) {
    CHECK_OK(writer_->run({}, [id](Tx& tx) { return mark_deleting(tx, id); }));
    while (!*writer_->run({}, [id](Tx& tx) { return remove_some(tx, id); })) {
    }
  }
  std::unique_ptr<blob::BlobStore> open_blobs() {
    const blob::BlobUrl url = *blob::BlobUrl::parse("file:" + (folder_ / "blobs").string());
    auto blobs = blob::BlobStore::open(url, *writer_, *readers_, blob::BlobStore::Owner::OneOfMany);
    CHECK_OK(blobs);
    return *std::move(blobs);
  }
  std::int64_t sweep() {
    const auto blobs = open_blobs();
    std::int64_t rows = 0;
    while (true) {
      const Result<blob::Swept> swept = blob::sweep(*blobs, kDeleteUnreferenced);
      CHECK_OK(swept);
      rows += swept->rows;
      if (!swept->more) return rows;
    }
  }

  FileId page_;
};

TEST_P(RenderingTest, IsKeptOnceAndNothingOfTheDocumentChanges) {
  const Job job = made_job("one");
  const std::string before = show(job.id);
  EXPECT_TRUE(needs_rendering(load(page_)));
  EXPECT_FALSE(find(page_));

  const auto kept = keep(made_of(page_, "first"));
  ASSERT_TRUE(kept.ok()) << kept.error().message();
  EXPECT_TRUE(kept->kept);
  const auto again = keep(made_of(page_, "second"));
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->kept) << "the first one counts";

  const auto found = find(page_);
  ASSERT_TRUE(found && found->pdf && found->thumbnail);
  EXPECT_EQ(found->thumbnail_type, "image/png");
  const blob::BlobId pdf = *found->pdf;
  EXPECT_EQ(read([pdf](Tx& tx) { return blob::load_blob(tx, pdf, blob::Data::With); })->data,
            "%PDF-1.4 first");
  EXPECT_EQ(show(job.id), before);
  EXPECT_EQ(problems(), "");
}

TEST_P(RenderingTest, AFailureIsKeptToo) {
  made_job("one");
  NewRendering failed;
  failed.file = page_;
  failed.failure = Failure{ErrorKind::Timeout, "it took longer than 60 s"};
  EXPECT_TRUE(keep(failed)->kept);
  EXPECT_FALSE(keep(made_of(page_, "late"))->kept);
  const auto found = find(page_);
  ASSERT_TRUE(found && found->failure);
  EXPECT_FALSE(found->pdf);
  EXPECT_EQ(found->failure->kind, ErrorKind::Timeout);
  EXPECT_EQ(found->failure->message, "it took longer than 60 s");
  EXPECT_EQ(problems(), "");
}

TEST_P(RenderingTest, ADocumentThatIsGoneGetsNoneAndItsBytesAreNobodys) {
  NewRendering late = made_of(FileId{4711}, "late");
  late.pdf->data.clear();
  late.pdf->place = "7-a/1";
  const auto kept = keep(late);
  ASSERT_TRUE(kept.ok()) << kept.error().message();
  EXPECT_FALSE(kept->kept);
  EXPECT_EQ(kept->orphans, std::vector<std::string>{"7-a/1"});
  EXPECT_EQ(rows_of("rendering"), 0);
}

TEST_P(RenderingTest, OnlyAWebPageNeedsOne) {
  const Job job = open_job();
  const File root = add_root(job, 0, "a.zip");
  const FileId pdf = add_child(root, 0, document("a.zip/d.pdf", "text")).id;
  finish(root);
  ingest(root.shard);
  EXPECT_FALSE(needs_rendering(load(pdf)));
  EXPECT_FALSE(needs_rendering(load(root.id)));
  EXPECT_EQ(read([pdf](Tx& tx) { return load_unrendered(tx, pdf); }).error().kind(), Errc::Missing);
}

TEST_P(RenderingTest, GoesWithItsJobAndItsBlobsAreSwept) {
  const Job gone = made_job("gone");
  ASSERT_TRUE(keep(made_of(page_, "gone"))->kept);
  made_job("stays");
  ASSERT_TRUE(keep(made_of(page_, "stays"))->kept);
  EXPECT_EQ(sweep(), 0);
  remove_job(gone.id);
  EXPECT_EQ(rows_of("rendering"), 1);
  EXPECT_EQ(problems(), "");
  // Its page, its PDF and its thumbnail; the roots have equal bytes only where they are called so.
  EXPECT_GE(sweep(), 3);
  const auto found = find(page_);
  ASSERT_TRUE(found && found->pdf) << "another's is not touched";
  const blob::BlobId pdf = *found->pdf;
  EXPECT_TRUE(read([pdf](Tx& tx) { return blob::load_blob(tx, pdf, blob::Data::With); }).ok());
}

TEST_P(RenderingTest, GoesWithItsPage) {
  made_job("one");
  ASSERT_TRUE(keep(made_of(page_, "one"))->kept);
  const File file = load(page_);
  const FileId root = *file.root;
  const auto gone = change(file.shard, [root](Tx& tx) { return remove_root(tx, root); });
  ASSERT_TRUE(gone.ok() && *gone) << gone.error().message();
  EXPECT_EQ(rows_of("rendering"), 0);
  EXPECT_EQ(problems(), "");
  EXPECT_GE(sweep(), 3);
}

TEST_P(RenderingTest, TheCheckFindsOneWithoutADocument) {
  script("INSERT INTO rendering (file, error, error_kind, made_us) VALUES (99, 'so', 'crash', 1)");
  EXPECT_EQ(problems(), "a rendering is of file 99, which is no document");
}

// -- the renderer --

// The processor of renderings, without an engine: a test plays that.
class RendererTest : public RenderingTest {
 protected:
  void open_renderer() {
    blobs_ = open_blobs();
    pool_ = std::make_unique<io::Pool>(io::PoolOptions{.threads = 1});
    thread_.run([this] {
      pipeline_ = std::make_shared<step::Pipeline>(
          step::PipelineParts{thread_.loop(), *writer_, *readers_, *pool_, *blobs_},
          step::PipelineOptions{.waits_for_workers = true}, step::PipelineEvents{});
      renderer_ = std::make_shared<step::Renderer>(pipeline_, [](queue::PartitionId) {});
    });
  }
  void TearDown() override {
    thread_.run([this] {
      renderer_.reset();
      if (pipeline_) pipeline_->stop();
      pipeline_.reset();
    });
    pool_.reset();
    blobs_.reset();
    RenderingTest::TearDown();
  }
  // A call of the item of this file, as the engine makes it.
  queue::Work call(FileId file, std::int64_t calls) {
    const auto partition = queue::ensure_partition(*writer_, *readers_, step::kRenderKind);
    CHECK_OK(partition);
    queue::Work work;
    work.partition = *partition;
    work.item.name = fmt::format("{}", file);
    work.item.calls = calls;
    return work;
  }
  queue::Outcome process(queue::Work work) {
    std::promise<queue::Outcome> ended;
    auto outcome = ended.get_future();
    thread_.run([&] {
      renderer_->process(work, [&ended](queue::Outcome one) { ended.set_value(std::move(one)); });
    });
    CHECK(outcome.wait_for(queue::kPatience) == std::future_status::ready);
    return outcome.get();
  }

  queue::LoopThread thread_;
  std::unique_ptr<blob::BlobStore> blobs_;
  std::unique_ptr<io::Pool> pool_;
  std::shared_ptr<step::Pipeline> pipeline_;
  std::shared_ptr<step::Renderer> renderer_;
};

TEST_P(RendererTest, APageWhoseServersDieTooOftenIsGivenUp) {
  made_job("one");
  open_renderer();
  const queue::Outcome outcome = process(call(page_, step::kRenderCallsMax + 1));
  EXPECT_TRUE(outcome.done);
  const auto found = find(page_);
  ASSERT_TRUE(found && found->failure);
  EXPECT_EQ(found->failure->kind, ErrorKind::Crash);
}

TEST_P(RendererTest, WhatIsMadeAlreadyOrGoneOnlyEnds) {
  made_job("one");
  ASSERT_TRUE(keep(made_of(page_, "one"))->kept);
  open_renderer();
  EXPECT_TRUE(process(call(page_, 1)).done);
  EXPECT_TRUE(process(call(FileId{4711}, 1)).done);
  queue::Work strange = call(page_, 1);
  strange.item.name = "no file";
  EXPECT_TRUE(process(strange).done);
  EXPECT_EQ(rows_of("rendering"), 1);
}

TEST_P(RendererTest, AServerThatEndsStoresNothing) {
  made_job("one");
  open_renderer();
  std::promise<queue::Outcome> ended;
  thread_.run([&] {
    renderer_->process(call(page_, 1),
                       [&ended](queue::Outcome one) { ended.set_value(std::move(one)); });
  });
  ASSERT_TRUE(queue::eventually([&] {
    bool waits = false;
    thread_.run([&] { waits = pipeline_->stats().at(step::kRenderStep).waiting == 1; });
    return waits;
  }));
  thread_.run([&] { pipeline_->stop(); });
  EXPECT_EQ(ended.get_future().get().kind, queue::Outcome::Kind::Canceled);
  EXPECT_EQ(rows_of("rendering"), 0);
}

INSTANTIATE_TEST_SUITE_P(Stores, RenderingTest,
                         testing::Values(StoreKind::Sqlite, StoreKind::Postgres),
                         store::store_name);
INSTANTIATE_TEST_SUITE_P(Stores, RendererTest,
                         testing::Values(StoreKind::Sqlite, StoreKind::Postgres),
                         store::store_name);

}  // namespace
}  // namespace quern::tree
