// Work assignment on every store: capacity, selection, leases and what ends them.
#include <gmock/gmock.h>

#include <thread>

#include "conformance/research_fixture.h"

namespace quern::research {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr store::Sql kLeases{"SELECT count(*) FROM research_lease"};
constexpr store::Sql kResults{"SELECT count(*) FROM research_result"};
constexpr store::Sql kResearchers{"SELECT count(*) FROM research_researcher"};
constexpr store::Sql kSettled{"SELECT count(*) FROM curated WHERE settled > 0"};
constexpr store::Sql kSets{"SELECT count(*) FROM research_episode"};

std::vector<std::string> titles_of(const std::vector<Curated>& all) {
  std::vector<std::string> titles;
  for (const Curated& one : all) titles.push_back(one.title);
  return titles;
}

// (0,0) adds one; (0,1) none; (1,1) adds: the document's policy, one spare item; (5,2) adds until
// there is one more than researchers; (3,4) none.
TEST_P(ResearchTest, B1_CapacityIsTheSeeds) {
  options_.clips_per_item = 1;
  add_many(Kind::Episode, 1);
  add_many(Kind::Clip, 30);
  EXPECT_TRUE(wants_more(0, 0));
  EXPECT_FALSE(wants_more(0, 1));
  EXPECT_TRUE(wants_more(1, 1));
  EXPECT_TRUE(wants_more(5, 2));
  EXPECT_FALSE(wants_more(3, 4));

  EXPECT_EQ(assign_all(), 1) << "nobody is there, and nothing waits";
  EXPECT_EQ(assign_all(), 0) << "nobody is there, and one waits";
  const auto note = [&](const std::string& name) {
    CHECK_OK(write([&](Tx& tx) -> Result<bool> {
      TRY(note_researcher(tx, name));
      return true;
    }));
  };
  note("ann");
  EXPECT_EQ(assign_all(), 1) << "one is there, and one waits: position 0 adds";
  EXPECT_EQ(assign_all(), 0) << "one is there, and two wait";
  for (const char* name : {"ben", "cleo", "dan", "eve"}) note(name);
  EXPECT_EQ(assign_all(), 4) << "five are there, and two wait";
  EXPECT_EQ(status().researchers, 5);
  EXPECT_EQ(status().waiting, 6);
}

TEST_P(ResearchTest, B1_AResearcherCountsForAWhileAfterItAskedAndWhileItHoldsALease) {
  add_many(Kind::Episode, 1);
  add_many(Kind::Clip, 1);
  EXPECT_FALSE(take("ann")) << "nothing waits yet";
  EXPECT_EQ(status().researchers, 1);
  pass(29);
  EXPECT_EQ(status().researchers, 1);
  pass(5);
  EXPECT_EQ(status().researchers, 0);
  assign_all();
  ASSERT_TRUE(take("ann"));
  pass(60);
  EXPECT_EQ(status().researchers, 1) << "it holds a lease";
  pass(options_.lease_ms / 1000);
  EXPECT_EQ(status().researchers, 0);
}

TEST_P(ResearchTest, B2_TheEpisodeIsChosenByPriorityThenInitialDate) {
  options_.clips_per_item = 1;
  add_episode("low", 1);
  pass(1);
  const CuratedId older = add_episode("older", 5);
  pass(1);
  add_episode("newer", 5);
  add_clip("drop");
  pass(1);
  CuratedOrder again = order_of(Kind::Episode, "older");
  EXPECT_EQ(curate_one(again).change, CuratedChange::Same);
  EXPECT_GT(load_one(older).latest_us, load_one(older).initial_us);

  std::vector<std::string> order;
  for (const WorkItem& item : take_everything()) order.push_back(item.episode.title);
  EXPECT_THAT(order, ElementsAre("newer", "older", "low"));
}

TEST_P(ResearchTest, B2_ClipsAreChosenLikewise) {
  options_.clips_per_item = 3;
  add_episode("episode");
  add_clip("low", -1);
  pass(1);
  add_clip("older", 5);
  pass(1);
  add_clip("newer", 5);
  pass(1);
  add_clip("plain");
  const std::vector<WorkItem> items = take_everything();
  ASSERT_THAT(items, SizeIs(2));
  EXPECT_THAT(titles_of(items[0].clips), ElementsAre("newer", "older", "plain"));
  EXPECT_THAT(titles_of(items[1].clips), ElementsAre("low"));
}

TEST_P(ResearchTest, B3_ManyClipsAreDisjointItems) {
  add_many(Kind::Episode, 1);
  add_many(Kind::Clip, 250);
  const std::vector<WorkItem> items = take_everything();
  ASSERT_THAT(items, SizeIs(3));
  Pairs all;
  for (const WorkItem& item : items) all.merge(pairs_of(item));
  EXPECT_THAT(items[0].clips, SizeIs(100));
  EXPECT_THAT(items[1].clips, SizeIs(100));
  EXPECT_THAT(items[2].clips, SizeIs(50));
  EXPECT_THAT(all, SizeIs(250));
  EXPECT_TRUE(assign_once().nothing_open);
  EXPECT_EQ(problems_of_research(), "");
}

// Each has a connection of its own where the store lets several in; on SQLite they share the
// writer, as callers of one server do.
TEST_P(ResearchTest, B4_EightAssignersLeaseEveryPairOnce) {
  constexpr int kAssigners = 8;
  options_.clips_per_item = 10;
  add_many(Kind::Episode, 10);
  add_many(Kind::Clip, 100);
  const bool shares = GetParam() == StoreKind::Sqlite;
  std::vector<Pairs> leased(kAssigners);
  std::vector<std::string> errors(kAssigners);
  const auto work = [&](int number) {
    std::unique_ptr<store::Database> database;
    std::unique_ptr<store::Writer> own;
    if (!shares) {
      database = *open_database();
      own = *store::Writer::open(*database, {});
    }
    store::Writer& writer = shares ? *writer_ : *own;
    const std::string name = fmt::format("researcher {}", number);
    while (errors[number].empty()) {
      const auto assigned =
          writer.run({}, store::Alone{[&](Tx& tx) { return assign(tx, options_); }});
      if (!assigned.ok()) errors[number] = assigned.error().message();
      const auto item = writer.run({}, [&](Tx& tx) { return take_work(tx, name, options_); });
      if (!item.ok()) errors[number] = item.error().message();
      if (!item.ok() || !assigned.ok()) return;
      if (!*item && assigned->nothing_open) return;
      if (!*item) continue;
      for (const auto& pair : pairs_of(**item)) leased[number].insert(pair);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kAssigners; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  Pairs all;
  std::size_t sum = 0;
  for (int i = 0; i < kAssigners; ++i) {
    EXPECT_EQ(errors[i], "");
    sum += leased[i].size();
    all.merge(leased[i]);
  }
  EXPECT_EQ(sum, 1000U);
  EXPECT_THAT(all, SizeIs(1000));
  EXPECT_EQ(status().waiting, 0);
  EXPECT_EQ(problems_of_research(), "");
}

TEST_P(ResearchTest, B5_WhatAnEndedLeaseLeftUndoneIsOfferedAgain) {
  add_many(Kind::Episode, 1);
  add_many(Kind::Clip, 100);
  assign_all();
  const std::optional<WorkItem> item = take();
  ASSERT_TRUE(item);
  ASSERT_THAT(item->clips, SizeIs(100));
  Pairs undone = pairs_of(*item);
  for (std::size_t clip = 0; clip < 40; ++clip) {
    send(report_of(*item, clip));
    undone.erase({item->episode.id, item->clips[clip].id});
  }
  EXPECT_EQ(assign_all(), 0) << "all the rest is leased";
  pass(options_.lease_ms / 1000 + 1);
  EXPECT_EQ(assign_all(), 1);
  const std::optional<WorkItem> next = take("ben");
  ASSERT_TRUE(next);
  EXPECT_NE(next->lease.id, item->lease.id);
  EXPECT_EQ(pairs_of(*next), undone);
  EXPECT_THAT(undone, SizeIs(60));
}

TEST_P(ResearchTest, B7_AnItemWhoseTimeIsOverIsNeverHandedOut) {
  add_many(Kind::Episode, 1);
  add_many(Kind::Clip, 3);
  assign_all();
  ASSERT_EQ(status().waiting, 1);
  pass(options_.offer_ms / 1000 + 1);
  EXPECT_FALSE(take()) << "its offer has ended, though its lease has not";
  EXPECT_EQ(status().waiting, 0);
  EXPECT_EQ(assign_all(), 1) << "and its clips are free again";
  EXPECT_EQ(count_rows(kLeases), 1);

  // Nobody tidied up: the lease has ended too.
  script_now("UPDATE research_lease SET offered_us = 1, expires_us = 2");
  EXPECT_FALSE(take());
  assign_all();
  const std::optional<WorkItem> item = take();
  ASSERT_TRUE(item);
  EXPECT_THAT(item->clips, SizeIs(3));
}

TEST_P(ResearchTest, B7_WhatIsTakenHasAFreshExpiry) {
  add_many(Kind::Episode, 1);
  add_many(Kind::Clip, 3);
  assign_all();
  pass(options_.offer_ms / 1000 - 5);
  const std::optional<WorkItem> item = take();
  ASSERT_TRUE(item);
  EXPECT_GT(item->lease.expires_us, now_us() + options_.lease_ms * 1000 - 5 * queue::kSecondUs);
  EXPECT_EQ(expiry_of(item->lease.id), item->lease.expires_us);
  pass(10);
  EXPECT_EQ(assign_all(), 0) << "it was taken: the end of its offer means nothing";
}

TEST_P(ResearchTest, B21_ARaisedPriorityCountsFromTheNextSelectionOn) {
  options_.clips_per_item = 2;
  const std::vector<CuratedId> episodes = add_many(Kind::Episode, 2);
  const std::vector<CuratedId> clips = add_many(Kind::Clip, 5);
  assign_all();
  EXPECT_EQ(status().waiting, 1);
  const auto raise = [&](Kind kind, CuratedId id) {
    CHECK_OK(write([&](Tx& tx) -> Result<bool> {
      TRY(set_priority(tx, kind, id, 9));
      return true;
    }));
  };
  raise(Kind::Episode, episodes[0]);
  raise(Kind::Clip, clips[0]);
  const std::optional<WorkItem> leased = take();
  ASSERT_TRUE(leased);
  EXPECT_EQ(leased->episode.id, episodes[1]) << "leased before: it stays as it was";
  EXPECT_THAT(leased->lease.clips, ElementsAre(clips[4], clips[3]));
  assign_all();
  const std::optional<WorkItem> next = take();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->episode.id, episodes[0]);
  EXPECT_THAT(next->lease.clips, ElementsAre(clips[0], clips[4]));
}

TEST_P(ResearchTest, ANewClipOpensOnePairOfEachEpisode) {
  const std::vector<CuratedId> episodes = add_many(Kind::Episode, 5);
  add_many(Kind::Clip, 7);
  EXPECT_EQ(finish_everything(), 35);
  EXPECT_TRUE(status().idle);
  EXPECT_EQ(problems_of_research(), "");
  const CuratedId clip = add_clip("new");
  EXPECT_FALSE(status().idle);
  Pairs open;
  for (const WorkItem& item : take_everything()) open.merge(pairs_of(item));
  Pairs expected;
  for (const CuratedId episode : episodes) expected.emplace(episode, clip);
  EXPECT_EQ(open, expected);
}

TEST_P(ResearchTest, ANewEpisodeIsOpenWithEveryClip) {
  add_many(Kind::Episode, 2);
  add_many(Kind::Clip, 4);
  EXPECT_EQ(finish_everything(), 8);
  const CuratedId episode = add_episode("new");
  const std::vector<WorkItem> items = take_everything();
  ASSERT_THAT(items, SizeIs(1));
  EXPECT_EQ(items[0].episode.id, episode);
  EXPECT_THAT(items[0].clips, SizeIs(4));
}

TEST_P(ResearchTest, OtherBytesOfAClipOpenItsPairsAndSameBytesNone) {
  add_many(Kind::Episode, 3);
  const std::vector<CuratedId> clips = add_many(Kind::Clip, 4);
  finish_everything();
  const std::int64_t number = load_one(clips[1]).number;
  EXPECT_FALSE(bring(clips[1], "some sound"));
  EXPECT_EQ(load_one(clips[1]).number, number);
  EXPECT_THAT(take_everything(), IsEmpty());

  EXPECT_TRUE(bring(clips[1], "another sound"));
  EXPECT_GT(load_one(clips[1]).number, number);
  EXPECT_EQ(count_rows(kResults), 9) << "what was found with the old bytes is gone";
  EXPECT_EQ(problems_of_research(), "");
  Pairs open;
  for (const WorkItem& item : take_everything()) open.merge(pairs_of(item));
  EXPECT_THAT(open, SizeIs(3));
  for (const auto& pair : open) EXPECT_EQ(pair.second, clips[1]);
}

TEST_P(ResearchTest, OtherBytesOfAnEpisodeOpenAllItsPairs) {
  const std::vector<CuratedId> episodes = add_many(Kind::Episode, 3);
  add_many(Kind::Clip, 4);
  finish_everything();
  EXPECT_TRUE(bring(episodes[2], "another sound"));
  EXPECT_EQ(count_rows(kResults), 8);
  Pairs open;
  for (const WorkItem& item : take_everything()) open.merge(pairs_of(item));
  EXPECT_THAT(open, SizeIs(4));
  for (const auto& pair : open) EXPECT_EQ(pair.first, episodes[2]);
  EXPECT_EQ(problems_of_research(), "");
}

TEST_P(ResearchTest, ANewAlgorithmOpensEverythingOnce) {
  add_many(Kind::Episode, 3);
  add_many(Kind::Clip, 4);
  finish_everything();
  const auto raise = [&](std::int64_t version) {
    CHECK_OK(write([&](Tx& tx) -> Result<bool> {
      TRY(set_algorithm(tx, version));
      return true;
    }));
  };
  raise(1);
  EXPECT_TRUE(status().nothing_open) << "it is the one that was used";
  raise(2);
  EXPECT_FALSE(status().nothing_open);
  EXPECT_EQ(finish_everything(), 12);
  EXPECT_EQ(count_rows(kResults), 12);
  for (const ResultRow& row : results()) EXPECT_EQ(row.algorithm, 2);
  raise(1);
  EXPECT_EQ(finish_everything(), 0) << "an older one opens nothing";
  EXPECT_EQ(problems_of_research(), "");
}

TEST_P(ResearchTest, AClipThatGoesTakesItsPairsWithIt) {
  add_many(Kind::Episode, 2);
  const std::vector<CuratedId> clips = add_many(Kind::Clip, 3);
  assign_all();
  const auto remove = [&](Kind kind, CuratedId id) {
    return write([&](Tx& tx) -> Result<bool> {
      TRY(remove_curated(tx, kind, id));
      return true;
    });
  };
  ASSERT_TRUE(remove(Kind::Clip, clips[0]).ok());
  const std::optional<WorkItem> item = take();
  ASSERT_TRUE(item);
  EXPECT_THAT(item->lease.clips, ElementsAre(clips[2], clips[1])) << "of a lease, too";
  finish(*item);
  EXPECT_EQ(finish_everything(), 2);
  EXPECT_EQ(status().results, 4);
  ASSERT_TRUE(remove(Kind::Clip, clips[1]).ok());
  EXPECT_EQ(status().results, 2);
  EXPECT_EQ(remove(Kind::Clip, clips[1]).error().kind(), Errc::Missing);
  EXPECT_EQ(remove(Kind::Episode, clips[2]).error().kind(), Errc::Missing);
  EXPECT_EQ(problems_of_research(), "");
}

TEST_P(ResearchTest, AnEpisodeThatGoesEndsItsLeases) {
  const std::vector<CuratedId> episodes = add_many(Kind::Episode, 1);
  add_many(Kind::Clip, 3);
  assign_all();
  const std::optional<WorkItem> item = take();
  ASSERT_TRUE(item);
  send(report_of(*item, 0, {5}));
  ASSERT_TRUE(write([&](Tx& tx) -> Result<bool> {
                TRY(remove_curated(tx, Kind::Episode, episodes[0]));
                return true;
              }).ok());
  EXPECT_EQ(count_rows(kLeases), 0);
  EXPECT_EQ(count_rows(kResults), 0);
  EXPECT_EQ(try_send(report_of(*item, 1)).error().kind(), Errc::Missing);
  EXPECT_EQ(problems_of_research(), "");
}

TEST_P(ResearchTest, AJobThatGoesTakesWhatItBroughtWithIt) {
  add_many(Kind::Episode, 30);
  add_many(Kind::Clip, 2);
  finish_everything();
  bool gone = false;
  int steps = 0;
  while (!gone) {
    const auto some = write([&](Tx& tx) { return remove_curated_of_job(tx, job_.id); });
    ASSERT_TRUE(some.ok()) << some.error().message();
    gone = *some;
    ++steps;
  }
  EXPECT_GT(steps, 2) << "a bounded step at a time";
  EXPECT_EQ(count_rows("SELECT count(*) FROM curated"), 0);
  EXPECT_EQ(count_rows(kResults), 0);
  EXPECT_EQ(count_rows(kSets), 0);
}

TEST_P(ResearchTest, PairsAreNotRows) {
  add_many(Kind::Episode, 100);
  add_many(Kind::Clip, 1000);
  assign_all();
  ASSERT_TRUE(take());
  assign_all();
  EXPECT_EQ(count_rows(kSets), 0);
  EXPECT_EQ(count_rows(kResults), 0);
  EXPECT_LE(count_rows(kLeases), 4) << "100,000 pairs are open";
}

TEST_P(ResearchTest, OneRunSettlesSoManyEpisodesAndSaysThatThereAreMore) {
  add_many(Kind::Episode, kCandidatesPerRun + 10);
  add_many(Kind::Clip, 1);
  // All were researched, but nobody has noticed yet.
  script_now(store::Sql{
      "INSERT INTO research_episode (episode, algorithm, researched, results, found, failed)"
      " SELECT id, 1, x'0000', 0, 0, 0 FROM curated WHERE kind = 1",
      "INSERT INTO research_episode (episode, algorithm, researched, results, found, failed)"
      " SELECT id, 1, '\\x0000'::bytea, 0, 0, 0 FROM curated WHERE kind = 1"});
  const Assigned first = assign_once();
  EXPECT_TRUE(first.more);
  EXPECT_FALSE(first.nothing_open);
  EXPECT_EQ(count_rows(kSettled), kCandidatesPerRun);
  const Assigned second = assign_once();
  EXPECT_FALSE(second.more);
  EXPECT_TRUE(second.nothing_open);
  EXPECT_EQ(count_rows(kSettled), kCandidatesPerRun + 10);
}

// More episodes are fully leased than one transaction may settle: the next one is found behind
// them.
TEST_P(ResearchTest, LeasedEpisodesHideNoOthers) {
  constexpr int kEpisodes = static_cast<int>(kCandidatesPerRun) + 40;
  add_many(Kind::Episode, kEpisodes);
  add_many(Kind::Clip, 1);
  EXPECT_THAT(take_everything(), SizeIs(kEpisodes));
}

TEST_P(ResearchTest, ResearchersThatAreLongGoneAreForgotten) {
  EXPECT_FALSE(take("ann"));
  pass(25L * 3600);
  EXPECT_FALSE(take("ben"));
  assign_all();
  EXPECT_EQ(count_rows(kResearchers), 1);
  const auto nobody = write([&](Tx& tx) { return take_work(tx, "", options_); });
  EXPECT_EQ(nobody.error().kind(), Errc::Invalid);
  const std::string long_name(kResearcherBytesMax + 1, 'a');
  const auto too_long = write([&](Tx& tx) { return take_work(tx, long_name, options_); });
  EXPECT_EQ(too_long.error().kind(), Errc::Invalid);
}

TEST_P(ResearchTest, OfManyResearchersTheOldestAreForgotten) {
  script_now(store::Sql{
      "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10005)"
      " INSERT INTO research_researcher (name, asked_us) SELECT 'r' || i, 9000000000000000 + i"
      " FROM n",
      "INSERT INTO research_researcher (name, asked_us) SELECT 'r' || i, 9000000000000000 + i"
      " FROM generate_series(1, 10005) AS i"});
  assign_once();
  EXPECT_EQ(count_rows(kResearchers), kResearchersMax);
  EXPECT_EQ(count_rows("SELECT count(*) FROM research_researcher WHERE name = 'r5'"), 0);
  EXPECT_EQ(count_rows("SELECT count(*) FROM research_researcher WHERE name = 'r6'"), 1);
}

INSTANTIATE_TEST_SUITE_P(Stores, ResearchTest,
                         testing::Values(StoreKind::Sqlite, StoreKind::Postgres),
                         store::store_name);

}  // namespace
}  // namespace quern::research
