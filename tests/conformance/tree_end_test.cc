// How files end, on every store: done, failed, canceled, tried too often; and what the ingester,
// the progress and the ledger make of it.
#include "conformance/tree_fixture.h"

namespace quern::tree {
namespace {

using model::ErrorKind;
using model::FileState;
using Kind = CountEnd::Kind;

class TreeEndTest : public TreeTest {
 protected:
  Collection ledger(const std::string& name = "default") {
    for (const Collection& one : *read([](Tx& tx) { return list_ledger(tx, "", kListMax); })) {
      if (one.name == name) return one;
    }
    return {};
  }
  Job cancel(JobId id) {
    return *writer_->run({}, [id](Tx& tx) { return cancel_job(tx, id); });
  }
  // As an owner does it who finds the job canceled.
  void end_canceled(ShardId shard) {
    while (*change(shard, [shard](Tx& tx) { return cancel_waiting(tx, shard); }) > 0) {
    }
  }
};

TEST_P(TreeEndTest, TheFirstEndCountsAndLaterOnesChangeNothing) {
  const Job job = open_job();
  const File root = add_root(job, 0, "a.zip");
  EXPECT_TRUE(finish(root, Failure{ErrorKind::Corrupt, "cut short"}));
  EXPECT_FALSE(finish(root));
  EXPECT_FALSE(finish(root, Failure{ErrorKind::Timeout, "slow"}));
  EXPECT_EQ(load(root.id).error_kind, "corrupt");
  EXPECT_EQ(load(root.id).processing_error, "cut short");
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeEndTest, WhatAWorkerReportsIsKept) {
  const Job job = open_job();
  const File root = add_root(job, 0, "a.zip");
  FinishFile op{root.shard, 0, root.id, {}, {"2.1", "kitchen", "it creaked", 120, 80, 4096}};
  ASSERT_TRUE(*writer_->run({static_cast<std::uint64_t>(root.shard.value)}, op));
  const File file = load(root.id);
  EXPECT_EQ(file.step_version, "2.1");
  EXPECT_EQ(file.worker, "kitchen");
  EXPECT_EQ(file.note, "it creaked");
  EXPECT_EQ(file.wall_ms, 120);
  EXPECT_EQ(file.cpu_ms, 80);
  EXPECT_EQ(file.peak_kib, 4096);
}

TEST_P(TreeEndTest, AnErrorIsCutOnACharacterAndHasNoZeroBytes) {
  const Job job = open_job();
  const File root = add_root(job, 0, "a.zip");
  std::string message(kErrorBytesMax - 1, 'x');
  message += "\xc3\xa4";  // cut in its middle
  finish(root, Failure{ErrorKind::Internal, std::string("a\0b", 3) + message});
  const std::string stored = load(root.id).processing_error;
  EXPECT_EQ(stored.find('\0'), std::string::npos);
  EXPECT_TRUE(stored.starts_with("abxx"));
  const File other = add_root(job, 1, "b.zip");
  finish(other, Failure{ErrorKind::Internal, ""});
  EXPECT_NE(load(other.id).processing_error, "") << "an error is never silent";
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeEndTest, ThreeAttemptsFailAFileAndInterruptionsCountApart) {
  const Job job = open_job();
  const File root = add_root(job, 0, "poison.zip");
  EXPECT_FALSE(count(root, Kind::Attempt).failed);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(count(root, Kind::Interruption).failed);
  EXPECT_EQ(count(root, Kind::Attempt).attempts, 2);
  EXPECT_EQ(load(root.id).state, FileState::Written);
  EXPECT_EQ(problems(), "");
  const CountEnd::Reply last = count(root, Kind::Attempt);
  EXPECT_TRUE(last.failed);
  EXPECT_EQ(load(root.id).error_kind, "crash");
  EXPECT_EQ(load(root.id).attempts, 3);
  EXPECT_FALSE(count(root, Kind::Attempt).failed) << "it has ended";
  EXPECT_EQ(load(root.id).attempts, 3);
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeEndTest, TwentyInterruptionsFailAFile) {
  const Job job = open_job();
  const File root = add_root(job, 0, "heavy.zip");
  for (std::int64_t i = 1; i < kInterruptionsMax; ++i) {
    ASSERT_FALSE(count(root, Kind::Interruption).failed) << i;
  }
  EXPECT_TRUE(count(root, Kind::Interruption).failed);
  EXPECT_EQ(load(root.id).state, FileState::Processed);
  EXPECT_EQ(load(root.id).interruptions, kInterruptionsMax);
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeEndTest, AFileThatTakesItsServerDownEachTimeFailsInTheEndToo) {
  const Job job = open_job();
  const File root = add_root(job, 0, "bomb.zip");
  const File other = add_root(job, 1, "fine.zip");
  for (std::int64_t i = 0; i < kInterruptionsMax; ++i) {
    ASSERT_EQ(load(root.id).state, FileState::Written) << i;
    ASSERT_TRUE(change(root.shard, [&](Tx& tx) -> Result<bool> {
                  TRY(mark_lent(tx, {root.id}));
                  return true;
                }).ok());
    // The next owner finds what the last one had.
    ASSERT_TRUE(change(root.shard, [&](Tx& tx) { return interrupt_lent(tx, root.shard); }).ok());
  }
  EXPECT_EQ(load(root.id).state, FileState::Processed);
  EXPECT_EQ(load(root.id).error_kind, "crash");
  EXPECT_EQ(load(other.id).state, FileState::Written);
  EXPECT_EQ(load(other.id).interruptions, 0) << "it was never lent";
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeEndTest, DetectionSetsTheTypeOnceAndSaysWhatFollows) {
  const Job job = open_job();
  const File known = add_root(job, 0, "a", "Detect");
  const File unknown = add_root(job, 1, "b", "Detect");
  const store::LaneKey lane{static_cast<std::uint64_t>(known.shard.value)};
  SetType zip{known.shard, 0, known.id, "application/zip", "Archive", {}};
  EXPECT_TRUE(*writer_->run(lane, zip));
  zip.step = "Text";
  EXPECT_FALSE(*writer_->run(lane, zip)) << "it does not wait for detection any more";
  EXPECT_EQ(load(known.id).step, "Archive");
  SetType none{unknown.shard,
               0,
               unknown.id,
               "application/octet-stream",
               "",
               Failure{ErrorKind::Unhandled, "unhandled"}};
  EXPECT_TRUE(*writer_->run(lane, none));
  EXPECT_EQ(load(unknown.id).processing_error, "unhandled");
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeEndTest, IngestGoesUpTheTreeAndAParentComesAfterItsChildren) {
  const Job job = open_job();
  const File root = add_root(job, 0, "a.zip");
  const File inner = load(add_child(root, 0, file_of("a.zip/i.zip", "i")).id);
  add_child(inner, 0, document("a.zip/i.zip/d.pdf", "d"));
  finish(inner);
  EXPECT_EQ(ingest(root.shard), "1 container 1 document");
  EXPECT_EQ(load(inner.id).state, FileState::Ingested);
  EXPECT_EQ(load(root.id).n_ingested_children, 1);
  EXPECT_EQ(load(root.id).state, FileState::Written) << "its step still runs";
  EXPECT_EQ(problems(), "");
  finish(root);
  EXPECT_EQ(ingest(root.shard), "1 container");
  EXPECT_FALSE(ingest_once(root.shard).roots_left);
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeEndTest, EachFileBecomesExactlyOneThing) {
  const Job job = open_job();
  const File zip = add_root(job, 0, "a.zip", "Archive");
  add_child(zip, 0, document("a.zip/only.pdf", "d"));  // a container with one member stays one
  const File text = add_root(job, 1, "b.txt", "Text");
  add_child(text, 0, document("b.txt", "b"));
  const File nothing = add_root(job, 2, "c.zip", "Archive");
  const File broken = add_root(job, 3, "d.zip", "Archive");
  add_child(broken, 0, document("d.zip/first.pdf", "kept"));
  const File plain = add_root(job, 4, "e.bin", "Text");
  for (const File* file : {&zip, &text, &nothing, &plain}) finish(*file);
  finish(broken, Failure{ErrorKind::Corrupt, "the rest is cut off"});
  ingest(zip.shard);
  EXPECT_EQ(show(job.id),
            "a.zip container | a.zip/only.pdf document | b.txt converted | b.txt document |"
            " c.zip empty | d.zip error | d.zip/first.pdf document | e.bin empty");
  EXPECT_TRUE(ledger().balanced());
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeEndTest, ProgressIsOneIfAndOnlyIfTheJobIsDone) {
  const Job job = open_job();
  const File root = add_root(job, 0, "a.zip");
  double last = reload(job.id).progress();
  EXPECT_EQ(last, 0);
  const auto expect_growth = [&] {
    const Job now = reload(job.id);
    EXPECT_GE(now.progress(), last);
    EXPECT_LT(now.progress(), 1);
    last = now.progress();
  };
  std::vector<File> children;
  for (int i = 0; i < 7; ++i) {
    const std::string name = fmt::format("a.zip/{}", i);
    children.push_back(load(add_child(root, i, file_of(name, name, "Text")).id));
    expect_growth();
  }
  for (const File& child : children) {
    finish(child);
    expect_growth();
  }
  seal(job.id);
  finish(root);
  expect_growth();
  EXPECT_NEAR(reload(job.id).sums.progress, reload(job.id).sums.weight, 1e-6);
  EXPECT_FALSE(finish_shard_of(job)) << "a root is left";
  ingest(root.shard);
  expect_growth();
  EXPECT_TRUE(finish_shard_of(job));
  EXPECT_EQ(reload(job.id).progress(), 1);
  EXPECT_EQ(reload(job.id).state, JobState::Done);
  EXPECT_EQ(reload(job.id).sums.progress, reload(job.id).sums.weight);
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeEndTest, AJobIsDoneWithItsLastShardAndOnlyOnceItIsSealed) {
  const Job job = open_job("job", "default", 3);
  for (int i = 0; i < 5; ++i) finish(add_root(job, i, fmt::format("{}.zip", i)));
  for (int shard = 0; shard < 3; ++shard) ingest(shard_of(job.id, shard));
  EXPECT_FALSE(finish_shard_of(job, 0)) << "it is not sealed";
  seal(job.id, 4);
  EXPECT_TRUE(finish_shard_of(job, 1));
  EXPECT_TRUE(finish_shard_of(job, 0));
  EXPECT_TRUE(finish_shard_of(job, 0)) << "again";
  EXPECT_EQ(reload(job.id).state, JobState::Running);
  EXPECT_TRUE(finish_shard_of(job, 2));
  const Job done = reload(job.id);
  EXPECT_EQ(done.state, JobState::Done);
  EXPECT_TRUE(done.finished_us);
  EXPECT_EQ(done.skipped, 4);
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeEndTest, AnEmptyJobIsDoneWhenItIsSealed) {
  const Job job = open_job();
  EXPECT_FALSE(finish_shard_of(job));
  seal(job.id);
  EXPECT_TRUE(finish_shard_of(job));
  EXPECT_EQ(reload(job.id).state, JobState::Done);
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeEndTest, ACanceledJobEndsWithWhatIsLeftAsCanceled) {
  const Job job = open_job();
  const File root = add_root(job, 0, "a.zip");
  const File waits = load(add_child(root, 0, file_of("a.zip/waits", "w")).id);
  add_child(root, 1, document("a.zip/made.pdf", "kept"));
  ingest(root.shard);
  EXPECT_TRUE(cancel(job.id).canceled);
  EXPECT_TRUE(cancel(job.id).canceled) << "again";
  end_canceled(root.shard);
  ingest(root.shard);
  EXPECT_TRUE(finish_shard_of(job)) << "a canceled job waits for nobody to seal it";
  EXPECT_EQ(reload(job.id).state, JobState::Canceled);
  EXPECT_EQ(show(job.id), "a.zip error | a.zip/waits error | a.zip/made.pdf document");
  EXPECT_EQ(load(waits.id).processing_error, "canceled");
  EXPECT_EQ(load(waits.id).error_kind, "canceled");
  EXPECT_EQ(reload(job.id).progress(), 1);
  EXPECT_EQ(cancel(job.id).state, JobState::Canceled) << "once more, after the end";
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeEndTest, ACanceledJobDoesNotWaitForAnUploadThatNeverEnds) {
  const Job job = open_job();
  NewFile coming = file_of("big.iso", "", "Detect");
  coming.blob.reset();
  const AddRoot order = root_of(job, 0, coming);
  const FileId id = *change(order.shard, [&](Tx& tx) { return create_root(tx, order); });
  cancel(job.id);
  end_canceled(order.shard);
  ingest(order.shard);
  EXPECT_TRUE(finish_shard_of(job));
  EXPECT_EQ(reload(job.id).state, JobState::Canceled);
  EXPECT_EQ(load(id).error_kind, "canceled");
  // The uploader did not notice.
  const WriteRoot late{id, order.shard, put("too late"), "Detect"};
  EXPECT_TRUE(change(order.shard, [&](Tx& tx) { return write_root(tx, late); })->existed);
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeEndTest, FilesOfAStepThatNobodyServesEndAsThatAndOthersStay) {
  const Job job = open_job();
  const File office = add_root(job, 0, "a.doc", "Office");
  const File zip = add_root(job, 1, "a.zip", "Archive");
  const Failure why{ErrorKind::Unsupported, "no worker for Office is installed"};
  EXPECT_EQ(*change(zip.shard, [&](Tx& tx) { return fail_waiting(tx, zip.shard, "Office", why); }),
            1);
  EXPECT_EQ(load(office.id).processing_error, why.message);
  EXPECT_EQ(load(zip.id).state, FileState::Written);
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeEndTest, TheLedgerBalancesAtEveryInstant) {
  const Job job = open_job("job", "leak", 2);
  const auto expect_balance = [&] {
    const Collection now = ledger("leak");
    EXPECT_TRUE(now.balanced()) << now.sums.files << " files, " << now.in_progress
                                << " in progress, " << now.sums.classified() << " became something";
    EXPECT_EQ(problems(), "");
  };
  const File root = add_root(job, 0, "a.zip");
  const File other = add_root(job, 1, "b.txt", "Text");
  expect_balance();
  add_child(root, 0, document("a.zip/d.pdf", "d"));
  const File bad = load(add_child(root, 1, file_of("a.zip/bad", "bad")).id);
  expect_balance();
  finish(bad, Failure{ErrorKind::Encrypted, "a password is needed"});
  finish(root);
  ingest_once(root.shard);
  expect_balance();
  ingest(root.shard);
  expect_balance();
  finish(other);
  ingest(other.shard);
  seal(job.id, 3);
  finish_shard_of(job, 0);
  finish_shard_of(job, 1);
  expect_balance();
  const Collection end = ledger("leak");
  EXPECT_EQ(end.sums.roots, 2);
  EXPECT_EQ(end.sums.documents, 1);
  EXPECT_EQ(end.sums.errors, 1);
  EXPECT_EQ(end.sums.empty, 1);
  EXPECT_EQ(end.sums.containers, 1);
  EXPECT_EQ(end.skipped, 3);
  EXPECT_EQ(end.in_progress, 0);
}

TEST_P(TreeEndTest, WaitingFilesAreLentDeepestFirst) {
  const Job job = open_job();
  const File root = add_root(job, 0, "a.zip");
  add_root(job, 1, "b.zip");
  const File inner = load(add_child(root, 0, file_of("a.zip/i.zip", "i")).id);
  add_child(inner, 0, file_of("a.zip/i.zip/j.zip", "j"));
  const auto waiting = read([&](Tx& tx) { return load_waiting(tx, root.shard, "Archive", 10); });
  std::string names;
  for (const Waiting& one : *waiting) names += one.file.filename + " ";
  EXPECT_EQ(names, "a.zip/i.zip/j.zip a.zip/i.zip a.zip b.zip ");
  EXPECT_EQ((*waiting)[0].blob.sha256, blob::sha256_of("j"));
  const auto counts = read([&](Tx& tx) { return count_waiting(tx, root.shard, 3); });
  ASSERT_EQ(counts->size(), 1u);
  EXPECT_EQ((*counts)[0].files, 3) << "at most so many";
}

INSTANTIATE_TEST_SUITE_P(Stores, TreeEndTest,
                         testing::Values(StoreKind::Sqlite, StoreKind::Postgres),
                         store::store_name);

}  // namespace
}  // namespace quern::tree
