// From documents to packs: what is published, replaced, masked and merged, and by whom; on every
// store. And the rows of the acceptance table that are about searching.
#include "conformance/search_fixture.h"

#include <gmock/gmock.h>

#include <thread>

namespace quern::search {
namespace {

using testing::HasSubstr;
using testing::Not;

class PackingTest : public SearchTest {};

TEST_P(PackingTest, ADocumentIsFoundOnceItIsPacked) {
  add("one", {{"a.txt", "the river barge"}, {"b.txt", "a lock"}});
  EXPECT_EQ(changes().size(), 2U);
  EXPECT_EQ(find("barge"), "");
  const auto report = pack();
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_EQ(report->documents, 2);
  EXPECT_EQ(find("barges"), "a.txt");
  EXPECT_TRUE(changes().empty());
  EXPECT_EQ(list().version, 1);
  EXPECT_FALSE(pack()->published) << "nothing has changed";
  EXPECT_EQ(search_problems(), "");
}

TEST_P(PackingTest, EachPackOfChangesAddsASegment) {
  add("one", {{"a.txt", "barge one"}});
  ASSERT_TRUE(pack().ok());
  add("two", {{"b.txt", "barge two"}, {"c.txt", "barge three"}});
  ASSERT_TRUE(pack().ok());
  EXPECT_EQ(shape(), "1+2");
  EXPECT_EQ(ask("barge").total, 3);
  EXPECT_EQ(search_problems(), "");
}

TEST_P(PackingTest, AFullPackReplacesAllByOne) {
  add("one", {{"a.txt", "barge one"}});
  ASSERT_TRUE(pack().ok());
  add("two", {{"b.txt", "barge two"}});
  ASSERT_TRUE(pack().ok());
  add("three", {{"c.txt", "barge three"}});
  const auto report = packing_->full("default", claim());
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_EQ(shape(), "3");
  EXPECT_EQ(ask("barge").total, 3);
  EXPECT_TRUE(changes().empty());
  EXPECT_EQ(search_problems(), "");
}

TEST_P(PackingTest, ADocumentThatAFullPackHasAlreadyIsNotAddedAgain) {
  add("one", {{"a.txt", "barge"}});
  ASSERT_TRUE(packing_->full("default", claim()).ok());
  // Its change comes once more, as if it had been noted while the full pack was read.
  const tree::File file = read([](Tx& tx) {
                            return tree::list_files(tx, {tree::Listed::Documents, "default"});
                          })->files.at(0);
  ASSERT_TRUE(writer_
                  ->run({},
                        [&](Tx& tx) {
                          return tree::note_changes(
                              tx, {{file.collection, tree::ChangeKind::Added, file.id.value}});
                        })
                  .ok());
  const auto report = packing_->incremental("default", claim());
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_EQ(shape(), "1");
  EXPECT_TRUE(changes().empty());
}

TEST_P(PackingTest, AJobThatGoesIsHiddenAtOnceAndMaskedWithTheNextPack) {
  const Job gone = add("one", {{"a.txt", "barge one"}, {"b.txt", "barge two"}});
  add("two", {{"c.txt", "barge three"}});
  ASSERT_TRUE(pack().ok());
  ASSERT_TRUE(mark_gone(gone.id).ok());
  EXPECT_EQ(find("barge"), "c.txt") << "hidden, though the pack still has them";
  ASSERT_TRUE(pack().ok());
  EXPECT_EQ(shape(), "3-2");
  EXPECT_EQ(list().segments[0].mask_version, 1);
  EXPECT_EQ(find("barge"), "c.txt");
  EXPECT_EQ(ask("barge").total, 1);
}

TEST_P(PackingTest, ASegmentOfWhichNothingIsLeftGoes) {
  const Job gone = add("one", {{"a.txt", "barge one"}});
  ASSERT_TRUE(pack().ok());
  add("two", {{"b.txt", "barge two"}});
  ASSERT_TRUE(pack().ok());
  ASSERT_TRUE(mark_gone(gone.id).ok());
  ASSERT_TRUE(pack().ok());
  EXPECT_EQ(shape(), "1");
  EXPECT_EQ(find("barge"), "b.txt");
}

TEST_P(PackingTest, WhatIsReplacedAndAddedIsSeenTogether) {
  const Job old = add("one", {{"page.txt", "the old barge"}});
  ASSERT_TRUE(pack().ok());
  ASSERT_TRUE(mark_gone(old.id).ok());
  add("two", {{"page.txt", "the new barge"}});
  const std::int64_t before = list().version;
  ASSERT_TRUE(pack().ok());
  EXPECT_EQ(list().version, before + 1);
  EXPECT_EQ(find("barge"), "page.txt");
  EXPECT_THAT(ask("barge").hits.at(0).hit.snippet, HasSubstr("new"));
}

TEST_P(PackingTest, ACollectionThatIsGoneLeavesNoPack) {
  const Job job = add("one", {{"a.txt", "barge"}}, "leak");
  ASSERT_TRUE(pack("leak").ok());
  ASSERT_TRUE(mark_gone(job.id).ok());
  while (!*writer_->run({}, [&](Tx& tx) { return tree::remove_some(tx, job.id); })) continue;
  EXPECT_TRUE(read([](Tx& tx) { return load_packs(tx); })->empty()) << "nobody searches it";
  const auto report = pack("leak");
  ASSERT_TRUE(report.ok()) << report.error().message();
  const auto removed = writer_->run({}, [](Tx& tx) { return remove_retired(tx, -1); });
  ASSERT_TRUE(removed.ok());
  EXPECT_EQ(*removed, 1);
  EXPECT_EQ(rows_of("segment"), 0);
  EXPECT_EQ(rows_of("pack"), 0);
  EXPECT_EQ(rows_of("document_change"), 0);
}

TEST_P(PackingTest, SmallSegmentsBecomeOneAndAnswersStay) {
  for (int i = 0; i < 9; ++i) {
    add(fmt::format("job{}", i), {{fmt::format("{}.txt", i), fmt::format("barge number{}", i)}});
    ASSERT_TRUE(pack().ok());
  }
  const std::string before = find("barge");
  const auto report = packing_->merge("default", claim());
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_TRUE(report->published);
  EXPECT_EQ(shape(), "9");
  EXPECT_EQ(find("barge"), before);
  EXPECT_EQ(find("number7"), "7.txt");
  EXPECT_FALSE(packing_->merge("default", claim())->published) << "one is not merged";
  EXPECT_EQ(search_problems(), "");
}

TEST_P(PackingTest, WhatGoesWhileSegmentsAreMergedIsMaskedInTheNewOne) {
  std::vector<Job> jobs;
  for (int i = 0; i < 8; ++i) {
    jobs.push_back(add(fmt::format("job{}", i), {{fmt::format("{}.txt", i), "barge"},
                                                 {fmt::format("{}b.txt", i), "barge"}}));
    ASSERT_TRUE(pack().ok());
  }
  // As if it were marked and masked just before the merge is published: the list is read again
  // then.
  std::thread deleting([&] {
    ASSERT_TRUE(mark_gone(jobs[3].id).ok());
    Result<PackReport> packed = pack();
    while (!packed.ok() && packed.error().kind() == Errc::Conflict) packed = pack();
    ASSERT_TRUE(packed.ok()) << packed.error().message();
  });
  auto merger = other_packer("merger");
  Result<PackReport> merged = Error{Errc::Internal, "not run"};
  for (int attempt = 0; attempt < 5 && !merged.ok(); ++attempt) {
    merged = merger->merge("default", *right());
  }
  deleting.join();
  ASSERT_TRUE(merged.ok()) << merged.error().message();
  while (merger->merge("default", *right())->published) continue;
  EXPECT_EQ(ask("barge").total, 14);
  EXPECT_EQ(find("filename:3"), "");
}

TEST_P(PackingTest, ASegmentWithManyGapsIsWrittenAnew) {
  const Job gone = add("one", {{"a.txt", "barge a"}});
  add("two", {{"b.txt", "barge b"}});
  ASSERT_TRUE(pack().ok());
  ASSERT_TRUE(mark_gone(gone.id).ok());
  ASSERT_TRUE(pack().ok());
  ASSERT_EQ(shape(), "2-1");
  ASSERT_TRUE(packing_->merge("default", claim()).ok());
  EXPECT_EQ(shape(), "1");
  EXPECT_EQ(find("barge"), "b.txt");
}

TEST_P(PackingTest, OneStepTakesAtMostSoManyChanges) {
  options_.changes_max = 3;
  auto packer = other_packer("other", options_);
  Texts texts;
  for (int i = 0; i < 7; ++i) texts.emplace_back(fmt::format("{}.txt", i), "barge");
  add("one", texts);
  const PackRight right = claim();
  EXPECT_TRUE(packer->incremental("default", right)->more);
  EXPECT_EQ(shape(), "3");
  EXPECT_TRUE(packer->incremental("default", right)->more);
  EXPECT_FALSE(packer->incremental("default", right)->more);
  EXPECT_EQ(shape(), "3+3+1");
  EXPECT_EQ(search_problems(), "");
}

TEST_P(PackingTest, OneStepTakesAtMostSoMuchText) {
  options_.text_bytes_max = 10;
  auto packer = other_packer("other", options_);
  Texts texts;
  for (int i = 0; i < 250; ++i) texts.emplace_back(fmt::format("{}.txt", i), "a barge of text");
  add("one", texts);
  const PackRight right = claim();
  const auto report = packer->incremental("default", right);
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_TRUE(report->more);
  EXPECT_EQ(shape(), "100") << "what is collected at once";
}

TEST_P(PackingTest, APackIsFetchedFromTheBlobsWhereItIsNotHere) {
  add("one", {{"a.txt", "barge"}});
  ASSERT_TRUE(pack().ok());
  ASSERT_TRUE(packs_->drop(list().segments[0].digest).ok());
  EXPECT_EQ(find("barge"), "a.txt");
}

TEST_P(PackingTest, ADamagedPackIsNoticedAndFetchedAgain) {
  add("one", {{"a.txt", "barge"}});
  ASSERT_TRUE(pack().ok());
  const std::string digest = list().segments[0].digest;
  const io::Path file = folder_ / "packs" / (digest + ".pack");
  std::string bytes = *io::read_file(file, 1 << 20);
  bytes[bytes.size() / 2] ^= 0x40;
  ASSERT_TRUE(io::write_file_durably(file, bytes).ok());
  // Another process begins with this folder.
  auto reopened = PackFolder::open(folder_ / "packs", PackFolder::Owner::Only);
  ASSERT_TRUE(reopened.ok());
  EXPECT_EQ((*reopened)->find(digest).error().kind(), Errc::Corrupt);
  PackSource source(**reopened, *readers_, *blobs_);
  EXPECT_TRUE(source.load(list().segments[0]).ok());
}

TEST_P(PackingTest, PublishingPostsAnUpdateInTheSameTransaction) {
  add("one", {{"a.txt", "barge"}});
  ASSERT_TRUE(pack().ok());
  const auto messages =
      read([](Tx& tx) { return queue::list_messages(tx, "ORCH", queue::ItemFilter{}); });
  ASSERT_TRUE(messages.ok());
  ASSERT_EQ(messages->size(), 1U);
  EXPECT_THAT(messages->at(0).data, HasSubstr(R"("type":"update","site":"default")"));
  EXPECT_THAT(messages->at(0).data, HasSubstr(list().segments[0].digest));
}

TEST_P(PackingTest, WhatIsRetiredStaysForAWhileAndThenGoesWithItsBlob) {
  add("one", {{"a.txt", "barge"}});
  ASSERT_TRUE(pack().ok());
  ASSERT_TRUE(packing_->full("default", claim()).ok());
  const auto remove = [](Tx& tx) { return remove_retired(tx, kRetiredKeptUs); };
  EXPECT_EQ(*writer_->run({}, remove), 0);
  EXPECT_EQ(rows_of("segment"), 2);
  pass(kRetiredKeptUs / 1'000'000 + 10);
  EXPECT_EQ(*writer_->run({}, remove), 1);
  EXPECT_EQ(rows_of("segment"), 1);
  EXPECT_EQ(find("barge"), "a.txt");
}

TEST_P(PackingTest, AnInterruptedPackerChangesNothing) {
  add("one", {{"a.txt", "barge"}});
  auto stopped = other_packer("other");
  stopped->stop();
  EXPECT_EQ(stopped->incremental("default", claim()).error().kind(), Errc::Canceled);
  EXPECT_EQ(changes().size(), 1U);
  EXPECT_EQ(rows_of("segment"), 0);
}

TEST_P(PackingTest, TheCheckFindsADocumentThatNoPackHas) {
  add("one", {{"a.txt", "barge"}});
  for (const tree::Change& change : changes()) {
    ASSERT_TRUE(writer_->run({}, [&](Tx& tx) { return tree::drop_changes(tx, {change.id}); }).ok());
  }
  EXPECT_THAT(search_problems(), HasSubstr("has 1 documents, but 0 can be found"));
}

// -- rows --

TEST_P(PackingTest, A7_OfTwoPackersOnePublishesAndTheOtherIsFenced) {
  add("one", {{"a.txt", "barge one"}, {"b.txt", "barge two"}});
  const PackRight former = claim();
  const PackRight owner = claim();
  auto slow = other_packer("slow");
  EXPECT_EQ(slow->incremental("default", former).error().kind(), Errc::Stale);
  EXPECT_EQ(rows_of("segment"), 0) << "what has lost its right writes nothing";
  ASSERT_TRUE(packing_->incremental("default", owner).ok());
  EXPECT_EQ(shape(), "2");
  EXPECT_EQ(slow->full("default", former).error().kind(), Errc::Stale);
  EXPECT_EQ(shape(), "2");
}

TEST_P(PackingTest, A7_TwoPackersAtTheSameTimePublishEachDocumentOnce) {
  Texts texts;
  for (int i = 0; i < 40; ++i) texts.emplace_back(fmt::format("{}.txt", i), "barge");
  add("one", texts);
  const PackRight right = claim();
  auto other = other_packer("other");
  std::atomic<int> published = 0;
  const auto run = [&](Packing& packer) {
    const Result<PackReport> report = packer.incremental("default", right);
    if (report.ok() && report->published) ++published;
    if (!report.ok()) EXPECT_EQ(report.error().kind(), Errc::Conflict) << report.error().message();
  };
  std::thread beside([&] { run(*other); });
  run(*packing_);
  beside.join();
  EXPECT_EQ(published, 1);
  EXPECT_EQ(shape(), "40");
  EXPECT_EQ(search_problems(), "");
}

TEST_P(PackingTest, A22_AnyTextIsAQuery) {
  add("one", {{"a.txt", "don't write e-mail in c++ to a and b"}, {"b.txt", "something else"}});
  ASSERT_TRUE(pack().ok());
  std::string long_text;
  while (long_text.size() < 10'000) long_text += "barge ";
  for (const std::string& query :
       {std::string("\"\""), std::string("a  b"), std::string("don't"), std::string("c++"),
        std::string("e-mail"), std::string("AND"), std::string("(x"), std::string("NEAR("),
        std::string("\"open"), long_text, std::string("")}) {
    ask(query);  // an error fails the test
  }
  EXPECT_EQ(find("a  b"), "a.txt");
  EXPECT_EQ(find("don't"), "a.txt");
  EXPECT_EQ(find("c++"), "a.txt");
  EXPECT_EQ(find("e-mail"), "a.txt");
  EXPECT_EQ(find("\"\""), "");
  EXPECT_TRUE(parse_query(long_text).cut);
}

TEST_P(PackingTest, A23_ADocumentIsOneHitAndItsBestFieldDrivesItsRank) {
  add("one", {{"barge.txt", "a text about a barge that says barge"},
              {"other.txt", "a text about a barge that says little else"},
              {"third.txt", "a text about a barge that says little else"}});
  ASSERT_TRUE(pack().ok());
  const GroupAnswer answer = ask("barge");
  ASSERT_EQ(answer.hits.size(), 3U);
  EXPECT_EQ(answer.total, 3);
  EXPECT_EQ(answer.hits[0].hit.filename, "barge.txt");
  // Equal scores: in the same order every time, also out of other segments.
  EXPECT_EQ(answer.hits[1].place.score, answer.hits[2].place.score);
  const std::string order = find("barge");
  ASSERT_TRUE(packing_->full("default", claim()).ok());
  EXPECT_EQ(find("barge"), order);
}

TEST_P(PackingTest, A24_APathHoldsForAllBelowItAndNothingElse) {
  add("one", {{"/a/one.txt", "barge"}, {"/b/two.txt", "barge"}, {"/ab/three.txt", "barge"}});
  ASSERT_TRUE(pack().ok());
  EXPECT_EQ(find("barge path:/a/"), "/a/one.txt");
  EXPECT_EQ(find("barge path:/b"), "/b/two.txt");
}

TEST_P(PackingTest, A25_FiveMegabytesOfDistinctWordsAreFoundByTheLast) {
  std::string text;
  for (int i = 0; text.size() < 5'000'000; ++i) text += fmt::format("word{} ", i);
  text += "lastofall";
  const Job job = open_job("one", "default");
  const tree::File root = add_root(job, 0, "one.zip");
  tree::NewFile large = document("large.txt", "");
  blob::Spool spool(*blobs_);
  ASSERT_TRUE(spool.write(text).ok());
  const blob::Put stored = *spool.finish();
  large.text = tree::Text{"", stored, stored.sha256, false};
  add_child(root, 0, large);
  finish(root);
  ingest(root.shard);
  const auto report = pack();
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_EQ(find("lastofall"), "large.txt");
  EXPECT_THAT(ask("lastofall").hits.at(0).hit.snippet, HasSubstr("<mark>lastofall</mark>"));
}

TEST_P(PackingTest, A27_TwoScopesInParallelNeverMix) {
  add("one", {{"mine.txt", "barge"}}, "mine");
  add("two", {{"yours.txt", "barge"}}, "yours");
  ASSERT_TRUE(pack("mine").ok());
  ASSERT_TRUE(pack("yours").ok());
  const auto search_often = [this](const std::string& scope) {
    GroupOrder order;
    order.query = parse_query("barge");
    const std::vector<GroupMember> all = members({scope});
    order.frequencies = *count_tokens(all, tokens_of(order.query));
    for (int i = 0; i < 10'000; ++i) {
      const Result<GroupAnswer> answer = search_group(all, order);
      if (!answer.ok() || answer->hits.size() != 1 ||
          answer->hits[0].hit.filename != scope + ".txt") {
        ADD_FAILURE() << "a search in " << scope << " found something else";
        return;
      }
    }
  };
  std::thread beside([&] { search_often("yours"); });
  search_often("mine");
  beside.join();
}

TEST_P(PackingTest, A28_AfterADeleteTheOthersStillMatchTheirOwnRows) {
  add("one", {{"a.txt", "the barge Heron carries gravel"}});
  const Job gone = add("two", {{"b.txt", "the barge Otter carries grain"}});
  add("three", {{"c.txt", "the barge Kingfisher carries nothing"}});
  ASSERT_TRUE(pack().ok());
  ASSERT_TRUE(mark_gone(gone.id).ok());
  for (int packs = 0; packs < 3; ++packs) {
    const GroupAnswer answer = ask("barge");
    ASSERT_EQ(answer.hits.size(), 2U);
    EXPECT_EQ(find("otter"), "");
    for (const GroupHit& hit : answer.hits) {
      const bool first = hit.hit.filename == "a.txt";
      EXPECT_THAT(hit.hit.snippet, HasSubstr(first ? "Heron" : "Kingfisher"));
    }
    ASSERT_TRUE(packs == 0 ? pack().ok() : packing_->merge("default", claim()).ok());
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, PackingTest,
                         testing::Values(StoreKind::Sqlite, StoreKind::Postgres),
                         store::store_name);

}  // namespace
}  // namespace quern::search
