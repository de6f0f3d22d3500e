// What people are shown of trees, on every store: what steps have done, pages in the middle of a
// list, groups of errors, where a file came from.
#include <fmt/format.h>

#include "conformance/tree_fixture.h"
#include "tree/error_groups.h"
#include "tree/remove.h"
#include "tree/step_sums.h"

namespace quern::tree {
namespace {

using model::ErrorKind;

class TreeShownTest : public TreeTest {
 protected:
  // "Archive 2/1/0 Text 1/0/0": entered, ended, failed.
  std::string steps(JobId job) {
    const StepSums sums = *read([job](Tx& tx) { return load_steps(tx, job); });
    std::string text;
    for (const auto& [step, sum] : sums) {
      text += fmt::format("{}{} {}/{}/{}", text.empty() ? "" : " ", step, sum.entered, sum.ended,
                          sum.failed);
    }
    return text;
  }
  std::string names(const FileFilter& filter) {
    const FilePage page = *read([&](Tx& tx) { return list_files(tx, filter); });
    std::string text;
    for (const File& file : page.files) text += file.filename + " ";
    return text + (page.next ? "…" : "");
  }
  bool set_type(const File& file, const std::string& step, std::optional<Failure> failure = {}) {
    const SetType op{file.shard, 0, file.id, "application/zip", step, std::move(failure)};
    return *writer_->run({static_cast<std::uint64_t>(file.shard.value)}, op);
  }
};

class TreePlanTest : public TreeTest {};

TEST_P(TreeShownTest, AFileEntersAStepAndEndsItWhateverItsEnd) {
  const Job job = open_job();
  const File fine = add_root(job, 0, "a.zip");
  const File bad = add_root(job, 1, "b.zip");
  EXPECT_EQ(steps(job.id), "Archive 2/0/0");
  FinishFile op{fine.shard, 0, fine.id, {}, {"2.1", "kitchen", "", 120, 80, 4096}};
  ASSERT_TRUE(*writer_->run({static_cast<std::uint64_t>(fine.shard.value)}, op));
  add_child(bad, 0, file_of("b.zip/c", "c", "Text"));
  NewFile whole = document("b.zip/d", "d");
  whole.step = "Archive";  // that made it
  add_child(bad, 1, whole);
  NewFile lost = failed("b.zip/e", ErrorKind::Corrupt);
  lost.step = "Archive";
  add_child(bad, 2, lost);
  EXPECT_EQ(steps(job.id), "Archive 2/1/0 Text 1/0/0");
  finish(bad, Failure{ErrorKind::Corrupt, "cut short"});
  finish(bad, Failure{ErrorKind::Corrupt, "again"});
  EXPECT_EQ(steps(job.id), "Archive 2/2/1 Text 1/0/0");
  const StepSums sums = *read([&](Tx& tx) { return load_steps(tx, job.id); });
  EXPECT_EQ(sums.at("Archive").wall_ms, 120);
  EXPECT_EQ(sums.at("Archive").cpu_ms, 80);
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeShownTest, AReplayedChildEntersItsStepOnce) {
  const Job job = open_job();
  const File root = add_root(job, 0, "a.zip");
  for (int i = 0; i < 3; ++i) add_child(root, 0, file_of("a.zip/b", "b", "Text"));
  EXPECT_EQ(steps(job.id), "Archive 1/0/0 Text 1/0/0");
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeShownTest, DetectionEndsWithTheTypeAndFailsOnlyWhereNoStepFollows) {
  const Job job = open_job();
  const File zip = add_root(job, 0, "a", "Detect");
  const File unknown = add_root(job, 1, "b", "Detect");
  const File unserved = add_root(job, 2, "c", "Detect");
  const File crashed = add_root(job, 3, "d", "Detect");
  EXPECT_EQ(steps(job.id), "Detect 4/0/0");
  EXPECT_TRUE(set_type(zip, "Archive"));
  EXPECT_FALSE(set_type(zip, "Text"));
  EXPECT_TRUE(set_type(unknown, "", Failure{ErrorKind::Unhandled, "unhandled"}));
  EXPECT_TRUE(set_type(unserved, "Office", Failure{ErrorKind::Unsupported, "nobody does it"}));
  for (int i = 0; i < 3; ++i) count(crashed, CountEnd::Kind::Attempt);
  EXPECT_EQ(steps(job.id), "Archive 1/0/0 Detect 4/4/2 Office 1/1/1");
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeShownTest, WhatIsCanceledFailsInTheStepItWaitedFor) {
  const Job job = open_job();
  const File root = add_root(job, 0, "a.zip");
  NewFile coming = file_of("big.iso", "", "Detect");
  coming.blob.reset();
  const AddRoot upload = root_of(job, 1, coming);
  ASSERT_TRUE(change(upload.shard, [&](Tx& tx) { return create_root(tx, upload); }).ok());
  EXPECT_EQ(steps(job.id), "Archive 1/0/0") << "an upload waits for its bytes, not for a step";
  ASSERT_TRUE(change(root.shard, [&](Tx& tx) { return cancel_waiting(tx, root.shard); }).ok());
  EXPECT_EQ(steps(job.id), "Archive 1/1/1 Detect 1/1/1");
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeShownTest, AnUploadEntersItsStepWhenItIsWritten) {
  const Job job = open_job();
  NewFile coming = file_of("big.iso", "", "Detect");
  coming.blob.reset();
  const AddRoot order = root_of(job, 0, coming);
  const FileId id = *change(order.shard, [&](Tx& tx) { return create_root(tx, order); });
  const WriteRoot write{id, order.shard, put("all of it"), "Archive"};
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(change(order.shard, [&](Tx& tx) { return write_root(tx, write); }).ok());
  }
  EXPECT_EQ(steps(job.id), "Archive 1/0/0");
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeShownTest, TheSumsOfAJobAreThoseOfItsShardsAndGoWithIt) {
  const Job job = open_job("job", "default", 2);
  add_root(job, 0, "a.zip");
  add_root(job, 1, "b.zip");
  add_root(job, 2, "c.zip");
  EXPECT_EQ(steps(job.id), "Archive 3/0/0");
  EXPECT_EQ(rows_of("shard_step"), 2);
  ASSERT_TRUE(writer_
                  ->run({},
                        [&](Tx& tx) -> Result<bool> {
                          TRY(mark_deleting(tx, job.id));
                          return true;
                        })
                  .ok());
  while (!*writer_->run({}, [&](Tx& tx) { return remove_some(tx, job.id); })) {
  }
  EXPECT_EQ(rows_of("shard_step"), 0);
}

// A store from before gets the sums that it would have had.
TEST_P(TreeShownTest, TheMigrationCountsWhatIsThere) {
  const Job job = open_job();
  const File bad = add_root(job, 0, "a", "Detect");
  const File office = add_root(job, 1, "b", "Detect");
  const File waiting = add_root(job, 2, "c", "Detect");
  add_root(job, 3, "d.zip");
  set_type(bad, "", Failure{ErrorKind::Unhandled, "unhandled"});
  set_type(office, "Office");
  FinishFile op{office.shard, 0, office.id, {}, {"2.1", "kitchen", "", 120, 80, 4096}};
  ASSERT_TRUE(*writer_->run({static_cast<std::uint64_t>(office.shard.value)}, op));
  for (int i = 0; i < 3; ++i) count(waiting, CountEnd::Kind::Attempt);
  NewFile coming = file_of("big.iso", "", "Detect");
  coming.blob.reset();
  const AddRoot upload = root_of(job, 4, coming);
  ASSERT_TRUE(change(upload.shard, [&](Tx& tx) { return create_root(tx, upload); }).ok());
  const std::string before = steps(job.id);
  ASSERT_EQ(problems(), "");

  const auto& all =
      GetParam() == StoreKind::Sqlite ? store::sqlite_migrations() : store::postgres_migrations();
  ASSERT_NO_FATAL_FAILURE(
      script("DROP TABLE shard_step; DROP INDEX item_complete_gate; ALTER TABLE file DROP COLUMN "
             "waited"));
  ASSERT_NO_FATAL_FAILURE(script(all.at(9).sql));
  EXPECT_EQ(steps(job.id), before);
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeShownTest, APageMayBeginBehindSoMany) {
  const Job job = open_job();
  for (int i = 0; i < 5; ++i) add_root(job, i, fmt::format("{}.zip", i));
  FileFilter filter;
  filter.collection = "default";
  filter.limit = 2;
  filter.offset = 0;
  EXPECT_EQ(names(filter), "0.zip 1.zip …");
  filter.offset = 3;
  EXPECT_EQ(names(filter), "3.zip 4.zip …");
  filter.offset = 4;
  EXPECT_EQ(names(filter), "4.zip ");
  filter.offset = 5;
  EXPECT_EQ(names(filter), "");
  filter.offset = kOffsetMax;
  EXPECT_EQ(names(filter), "");
}

TEST_P(TreeShownTest, DocumentsAndErrorsAreSkippedInTheirOwnOrder) {
  const Job job = open_job();
  const File root = add_root(job, 0, "a.zip");
  for (int i = 0; i < 4; ++i) {
    NewFile page = document("doc", fmt::format("page {}", i));
    page.page = 4 - i;
    add_child(root, i, page);
    add_child(root, 4 + i, failed(fmt::format("bad{}", i), ErrorKind::Corrupt));
  }
  finish(root);
  ingest(root.shard);
  FileFilter filter;
  filter.collection = "default";
  filter.listed = Listed::Documents;
  filter.offset = 1;
  const FilePage page = *read([&](Tx& tx) { return list_files(tx, filter); });
  ASSERT_EQ(page.files.size(), 3u);
  EXPECT_EQ(page.files[0].page, 2);
  filter.listed = Listed::Errors;
  filter.offset = 3;
  EXPECT_EQ(names(filter), "bad3 ");
}

// A skip of a million entries must not sort or read a million rows. SQLite reads a row only for
// what is behind the offset: that took 9 ms for 100,000 errors.
TEST_P(TreePlanTest, ASkipWalksTheIndexOfItsList) {
  static constexpr store::Sql kDocuments{
      "EXPLAIN QUERY PLAN SELECT filename, page, position FROM file WHERE collection = 1"
      " AND class = 1 ORDER BY filename, page, position LIMIT 1 OFFSET 9"};
  static constexpr store::Sql kFiles{
      "EXPLAIN QUERY PLAN SELECT filename, -1, position FROM file WHERE collection = 1"
      " ORDER BY filename, position LIMIT 1 OFFSET 9"};
  static constexpr store::Sql kErrors{
      "EXPLAIN QUERY PLAN SELECT filename, -1, position FROM file WHERE collection = 1"
      " AND class = 5 ORDER BY filename, position LIMIT 1 OFFSET 9"};
  auto session = database_->connect_reader();
  ASSERT_TRUE(session.ok());
  const auto plan_of = [&](const store::Sql& sql) {
    const Result<store::Rows> plan = (*session)->run(sql, {});
    CHECK_OK(plan);
    std::string text;
    for (const store::Row row : *plan) text += row.get<std::string>(3) + "\n";
    return text;
  };
  EXPECT_EQ(plan_of(kDocuments), "SEARCH file USING INDEX file_documents (collection=?)\n");
  EXPECT_EQ(plan_of(kFiles), "SEARCH file USING COVERING INDEX file_listed (collection=?)\n");
  EXPECT_EQ(plan_of(kErrors), "SEARCH file USING INDEX file_errors (collection=?)\n");
}

TEST_P(TreeShownTest, ErrorsAreReadInTheOrderOfTheListAndByPages) {
  const Job job = open_job();
  const File root = add_root(job, 0, "a.zip");
  for (int i = 0; i < 3; ++i) {
    add_child(root, i, failed(fmt::format("bad{}", i), ErrorKind::Encrypted));
  }
  finish(root);
  ingest(root.shard);
  const auto list = [&](const FileCursor& after, std::size_t limit) {
    return *read([&](Tx& tx) { return list_error_rows(tx, "default", after, limit); });
  };
  const std::vector<ErrorRow> first = list({}, 2);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].kind, "encrypted");
  EXPECT_EQ(first[0].message, "it is so");
  EXPECT_EQ(first[0].job, job.id);
  const std::vector<ErrorRow> rest = list(first[1].place, 2);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].place.filename, "bad2");
  EXPECT_TRUE(read([](Tx& tx) { return list_error_rows(tx, "nowhere", {}, 2); })->empty());
}

TEST_P(TreeShownTest, ALineageGoesUpToTheRoot) {
  const Job job = open_job();
  const File root = add_root(job, 0, "a.zip");
  const FileId inner = add_child(root, 0, file_of("a.zip/b.zip", "b")).id;
  const FileId leaf = add_child(load(inner), 0, document("a.zip/b.zip/c", "c")).id;
  const std::vector<File> lineage = *read([&](Tx& tx) { return load_lineage(tx, leaf); });
  ASSERT_EQ(lineage.size(), 3u);
  EXPECT_EQ(lineage[0].id, leaf);
  EXPECT_EQ(lineage[1].id, inner);
  EXPECT_EQ(lineage[2].id, root.id);
  const auto none = read([](Tx& tx) { return load_lineage(tx, FileId{4711}); });
  EXPECT_EQ(none.error().kind(), Errc::Missing);
}

INSTANTIATE_TEST_SUITE_P(Stores, TreeShownTest,
                         testing::Values(StoreKind::Sqlite, StoreKind::Postgres),
                         store::store_name);

INSTANTIATE_TEST_SUITE_P(Stores, TreePlanTest, testing::Values(StoreKind::Sqlite),
                         store::store_name);

}  // namespace
}  // namespace quern::tree
