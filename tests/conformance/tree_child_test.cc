// Children and roots on every store: what comes once, what comes again, and what disagrees.
#include "conformance/tree_fixture.h"
#include "model/position.h"

namespace quern::tree {
namespace {

using model::ErrorKind;
using model::FileState;
using store::HeldLane;
using store::push;

class TreeChildTest : public TreeTest {};

TEST_P(TreeChildTest, AChildAppearsWithItsBytesItsTextAndItsPlace) {
  const Job job = open_job();
  const File root = add_root(job, 3, "a.zip");
  const AddedFile added = add_child(root, 0, document("a.zip/b.pdf", "hello"));
  EXPECT_FALSE(added.existed);
  EXPECT_EQ(added.tree_files, 1);

  const File child = load(added.id);
  EXPECT_EQ(child.filename, "a.zip/b.pdf");
  EXPECT_EQ(child.parent, root.id);
  EXPECT_EQ(child.root, root.id);
  EXPECT_EQ(child.depth, 1);
  EXPECT_EQ(child.position, model::child_position(root.position, 0));
  EXPECT_EQ(child.state, FileState::Processed) << "nothing is left to do";
  EXPECT_TRUE(child.has_text && child.thumbnail && child.blob);
  EXPECT_EQ(read([&](Tx& tx) { return load_text(tx, child.id); })->text, "hello");
  const auto digests = read([&](Tx& tx) { return load_digests(tx, {child, root}); });
  EXPECT_EQ((*digests)[0].text_sha256, blob::sha256_of("hello"));
  EXPECT_EQ((*digests)[1].pdf_sha256, blob::sha256_of("bytes of a.zip"));
  EXPECT_EQ((*digests)[1].text_sha256, "");
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeChildTest, ATextKeepsWhereItsPagesEnd) {
  const Job job = open_job();
  const File root = add_root(job, 0, "a.zip");
  NewFile paged = document("a.zip/b.pdf", "one two");
  paged.text->page_ends = {4, 7};
  const FileId with = add_child(root, 0, std::move(paged)).id;
  const FileId without = add_child(root, 1, document("a.zip/c.pdf", "one")).id;
  const auto ends_of = [&](FileId id) {
    return read([&](Tx& tx) { return load_text(tx, id); })->page_ends;
  };
  EXPECT_EQ(ends_of(with), (PageEnds{4, 7}));
  EXPECT_EQ(ends_of(without), PageEnds{});
}

TEST_P(TreeChildTest, AReplayedChildIsTheSameRowAndChangesNothing) {
  const Job job = open_job();
  const File root = add_root(job, 0, "a.zip");
  const AddedFile first = add_child(root, 0, file_of("a.zip/b", "b"));
  const Job before = reload(job.id);

  const AddedFile again = add_child(root, 0, file_of("a.zip/b", "b"));
  EXPECT_TRUE(again.existed);
  EXPECT_EQ(again.id, first.id);
  EXPECT_EQ(load(root.id).n_children, 1);
  EXPECT_EQ(load(root.id).conflicts, 0);
  EXPECT_EQ(load(root.id).tree_files, 1);
  EXPECT_EQ(reload(job.id).sums.files, before.sums.files);
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeChildTest, AReplayThatEndsDifferentlyIsCountedAndTheStoredChildWins) {
  const Job job = open_job();
  const File root = add_root(job, 0, "a.zip");
  const AddedFile first = add_child(root, 0, file_of("a.zip/b", "b"));

  add_child(root, 0, file_of("a.zip/other-name", "b"));
  add_child(root, 0, file_of("a.zip/b", "other bytes"));
  add_child(root, 0, failed("a.zip/b", ErrorKind::Corrupt));  // no bytes to compare

  const File stored = load(first.id);
  EXPECT_EQ(stored.filename, "a.zip/b");
  EXPECT_EQ(stored.bytes, 1);
  EXPECT_EQ(stored.error_kind, "");
  EXPECT_EQ(load(root.id).conflicts, 2);
  EXPECT_EQ(load(root.id).n_children, 1);
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeChildTest, TwinsInOneBatchAreOneChild) {
  const Job job = open_job();
  const File root = add_root(job, 0, "a.zip");
  std::vector<std::future<Result<AddedFile>>> answers;
  store::Lane& lane = writer_->lane({static_cast<std::uint64_t>(root.shard.value)});
  {
    HeldLane held(lane);
    for (const char* bytes : {"first", "second", "first"}) {
      answers.push_back(push(lane, child_of(root, 0, file_of("a.zip/b", bytes))));
    }
    answers.push_back(push(lane, child_of(root, 1, file_of("a.zip/c", "c"))));
  }
  const Result<AddedFile> first = answers[0].get();
  const Result<AddedFile> second = answers[1].get();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_FALSE(first->existed);
  EXPECT_TRUE(second->existed);
  EXPECT_EQ(first->id, second->id);
  EXPECT_EQ(answers[2].get()->id, first->id);
  EXPECT_FALSE(answers[3].get()->existed);
  EXPECT_EQ(load(root.id).n_children, 2);
  EXPECT_EQ(load(first->id).bytes, 5) << "the first one counts";
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeChildTest, ABatchOfManyFamiliesKeepsThemApart) {
  const Job job = open_job();
  std::vector<File> roots;
  for (int i = 0; i < 3; ++i) roots.push_back(add_root(job, i, fmt::format("{}.zip", i)));
  std::vector<std::future<Result<AddedFile>>> answers;
  store::Lane& lane = writer_->lane({static_cast<std::uint64_t>(roots[0].shard.value)});
  {
    HeldLane held(lane);
    for (int child = 0; child < 4; ++child) {
      for (const File& root : roots) {
        const std::string name = fmt::format("{}/{}", root.filename, child);
        answers.push_back(push(lane, child_of(root, child, document(name, name))));
      }
    }
  }
  for (auto& answer : answers) ASSERT_TRUE(answer.get().ok());
  EXPECT_EQ(show(job.id),
            "0.zip written | 0.zip/0 processed | 0.zip/1 processed | 0.zip/2 processed |"
            " 0.zip/3 processed | 1.zip written | 1.zip/0 processed | 1.zip/1 processed |"
            " 1.zip/2 processed | 1.zip/3 processed | 2.zip written | 2.zip/0 processed |"
            " 2.zip/1 processed | 2.zip/2 processed | 2.zip/3 processed");
  EXPECT_EQ(reload(job.id).sums.files, 15);
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeChildTest, AFileThatIsProcessedGetsNoChildrenAnyMore) {
  const Job job = open_job();
  const File root = add_root(job, 0, "a.zip");
  add_child(root, 0, file_of("a.zip/b", "b"));
  EXPECT_TRUE(finish(root));
  EXPECT_EQ(try_child(child_of(root, 1, file_of("a.zip/c", "c"))).error().kind(), Errc::Conflict);
  EXPECT_EQ(load(root.id).n_children, 1);
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeChildTest, AChildThatCouldNotBeReadIsAnErrorWithoutBytes) {
  const Job job = open_job();
  const File root = add_root(job, 0, "a.zip");
  const AddedFile added = add_child(root, 0, failed("a.zip/locked", ErrorKind::Encrypted));
  const File child = load(added.id);
  EXPECT_EQ(child.state, FileState::Processed);
  EXPECT_EQ(child.error_kind, "encrypted");
  EXPECT_EQ(child.processing_error, "it is so");
  EXPECT_FALSE(child.blob);
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeChildTest, EmptyBytesAndAnEmptyTextAreBytesAndAText) {
  const Job job = open_job();
  const File root = add_root(job, 0, "a.zip");
  const File empty = load(add_child(root, 0, file_of("a.zip/empty", "")).id);
  EXPECT_EQ(empty.state, FileState::Written);
  EXPECT_TRUE(empty.blob);
  EXPECT_EQ(empty.bytes, 0);
  const File page = load(add_child(root, 1, document("a.zip/blank.pdf", "")).id);
  EXPECT_TRUE(page.has_text);
  EXPECT_EQ(read([&](Tx& tx) { return load_text(tx, page.id); })->text, "");
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeChildTest, EqualBytesAreOneBlobHoweverManyFilesHaveThem) {
  const Job job = open_job();
  const File root = add_root(job, 0, "a.zip");
  const File one = load(add_child(root, 0, file_of("a.zip/1", "same")).id);
  const File two = load(add_child(root, 1, file_of("a.zip/2", "same")).id);
  NewFile heir;
  heir.filename = "a.zip/3";
  heir.content_type = "application/pdf";
  heir.inherited = root.blob;
  heir.bytes = root.bytes;
  heir.step = "Pdf";
  const AddedFile three = add_child(root, 2, std::move(heir));
  EXPECT_EQ(one.blob, two.blob);
  EXPECT_EQ(load(three.id).blob, root.blob);
  EXPECT_EQ(rows_of("blob"), 2);
  EXPECT_EQ(load(root.id).tree_bytes, 8) << "what is inherited expands to nothing";
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeChildTest, ARootThatIsSentAgainIsTheSameOneAndAnotherNameIsAConflict) {
  const Job job = open_job();
  const AddRoot root = root_of(job, 7, file_of("a", "a"));
  const store::LaneKey lane{static_cast<std::uint64_t>(root.shard.value)};
  const AddedFile first = *writer_->run(lane, root);
  const AddedFile again = *writer_->run(lane, root);
  EXPECT_FALSE(first.existed);
  EXPECT_TRUE(again.existed);
  EXPECT_EQ(first.id, again.id);
  EXPECT_EQ(writer_->run(lane, root_of(job, 7, file_of("b", "a"))).error().kind(), Errc::Conflict);
  EXPECT_EQ(reload(job.id).sums.roots, 1);
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeChildTest, NoRootComesBehindASealOrACancel) {
  const Job sealed = open_job("sealed");
  seal(sealed.id);
  const AddRoot late = root_of(sealed, 0, file_of("late", "late"));
  const store::LaneKey lane{static_cast<std::uint64_t>(late.shard.value)};
  EXPECT_EQ(writer_->run(lane, late).error().kind(), Errc::Conflict);

  const Job canceled = open_job("canceled");
  ASSERT_TRUE(writer_->run({}, [&](Tx& tx) { return cancel_job(tx, canceled.id); }).ok());
  const AddRoot too_late = root_of(canceled, 0, file_of("late", "late"));
  EXPECT_FALSE(writer_->run({static_cast<std::uint64_t>(too_late.shard.value)}, too_late).ok());
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeChildTest, AnUploadIsCreatedThenWrittenOnceOrDropped) {
  const Job job = open_job();
  NewFile coming = file_of("big.iso", "", "Detect");
  coming.blob.reset();
  const AddRoot order = root_of(job, 0, coming);
  const ShardId shard = order.shard;
  const FileId id = *change(shard, [&](Tx& tx) { return create_root(tx, order); });
  EXPECT_EQ(load(id).state, FileState::Created);
  EXPECT_EQ(problems(), "");

  const WriteRoot write{id, shard, put("all of it"), "Detect"};
  ASSERT_TRUE(change(shard, [&](Tx& tx) { return write_root(tx, write); }).ok());
  EXPECT_EQ(load(id).state, FileState::Written);
  EXPECT_EQ(load(id).bytes, 9);
  EXPECT_EQ(reload(job.id).sums.bytes_in, 9);
  const auto again = change(shard, [&](Tx& tx) { return write_root(tx, write); });
  EXPECT_TRUE(again->existed);
  EXPECT_FALSE(*change(shard, [&](Tx& tx) { return drop_root(tx, shard, id); }));

  const AddRoot other = root_of(job, 1, coming);
  const FileId dropped = *change(shard, [&](Tx& tx) { return create_root(tx, other); });
  EXPECT_TRUE(*change(shard, [&](Tx& tx) { return drop_root(tx, shard, dropped); }));
  EXPECT_EQ(reload(job.id).sums.roots, 1);
  EXPECT_EQ(problems(), "");
}

TEST_P(TreeChildTest, WritesWithAnOldTokenAreRefused) {
  const Job job = open_job();
  const File root = add_root(job, 0, "a.zip");
  FinishChild child = child_of(root, 0, file_of("a.zip/b", "b"));
  child.token = 77;
  EXPECT_EQ(try_child(child).error().kind(), Errc::Stale);
  FinishFile end{root.shard, 77, root.id, {}, {}};
  const store::LaneKey lane{static_cast<std::uint64_t>(root.shard.value)};
  EXPECT_EQ(writer_->run(lane, end).error().kind(), Errc::Stale);
  EXPECT_EQ(load(root.id).state, FileState::Written);
  EXPECT_EQ(load(root.id).n_children, 0);
}

TEST_P(TreeChildTest, ListsAreSortedByNameThenPlaceAndPageByKey) {
  const Job job = open_job();
  const File root = add_root(job, 0, "b.zip");
  add_root(job, 1, "a.txt");
  add_root(job, 2, "a.txt");
  for (const int index : {0, 1, 2, 3}) {
    NewFile page = document("b.zip/p.pdf", fmt::format("page {}", index));
    page.page = 10 - index;
    add_child(root, index, std::move(page));
  }
  add_child(root, 4, failed("b.zip/A", ErrorKind::Corrupt));
  finish(root);
  ingest(root.shard);

  const auto walk = [&](Listed listed, std::size_t limit) {
    std::string text;
    FileFilter filter;
    filter.listed = listed;
    filter.collection = "default";
    filter.limit = limit;
    while (true) {
      const FilePage page = *read([&](Tx& tx) { return list_files(tx, filter); });
      for (const File& file : page.files) {
        text += fmt::format("{}#{} ", file.filename, file.page.value_or(file.index));
      }
      if (!page.next) return text;
      filter.after = *parse_cursor(to_string(*page.next));
    }
  };
  const std::string files =
      "a.txt#1 a.txt#2 b.zip#0 b.zip/A#4 b.zip/p.pdf#10 b.zip/p.pdf#9 b.zip/p.pdf#8 b.zip/p.pdf#7 ";
  const std::string documents = "b.zip/p.pdf#7 b.zip/p.pdf#8 b.zip/p.pdf#9 b.zip/p.pdf#10 ";
  for (const std::size_t limit : {1, 2, 3, 100}) {
    EXPECT_EQ(walk(Listed::Files, limit), files) << "by place";
    EXPECT_EQ(walk(Listed::Documents, limit), documents) << "by page";
    EXPECT_EQ(walk(Listed::Errors, limit), "b.zip/A#4 ");
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, TreeChildTest,
                         testing::Values(StoreKind::Sqlite, StoreKind::Postgres),
                         store::store_name);

}  // namespace
}  // namespace quern::tree
