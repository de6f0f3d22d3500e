// How jobs go, how a failed file is tried again, and that the check finds whatever is wrong; on
// every store.
#include "tree/remove.h"

#include "blob/blob.h"
#include "conformance/tree_fixture.h"
#include "tree/retry.h"

namespace quern::tree {
namespace {

using model::ErrorKind;
using model::FileState;

class TreeRemoveTest : public TreeTest {
 protected:
  // A root with a document and an error below it; done.
  Job made_job(const std::string& key, const std::string& collection = "default") {
    const Job job = open_job(key, collection);
    const File root = add_root(job, 0, "a.zip");
    add_child(root, 0, document("a.zip/d.pdf", "text of " + key));
    const File bad = load(add_child(root, 1, file_of("a.zip/bad", "bytes of " + key)).id);
    finish(bad, Failure{ErrorKind::Crash, "signal 11"});
    finish(root);
    ingest(root.shard);
    seal(job.id);
    finish_shard_of(job);
    return reload(job.id);
  }
  Result<> mark(JobId id) {
    return writer_->run({}, [id](Tx& tx) { return mark_deleting(tx, id); });
  }
  // The engine's part: nobody can write for the job any more.
  void take_partitions_away(JobId id) {
    for (const ShardId shard : *read([id](Tx& tx) { return list_shards(tx, id); })) {
      const queue::PartitionId partition = step::partition_of(shard);
      while (true) {
        const auto gone = writer_->run(queue::lane_of(partition),
                                       queue::change_partition(partition, [partition](Tx& tx) {
                                         return queue::delete_some(tx, partition);
                                       }));
        if (!gone.ok() || *gone) break;
      }
    }
  }
  bool remove_step(JobId id) {
    return *writer_->run({}, [id](Tx& tx) { return remove_some(tx, id); });
  }
  int remove_all(JobId id) {
    int steps = 1;
    while (!remove_step(id)) ++steps;
    return steps;
  }
  std::int64_t sweep() {
    blob::BlobUrl url = *blob::BlobUrl::parse("file:" + (folder_ / "blobs").string());
    auto blobs = blob::BlobStore::open(url, *writer_, *readers_, blob::BlobStore::Owner::OneOfMany);
    CHECK_OK(blobs);
    std::int64_t rows = 0;
    while (true) {
      const Result<blob::Swept> swept = blob::sweep(**blobs, kDeleteUnreferenced);
      CHECK_OK(swept);
      rows += swept->rows;
      if (!swept->more) return rows;
    }
  }
  File failed_file(const Job& job) {
    FileFilter filter;
    filter.listed = Listed::Errors;
    filter.collection = job.collection_name;
    filter.job = job.id;
    return read([filter](Tx& tx) { return list_files(tx, filter); })->files.at(0);
  }
  // As the API does it.
  Result<Job> retry(FileId id) {
    TRY_ASSIGN(const Retry plan, read([id](Tx& tx) { return plan_retry(tx, id); }));
    TRY_ASSIGN(const Job job,
               step::open_import(*writer_, *readers_, plan.order, [](queue::PartitionId) {}));
    const RetryRoot root{job.id, shard_of(job.id), id, "Archive", {}};
    return change(root.shard, [root](Tx& tx) { return add_retry_root(tx, root); });
  }
  void end_retry(const Job& job, std::optional<Failure> failure = std::nullopt) {
    const File root = read([&](Tx& tx) { return list_roots(tx, job.id, -1, 1); })->at(0);
    finish(root, std::move(failure));
    ingest(root.shard);
    ASSERT_TRUE(finish_shard_of(job));
  }
};

TEST_P(TreeRemoveTest, AJobGoesWithAllItHasAndNothingElse) {
  const Job gone = made_job("gone");
  const Job stays = made_job("stays");
  const std::string before = show(stays.id);
  ASSERT_TRUE(mark(gone.id).ok());
  ASSERT_TRUE(mark(gone.id).ok()) << "again";
  take_partitions_away(gone.id);
  remove_all(gone.id);

  EXPECT_EQ(read([&](Tx& tx) { return load_job(tx, gone.id); }).error().kind(), Errc::Missing);
  EXPECT_EQ(show(stays.id), before);
  EXPECT_EQ(rows_of("file"), 3);
  EXPECT_EQ(rows_of("file_text"), 1);
  EXPECT_EQ(rows_of("shard"), 1);
  EXPECT_EQ(rows_of("job"), 1);
  EXPECT_EQ(problems(), "");
  EXPECT_EQ(sweep(), 3) << "the document, its thumbnail and the bytes of the bad one";
  EXPECT_EQ(rows_of("blob"), 4) << "a.zip has equal bytes in both jobs";
  EXPECT_EQ(rows_of("blob_doubt"), 0);
}

TEST_P(TreeRemoveTest, ACollectionGoesWithItsLastJob) {
  made_job("one", "leak");
  made_job("two", "leak");
  made_job("other", "kept");
  const auto marked = writer_->run({}, [](Tx& tx) { return mark_collection(tx, "leak"); });
  ASSERT_EQ(marked->size(), 2u);
  EXPECT_EQ(*read([](Tx& tx) { return list_deleting(tx, 10); }), *marked);
  for (const JobId id : *marked) {
    take_partitions_away(id);
    remove_all(id);
  }
  EXPECT_EQ(rows_of("collection"), 1);
  EXPECT_EQ(rows_of("job"), 1);
  EXPECT_EQ(writer_->run({}, [](Tx& tx) { return mark_collection(tx, "leak"); }).error().kind(),
            Errc::Missing);
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeRemoveTest, AMarkedJobIsInNoListAndNoSumAndItsKeyIsFree) {
  const Job job = made_job("again");
  ASSERT_TRUE(mark(job.id).ok());
  EXPECT_TRUE(read([](Tx& tx) { return list_jobs(tx, {}); })->empty());
  const auto ledger = read([](Tx& tx) { return list_ledger(tx, "", kListMax); });
  for (const Collection& one : *ledger) {
    EXPECT_EQ(one.sums.files, 0);
    EXPECT_TRUE(one.balanced());
  }
  const Job anew = open_job("again");
  EXPECT_NE(anew.id, job.id);
  EXPECT_EQ(mark(JobId{4711}).error().kind(), Errc::Missing);
}

TEST_P(TreeRemoveTest, ARunningJobIsStoppedByTheLossOfItsPartitions) {
  const Job job = open_job();
  const File root = add_root(job, 0, "a.zip");
  ASSERT_TRUE(mark(job.id).ok());
  EXPECT_TRUE(reload(job.id).canceled);
  take_partitions_away(job.id);
  // Its owner knows nothing of it and goes on.
  FinishChild late = child_of(root, 0, file_of("a.zip/b", "b"));
  late.token = 1;
  EXPECT_EQ(try_child(late).error().kind(), Errc::Stale);
  remove_all(job.id);
  EXPECT_EQ(rows_of("file"), 0);
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeRemoveTest, ARemovalInStepsIsCleanBetweenThemAndGoesOnAfterADeath) {
  const Job job = open_job("large");
  const File root = add_root(job, 0, "a.zip");
  for (int i = 0; i < kRemovedAtOnce + 7; ++i) {
    const std::string name = fmt::format("a.zip/{}", i);
    add_child(root, i, document(name, name));
  }
  const Job other = made_job("other");
  ASSERT_TRUE(mark(job.id).ok());
  take_partitions_away(job.id);
  ASSERT_FALSE(remove_step(job.id));
  EXPECT_EQ(problems(), "") << "half a job is nothing wrong";
  const std::int64_t files = rows_of("file");
  // The process dies; another one finds what is left.
  readers_.reset();
  close();
  ASSERT_NO_FATAL_FAILURE(open_queue());
  EXPECT_EQ(rows_of("file"), files);
  const auto left = read([](Tx& tx) { return list_deleting(tx, 10); });
  ASSERT_EQ(*left, std::vector<JobId>{job.id});
  take_partitions_away(job.id);
  remove_all(job.id);
  EXPECT_EQ(rows_of("file"), 3);
  EXPECT_TRUE(read([](Tx& tx) { return list_deleting(tx, 10); })->empty());
  sweep();
  EXPECT_EQ(rows_of("blob"), 4);
  EXPECT_EQ(problems(), "");
}

// -- retry --

TEST_P(TreeRemoveTest, ARetryInheritsAndTheOldErrorIsSupersededWhenItEnds) {
  const Job job = made_job("first");
  const File old = failed_file(job);
  const Job again = *retry(old.id);
  EXPECT_EQ(again.kind, "retry");
  EXPECT_TRUE(again.sealed);
  EXPECT_EQ(again.retry_of, old.id);
  const File root = read([&](Tx& tx) { return list_roots(tx, again.id, -1, 9); })->at(0);
  EXPECT_EQ(root.filename, old.filename);
  EXPECT_EQ(root.blob, old.blob);
  EXPECT_EQ(root.metadata, old.metadata);
  EXPECT_EQ(root.options, old.options);
  EXPECT_EQ(root.state, FileState::Written);
  EXPECT_FALSE(load(old.id).superseded) << "not yet";
  EXPECT_EQ(problems(), "");
  end_retry(again);
  EXPECT_TRUE(load(old.id).superseded);
  EXPECT_EQ(retry(old.id).error().kind(), Errc::Conflict) << "the newer one says what is left";
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeRemoveTest, AskingAgainWhileARetryRunsIsTheSameJob) {
  const File old = failed_file(made_job("first"));
  const Job one = *retry(old.id);
  const Job two = *retry(old.id);
  EXPECT_EQ(one.id, two.id);
  EXPECT_EQ(two.sums.roots, 1);
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeRemoveTest, ACanceledRetryLeavesTheErrorAndTheNextOneIsNew) {
  const File old = failed_file(made_job("first"));
  const Job one = *retry(old.id);
  ASSERT_TRUE(writer_->run({}, [&](Tx& tx) { return cancel_job(tx, one.id); }).ok());
  const ShardId shard = shard_of(one.id);
  ASSERT_TRUE(change(shard, [shard](Tx& tx) { return cancel_waiting(tx, shard); }).ok());
  ingest(shard);
  ASSERT_TRUE(finish_shard_of(one));
  EXPECT_FALSE(load(old.id).superseded);
  const Job two = *retry(old.id);
  EXPECT_NE(one.id, two.id);
  end_retry(two, Failure{ErrorKind::Crash, "again"});
  EXPECT_TRUE(load(old.id).superseded) << "the new error stands for it";
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeRemoveTest, OnlyAFileThatFailedAndHasBytesCanBeTriedAgain) {
  const Job job = open_job();
  const File root = add_root(job, 0, "a.zip");
  const File member = load(add_child(root, 0, failed("a.zip/x", ErrorKind::Encrypted)).id);
  EXPECT_EQ(retry(root.id).error().kind(), Errc::Conflict) << "it runs";
  finish(root);
  ingest(root.shard);
  EXPECT_EQ(retry(root.id).error().kind(), Errc::Conflict) << "it is well";
  EXPECT_EQ(retry(member.id).error().kind(), Errc::Conflict) << "it has no bytes";
  EXPECT_EQ(retry(FileId{4711}).error().kind(), Errc::Missing);
  EXPECT_EQ(rows_of("job"), 1);
}

TEST_P(TreeRemoveTest, ARetryKeepsItsBytesWhenTheJobItCameFromIsDeleted) {
  const Job job = made_job("first");
  const File old = failed_file(job);
  const Job again = *retry(old.id);
  ASSERT_TRUE(mark(job.id).ok());
  take_partitions_away(job.id);
  remove_all(job.id);
  sweep();
  const File root = read([&](Tx& tx) { return list_roots(tx, again.id, -1, 9); })->at(0);
  EXPECT_TRUE(read([&](Tx& tx) { return blob::load_blob(tx, *root.blob, blob::Data::With); }).ok());
  end_retry(again);
  EXPECT_EQ(reload(again.id).state, JobState::Done) << "there is nothing to supersede any more";
  EXPECT_EQ(problems(), "");
}

// -- the check --

struct Breakage {
  const char* statement;
  const char* found;  // a part of what the check says
};

TEST_P(TreeRemoveTest, TheCheckNamesWhateverIsWrong) {
  made_job("sound");
  ASSERT_EQ(problems(), "");
  const Breakage all[] = {
      {"UPDATE shard SET files = files + 1", "4 files are noted, 3 are there"},
      {"UPDATE shard SET documents = documents - 1", "0 documents are noted, 1 are there"},
      {"UPDATE shard SET roots_ingested = 0", "0 ingested roots are noted, 1 are there"},
      {"UPDATE shard SET progress = progress / 2", "progress"},
      {"UPDATE shard_step SET ended = 0", "2 entered, 0 ended, 1 failed"},
      {"DELETE FROM shard_step", "0 entered, 0 ended, 0 failed"},
      {"UPDATE shard SET weight = weight + 9, progress = progress + 9", "a weight of"},
      {"UPDATE job SET state = 1, finished_us = NULL", "all its shards have ended"},
      {"UPDATE job SET shards = 2", "1 of 2 shards"},
      {"UPDATE job SET state = 3", "canceled by nobody"},
      {"UPDATE file SET n_children = 5, n_ingested_children = 5 WHERE parent IS NULL",
       "5 children are noted, 2 are there"},
      {"UPDATE file SET depth = 4 WHERE parent IS NOT NULL", "disagrees with its parent"},
      {"UPDATE file SET position = position || 'a9' WHERE class = 1", "its position is not"},
      {"UPDATE file SET progress_end = progress_end * 3 WHERE class = 1",
       "not within its parent's"},
      {"UPDATE file SET progress_given = 0 WHERE parent IS NULL", "of its progress away"},
      {"UPDATE file SET tree_files = 9 WHERE parent IS NULL", "9 files below roots"},
      {"UPDATE file SET class = 2 WHERE class = 1", "a container without children"},
      {"UPDATE file SET class = 4 WHERE parent IS NULL", "it is empty, but has children"},
      {"UPDATE file SET content_type = 'text/plain' WHERE class = 1", "without PDF or text"},
      {"UPDATE file SET bytes = 1 WHERE class = 1", "its blob has"},
      {"UPDATE file SET thumbnail_type = NULL", "its thumbnail has no type"},
      {"UPDATE file SET step = 'Juggle' WHERE parent IS NULL", "its step 'Juggle' is unknown"},
      {"UPDATE file SET metadata = '[]'", "its metadata is no JSON object"},
      {"UPDATE file SET options = 'x'", "its options are no JSON object"},
      {"UPDATE file SET collection = 999 WHERE parent IS NULL", "another collection than its job"},
      {"UPDATE file SET job = 999 WHERE class = 1", "files of job 999, which is not there"},
      {"UPDATE file SET partition = 999 WHERE class = 1", "which is not its own"},
      {"UPDATE file SET parent = 999 WHERE class = 1", "its parent 999 is missing"},
      {"DELETE FROM file_text", "its text is missing"},
      {"UPDATE file_text SET file = 999", "a text is of file 999, which is not there"},
      {"DELETE FROM file WHERE parent IS NOT NULL", "2 children are noted, none is there"},
      {"UPDATE file SET state = 3, class = NULL, ingested_us = NULL WHERE class = 1",
       "not ingested, but its parent is"},
  };
  int number = 0;
  for (const Breakage& breakage : all) {
    readers_.reset();
    close();
    url_ = GetParam() == StoreKind::Sqlite
               ? "sqlite:" + (folder_ / fmt::format("broken{}.db", ++number)).string()
               : store::fresh_postgres();
    ASSERT_NO_FATAL_FAILURE(open_queue());
    made_job("sound");
    ASSERT_NO_FATAL_FAILURE(script(breakage.statement));
    EXPECT_NE(problems().find(breakage.found), std::string::npos)
        << breakage.statement << "\nsays: " << problems();
  }
}

TEST_P(TreeRemoveTest, TheCheckOfAJobBeyondOnePageAddsUpOverPages) {
  const Job job = open_job("large");
  const File root = add_root(job, 0, "a.zip");
  std::vector<std::future<Result<AddedFile>>> answers;
  store::Lane& lane = writer_->lane({static_cast<std::uint64_t>(root.shard.value)});
  for (std::int64_t i = 0; i < kCheckedAtOnceMax + 10; ++i) {
    // Slices that add up, however many they are.
    FinishChild child = child_of(root, 0, file_of(fmt::format("a.zip/{}", i), "x", "Text"));
    child.index = i;
    const double width = (root.progress_end - root.progress_begin) / 10'000;
    child.progress_begin = root.progress_begin + width * static_cast<double>(i);
    child.progress_end = child.progress_begin + width;
    answers.push_back(store::push(lane, std::move(child)));
  }
  for (auto& answer : answers) ASSERT_TRUE(answer.get().ok());
  EXPECT_EQ(problems(), "");
  ASSERT_NO_FATAL_FAILURE(
      script("UPDATE file SET n_children = n_children + 1 WHERE parent IS NULL"));
  ASSERT_NO_FATAL_FAILURE(script("UPDATE shard SET files = files + 1"));
  const std::string found = problems();
  EXPECT_NE(found.find("2011 children are noted, 2010 are there"), std::string::npos) << found;
  EXPECT_NE(found.find("2012 files are noted, 2011 are there"), std::string::npos) << found;
}

INSTANTIATE_TEST_SUITE_P(Stores, TreeRemoveTest,
                         testing::Values(StoreKind::Sqlite, StoreKind::Postgres),
                         store::store_name);

}  // namespace
}  // namespace quern::tree
