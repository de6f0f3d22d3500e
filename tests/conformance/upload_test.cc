// Goal: an upload is one root, created while its bytes come, and written, dropped or expired once,
// whoever asks how often. Method: the functions of tree/upload.h on real stores, with the
// database's time in the test's hand.
#include "tree/upload.h"

#include <gmock/gmock.h>

#include "conformance/tree_fixture.h"

namespace quern::tree {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr char kNode[] = "here";
constexpr std::int64_t kKeptSeconds = kUploadKeptUs / queue::kSecondUs;

class UploadTest : public TreeTest {
 protected:
  NewUpload order_of(const Job& job, std::int64_t index, const std::string& name,
                     std::int64_t length) {
    NewFile file;
    file.filename = name;
    file.content_type = "application/octet-stream";
    file.step = "Detect";
    file.bytes = length;
    NewUpload order;
    order.root = root_of(job, index, std::move(file));
    order.name = "upload-of-" + name;
    order.node = kNode;
    order.metadata = "filename " + name;
    return order;
  }
  Result<Upload> try_create(const NewUpload& order) {
    return change(order.root.shard, [&](Tx& tx) { return create_upload(tx, order); });
  }
  Upload create(const Job& job, const std::string& name, std::int64_t length,
                bool own_job = false) {
    NewUpload order = order_of(job, 0, name, length);
    order.own_job = own_job;
    const Result<Upload> upload = try_create(order);
    CHECK_OK(upload);
    return *upload;
  }
  Result<std::int64_t> note(const Upload& upload, std::int64_t bytes) {
    return change(upload.shard, [&](Tx& tx) { return note_bytes(tx, upload.id, bytes); });
  }
  Result<AddedFile> complete(const Upload& upload, const std::string& bytes,
                             std::optional<Failure> failure = std::nullopt) {
    CompleteUpload order{upload, put(bytes), failure ? "" : "Detect", failure};
    return change(upload.shard, [&](Tx& tx) { return complete_upload(tx, order); });
  }
  bool drop(const Upload& upload, Drop why = Drop::Asked) {
    const Result<bool> gone =
        change(upload.shard, [&](Tx& tx) { return drop_upload(tx, upload, why); });
    CHECK_OK(gone);
    return *gone;
  }
  Result<Upload> find(const std::string& name) {
    return read([&](Tx& tx) { return load_upload(tx, name); });
  }
  std::vector<std::string> names(const Result<std::vector<Upload>>& uploads) {
    CHECK_OK(uploads);
    std::vector<std::string> names;
    for (const Upload& upload : *uploads) names.push_back(upload.name);
    return names;
  }
  std::vector<std::string> expired() {
    return names(read([](Tx& tx) { return list_expired_uploads(tx); }));
  }
  std::vector<std::string> unfinished(const std::string& node = kNode) {
    return names(read([&](Tx& tx) { return list_complete_uploads(tx, node, {}); }));
  }
};

TEST_P(UploadTest, ARootIsCreatedWhileItsBytesComeAndWrittenWithTheLast) {
  const Job job = open_job();
  const Upload upload = create(job, "a.zip", 5);
  EXPECT_EQ(upload.bytes, 0);
  EXPECT_TRUE(upload.root_waits);
  EXPECT_EQ(load(upload.file).state, model::FileState::Created);
  EXPECT_EQ(reload(job.id).sums.bytes_in, 5);

  ASSERT_TRUE(note(upload, 3).ok());
  EXPECT_EQ(find(upload.name)->bytes, 3);
  ASSERT_TRUE(note(upload, 5).ok());
  EXPECT_THAT(unfinished(), ElementsAre(upload.name));
  EXPECT_THAT(unfinished("elsewhere"), IsEmpty());

  const Result<AddedFile> written = complete(upload, "hello");
  ASSERT_TRUE(written.ok()) << written.error().message();
  const File root = load(upload.file);
  EXPECT_EQ(root.state, model::FileState::Written);
  EXPECT_EQ(root.bytes, 5);
  EXPECT_EQ(root.step, "Detect");
  const Upload done = *find(upload.name);
  EXPECT_TRUE(done.done);
  EXPECT_TRUE(done.complete());
  EXPECT_THAT(unfinished(), IsEmpty());
  EXPECT_FALSE(reload(job.id).sealed) << "the job is its maker's to seal";
  EXPECT_EQ(problems(), "");
}

TEST_P(UploadTest, CompletedTwiceItIsOneFileAndTheSecondPutIsAnOrphan) {
  const Job job = open_job();
  const Upload upload = create(job, "a.zip", 5, true);
  ASSERT_TRUE(complete(upload, "hello").ok());
  const Result<AddedFile> again = complete(upload, "hello");
  ASSERT_TRUE(again.ok()) << again.error().message();
  EXPECT_TRUE(again->existed);
  EXPECT_EQ(reload(job.id).sums.roots, 1);
  EXPECT_EQ(problems(), "");
}

TEST_P(UploadTest, AJobOfItsOwnIsSealedWithTheEndAndWithADrop) {
  const Job whole = open_job("upload:one");
  ASSERT_TRUE(complete(create(whole, "a", 5, true), "hello").ok());
  EXPECT_TRUE(reload(whole.id).sealed);

  const Job dropped = open_job("upload:two");
  EXPECT_TRUE(drop(create(dropped, "b", 5, true)));
  EXPECT_TRUE(reload(dropped.id).sealed);
  EXPECT_EQ(reload(dropped.id).sums.roots, 0);
  EXPECT_TRUE(finish_shard_of(dropped));
  EXPECT_EQ(reload(dropped.id).state, JobState::Done);
  EXPECT_EQ(problems(), "");
}

TEST_P(UploadTest, WhatNoStepTakesIsAnErrorWithItsBytes) {
  const Job job = open_job();
  const Upload upload = create(job, "run.bin", 5);
  const Failure unhandled{model::ErrorKind::Unhandled, "unhandled"};
  ASSERT_TRUE(complete(upload, "hello", unhandled).ok());
  const File root = load(upload.file);
  EXPECT_EQ(root.state, model::FileState::Processed);
  EXPECT_EQ(root.processing_error, "unhandled");
  EXPECT_EQ(root.step, "");
  EXPECT_TRUE(root.blob.has_value());
  EXPECT_EQ(problems(), "");
}

TEST_P(UploadTest, AskedForAgainItIsTheSameAndADifferentOneIsAConflict) {
  const Job job = open_job();
  NewUpload order = order_of(job, 4, "a.zip", 5);
  const Upload first = *try_create(order);
  ASSERT_TRUE(note(first, 2).ok());
  order.name = "another-random-name";
  const Result<Upload> again = try_create(order);
  ASSERT_TRUE(again.ok()) << again.error().message();
  EXPECT_EQ(again->name, first.name);
  EXPECT_EQ(again->bytes, 2);
  EXPECT_EQ(find(order.name).error().kind(), Errc::Missing);

  NewUpload longer = order;
  longer.root.file.bytes = 6;
  EXPECT_EQ(try_create(longer).error().kind(), Errc::Conflict);
  NewUpload other = order;
  other.metadata = "filename b";
  EXPECT_EQ(try_create(other).error().kind(), Errc::Conflict);
  NewUpload renamed = order;
  renamed.root.file.filename = "b.zip";
  EXPECT_EQ(try_create(renamed).error().kind(), Errc::Conflict);
}

TEST_P(UploadTest, ARootThatHasArrivedByOtherMeansNeedsNoUpload) {
  const Job job = open_job();
  const File root = add_root(job, 0, "a.zip");
  const Result<Upload> upload = try_create(order_of(job, 0, "a.zip", root.bytes));
  ASSERT_TRUE(upload.ok()) << upload.error().message();
  EXPECT_TRUE(upload->done);
  EXPECT_TRUE(upload->complete());
  EXPECT_EQ(upload->file, root.id);

  const File second = add_root(job, 1, "b.zip");
  const Result<Upload> other = try_create(order_of(job, 1, "b.zip", second.bytes + 1));
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().kind(), Errc::Conflict);
}

TEST_P(UploadTest, ASealedJobTakesNoNewUploadButLetsOthersGoOn) {
  const Job job = open_job();
  const NewUpload order = order_of(job, 0, "a.zip", 5);
  const Upload upload = *try_create(order);
  seal(job.id);
  EXPECT_EQ(try_create(order)->name, upload.name);
  EXPECT_EQ(try_create(order_of(job, 1, "b.zip", 5)).error().kind(), Errc::Conflict);
  EXPECT_FALSE(finish_shard_of(job)) << "a root is still coming";
  ASSERT_TRUE(complete(upload, "hello").ok());
  EXPECT_EQ(problems(), "");
}

TEST_P(UploadTest, BytesNeverCountBackwardsAndNotBehindTheEnd) {
  const Upload upload = create(open_job(), "a", 5);
  ASSERT_TRUE(note(upload, 4).ok());
  EXPECT_EQ(note(upload, 3).error().kind(), Errc::Missing);
  EXPECT_EQ(find(upload.name)->bytes, 4);
  ASSERT_TRUE(complete(upload, "hello").ok());
  EXPECT_EQ(note(upload, 5).error().kind(), Errc::Missing);
  EXPECT_TRUE(drop(upload));
  EXPECT_EQ(note(upload, 5).error().kind(), Errc::Missing);
}

TEST_P(UploadTest, ADroppedUploadTakesItsRootWithItUnlessThatIsWritten) {
  const Job job = open_job();
  const Upload upload = create(job, "a", 5);
  EXPECT_TRUE(drop(upload));
  EXPECT_FALSE(drop(upload));
  EXPECT_EQ(find(upload.name).error().kind(), Errc::Missing);
  EXPECT_EQ(rows_of("file"), 0);
  const Job after = reload(job.id);
  EXPECT_EQ(after.sums.roots, 0);
  EXPECT_EQ(after.sums.bytes_in, 0);
  EXPECT_EQ(after.sums.weight, 0);
  EXPECT_EQ(complete(upload, "hello").error().kind(), Errc::Missing);

  const Upload second = create(job, "a", 5);
  EXPECT_NE(second.file, upload.file);
  ASSERT_TRUE(complete(second, "hello").ok());
  EXPECT_TRUE(drop(second));
  EXPECT_EQ(load(second.file).state, model::FileState::Written);
  EXPECT_EQ(problems(), "");
}

TEST_P(UploadTest, ItExpiresSevenDaysAfterItsLastByte) {
  const Job job = open_job("upload:a");
  const Upload upload = create(job, "a", 5, true);
  pass(kKeptSeconds - 60);
  EXPECT_FALSE(find(upload.name)->expired);
  const Result<std::int64_t> until = note(upload, 1);
  ASSERT_TRUE(until.ok());
  EXPECT_EQ(find(upload.name)->expires_us, *until);
  pass(kKeptSeconds - 60);
  EXPECT_FALSE(find(upload.name)->expired);
  EXPECT_FALSE(drop(upload, Drop::Expired));
  EXPECT_THAT(expired(), IsEmpty());

  pass(120);
  EXPECT_TRUE(find(upload.name)->expired);
  EXPECT_THAT(expired(), ElementsAre(upload.name));
  EXPECT_TRUE(drop(upload, Drop::Expired));
  EXPECT_EQ(rows_of("file"), 0);
  EXPECT_TRUE(reload(job.id).sealed);
  EXPECT_EQ(problems(), "");
}

TEST_P(UploadTest, AskingAgainForAnExpiredUploadRevivesIt) {
  const Job job = open_job();
  const NewUpload order = order_of(job, 0, "a", 5);
  const Upload upload = *try_create(order);
  ASSERT_TRUE(note(upload, 2).ok());
  pass(kKeptSeconds + 60);
  EXPECT_TRUE(find(upload.name)->expired);
  EXPECT_EQ(try_create(order)->bytes, 2);
  EXPECT_FALSE(find(upload.name)->expired);
  EXPECT_FALSE(drop(upload, Drop::Expired));
}

TEST_P(UploadTest, ACanceledJobEndsWithoutTheBytes) {
  const Job job = open_job();
  const Upload upload = create(job, "a", 5);
  ASSERT_TRUE(writer_->run({}, [&](Tx& tx) { return cancel_job(tx, job.id); }).ok());
  const auto canceled =
      change(upload.shard, [&](Tx& tx) { return cancel_waiting(tx, upload.shard); });
  ASSERT_TRUE(canceled.ok()) << canceled.error().message();
  EXPECT_EQ(ingest(upload.shard), "1 error");
  EXPECT_TRUE(finish_shard_of(job));
  EXPECT_FALSE(find(upload.name)->root_waits);
  ASSERT_TRUE(complete(upload, "hello").ok()) << "too late, but no harm";
  EXPECT_EQ(load(upload.file).error_kind, "canceled");
  EXPECT_EQ(problems(), "");
}

TEST_P(UploadTest, AnUploadWhoseFileWasDeletedIsForgotten) {
  const Upload upload = create(open_job(), "a", 5);
  const auto forget = [&] {
    return *writer_->run({}, [&](Tx& tx) { return forget_upload(tx, upload.id); });
  };
  EXPECT_FALSE(forget()) << "its file is there";
  script("DELETE FROM file");
  EXPECT_FALSE(find(upload.name)->root_waits);
  EXPECT_TRUE(forget());
  EXPECT_EQ(find(upload.name).error().kind(), Errc::Missing);
}

TEST_P(UploadTest, PartFilesAreNeededWhileTheirUploadsTakeBytes) {
  const Job job = open_job();
  const Upload open = *try_create(order_of(job, 0, "open", 5));
  const Upload done = *try_create(order_of(job, 1, "done", 5));
  ASSERT_TRUE(complete(done, "hello").ok());
  const std::vector<std::string> asked = {open.name, done.name, "unknown"};
  const auto found = read([&](Tx& tx) { return find_open_uploads(tx, asked); });
  ASSERT_TRUE(found.ok()) << found.error().message();
  EXPECT_THAT(*found, UnorderedElementsAre(open.name));
}

TEST_P(UploadTest, AJobWhoseUploadNeverCameToBeIsFoundAfterAWhile) {
  const Job deserted = open_job("upload:deserted");
  create(open_job("upload:used"), "a", 5, true);
  open_job("not an upload's");
  const auto found = [&] { return *read([](Tx& tx) { return list_deserted_jobs(tx); }); };
  EXPECT_THAT(found(), IsEmpty()) << "its client may be about to come";
  pass(kKeptSeconds + 60);
  EXPECT_THAT(found(), ElementsAre(deserted.id));
  seal(deserted.id);
  EXPECT_THAT(found(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Stores, UploadTest,
                         testing::Values(StoreKind::Sqlite, StoreKind::Postgres),
                         store::store_name);

}  // namespace
}  // namespace quern::tree
