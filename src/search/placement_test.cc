#include "search/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace quern::search {

// For gtest.
static void PrintTo(const Move& move, std::ostream* out) {
  *out << (move.kind == Move::Kind::Load ? "load " : "drop ") << move.digest << " at "
       << move.searcher;
}

namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

Move load(const std::string& searcher, const std::string& digest) {
  return {Move::Kind::Load, searcher, digest};
}
Move drop(const std::string& searcher, const std::string& digest) {
  return {Move::Kind::Drop, searcher, digest};
}

// Searchers that do as they are told, and say what they hold.
class Fleet {
 public:
  explicit Fleet(std::size_t copies) : copies_(copies) {}

  void add(const std::string& id, std::int64_t space_mb) {
    space_[id] = space_mb;
    searchers_.push_back({id, space_mb, {}, {}, {}});
  }
  void publish(const std::string& digest, std::int64_t mb) { publish_kb(digest, mb * 1024); }
  // Sizes are rounded up for each segment, and what is free of the sum: as in real life.
  void publish_kb(const std::string& digest, std::int64_t kb) {
    segments_.push_back({digest, (kb + 1023) / 1024});
    kb_[digest] = kb;
  }
  void retire(const std::string& digest) {
    std::erase_if(segments_, [&](const PlacedSegment& one) { return one.digest == digest; });
  }
  void hold(const std::string& id, const std::string& digest) { of(id).held.insert(digest); }
  void lose(const std::string& id) {
    std::erase_if(searchers_, [&](const PlacedSearcher& one) { return one.id == id; });
  }

  std::vector<Move> moves() {
    for (PlacedSearcher& one : searchers_) one.free_mb = free_of(one);
    return place(segments_, searchers_, copies_, kept_);
  }
  // Orders are given; they are carried out by the next obey().
  void give(const std::vector<Move>& moves) {
    for (const Move& move : moves) {
      PlacedSearcher& one = of(move.searcher);
      const bool load = move.kind == Move::Kind::Load;
      (load ? one.loading : one.dropping).insert(move.digest);
      (load ? one.dropping : one.loading).erase(move.digest);
    }
  }
  void obey(PlacedSearcher& one) {
    for (const std::string& digest : one.dropping) one.held.erase(digest);
    one.held.insert(one.loading.begin(), one.loading.end());
    one.loading.clear();
    one.dropping.clear();
  }
  // Rounds until nothing moves any more; -1 where that is never.
  int settle(int rounds_max) {
    for (int round = 0; round < rounds_max; ++round) {
      const std::vector<Move> now = moves();
      if (now.empty()) return round;
      give(now);
      for (PlacedSearcher& one : searchers_) obey(one);
    }
    return -1;
  }

  std::size_t holders(const std::string& digest) const {
    return static_cast<std::size_t>(
        std::count_if(searchers_.begin(), searchers_.end(),
                      [&](const PlacedSearcher& one) { return one.held.contains(digest); }));
  }
  std::int64_t free_of(const PlacedSearcher& one) const {
    std::int64_t kb = 0;
    for (const std::string& digest : one.held) kb += kb_.at(digest);
    return space_.at(one.id) - (kb + 1023) / 1024;
  }
  PlacedSearcher& of(const std::string& id) {
    return *std::find_if(searchers_.begin(), searchers_.end(),
                         [&](const PlacedSearcher& one) { return one.id == id; });
  }
  std::vector<PlacedSearcher>& searchers() { return searchers_; }
  const std::vector<PlacedSegment>& segments() const { return segments_; }
  std::set<std::string>& kept() { return kept_; }

 private:
  const std::size_t copies_;
  std::map<std::string, std::int64_t> space_;
  std::map<std::string, std::int64_t> kb_;
  std::vector<PlacedSegment> segments_;
  std::vector<PlacedSearcher> searchers_;
  std::set<std::string> kept_;
};

TEST(PlacementTest, NobodyIsToldAnythingWhereThereIsNothing) {
  Fleet fleet(2);
  EXPECT_THAT(fleet.moves(), IsEmpty());
  fleet.publish("s", 1);
  EXPECT_THAT(fleet.moves(), IsEmpty()) << "no searcher";
}

TEST(PlacementTest, FewerSearchersThanCopiesHoldWhatTheyCan) {
  Fleet fleet(3);
  fleet.add("a", 10);
  fleet.add("b", 10);
  fleet.publish("s", 4);
  EXPECT_THAT(fleet.moves(), UnorderedElementsAre(load("a", "s"), load("b", "s")));
}

TEST(PlacementTest, TheRoomiestGetsASegmentFirst) {
  Fleet fleet(1);
  fleet.add("a", 10);
  fleet.add("b", 30);
  fleet.add("c", 20);
  fleet.publish("s", 4);
  EXPECT_THAT(fleet.moves(), ElementsAre(load("b", "s")));
}

TEST(PlacementTest, TheLargestAreGivenAwayFirst) {
  Fleet fleet(1);
  fleet.add("a", 10);
  fleet.add("b", 6);
  fleet.publish("large", 9);
  fleet.publish("small", 5);
  EXPECT_THAT(fleet.moves(), UnorderedElementsAre(load("a", "large"), load("b", "small")));
}

TEST(PlacementTest, WhereThereIsNoRoomNothingIsLoaded) {
  Fleet fleet(2);
  fleet.add("a", 3);
  fleet.add("b", 5);
  fleet.publish("s", 4);
  EXPECT_THAT(fleet.moves(), ElementsAre(load("b", "s"))) << "one copy is better than none";
  fleet.publish("t", 4);
  fleet.give(fleet.moves());
  for (const PlacedSearcher& one : fleet.searchers()) EXPECT_LE(one.loading.size(), 1u);
}

TEST(PlacementTest, WhatIsOnItsWayTakesRoomAlready) {
  Fleet fleet(1);
  fleet.add("a", 5);
  fleet.publish("s", 4);
  fleet.give(fleet.moves());
  fleet.publish("t", 4);
  EXPECT_THAT(fleet.moves(), IsEmpty());
}

TEST(PlacementTest, WhatNobodyNeedsIsDroppedUnlessItIsKeptForAMoment) {
  Fleet fleet(1);
  fleet.add("a", 10);
  fleet.publish("s", 4);
  fleet.hold("a", "s");
  fleet.retire("s");
  fleet.kept().insert("s");
  EXPECT_THAT(fleet.moves(), IsEmpty());
  fleet.kept().clear();
  EXPECT_THAT(fleet.moves(), ElementsAre(drop("a", "s")));
  fleet.give(fleet.moves());
  EXPECT_THAT(fleet.moves(), IsEmpty()) << "it was told once";
}

TEST(PlacementTest, WhatWasReplacedStaysUntilWhatReplacesItIsHeld) {
  Fleet fleet(1);
  fleet.add("a", 100);
  fleet.publish("old", 40);
  fleet.hold("a", "old");
  fleet.retire("old");
  fleet.publish("new", 40);
  EXPECT_THAT(fleet.moves(), ElementsAre(load("a", "new")));
  fleet.give(fleet.moves());
  EXPECT_THAT(fleet.moves(), IsEmpty()) << "it is on its way";
  fleet.obey(fleet.of("a"));
  EXPECT_THAT(fleet.moves(), ElementsAre(drop("a", "old")));
}

TEST(PlacementTest, WhatWasReplacedMakesRoomWhereThereIsNone) {
  Fleet fleet(1);
  fleet.add("a", 60);
  fleet.publish("old", 40);
  fleet.hold("a", "old");
  fleet.retire("old");
  fleet.publish("new", 40);
  EXPECT_THAT(fleet.moves(), ElementsAre(drop("a", "old")));
  ASSERT_GE(fleet.settle(5), 0);
  EXPECT_EQ(fleet.holders("new"), 1u);
}

TEST(PlacementTest, ALoadThatNobodyNeedsIsCalledOff) {
  Fleet fleet(1);
  fleet.add("a", 10);
  fleet.publish("s", 4);
  fleet.give(fleet.moves());
  fleet.retire("s");
  EXPECT_THAT(fleet.moves(), ElementsAre(drop("a", "s")));
  EXPECT_GE(fleet.settle(3), 0);
}

TEST(PlacementTest, ACopyTooManyGoesFromTheFullest) {
  Fleet fleet(2);
  for (const char* id : {"a", "b", "c"}) fleet.add(id, 100);
  fleet.publish("s", 4);
  fleet.publish("t", 50);
  for (const char* id : {"a", "b", "c"}) fleet.hold(id, "s");
  for (const char* id : {"b", "c"}) fleet.hold(id, "t");
  fleet.add("d", 1);  // no room for anything
  EXPECT_THAT(fleet.moves(), ElementsAre(drop("b", "s")));
}

TEST(PlacementTest, ACopyIsDroppedOnlyWhenTheOthersHoldIt) {
  Fleet fleet(1);
  fleet.add("a", 100);
  fleet.add("b", 100);
  fleet.publish("s", 10);
  fleet.publish("t", 10);
  fleet.hold("a", "s");
  fleet.hold("a", "t");
  const std::vector<Move> first = fleet.moves();
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].kind, Move::Kind::Load);
  EXPECT_EQ(first[0].searcher, "b");
  fleet.give(first);
  EXPECT_THAT(fleet.moves(), IsEmpty()) << "it is under way";
  fleet.obey(fleet.of("b"));
  EXPECT_THAT(fleet.moves(), ElementsAre(drop("a", first[0].digest)));
}

TEST(PlacementTest, TheShareOfOneThatVanishedGoesToTheOthers) {
  Fleet fleet(2);
  for (const char* id : {"a", "b", "c"}) fleet.add(id, 100);
  for (const char* digest : {"s", "t", "u"}) fleet.publish(digest, 10);
  ASSERT_GE(fleet.settle(20), 0);
  fleet.lose("b");
  ASSERT_GE(fleet.settle(20), 0);
  for (const char* digest : {"s", "t", "u"}) EXPECT_EQ(fleet.holders(digest), 2u);
  fleet.add("n", 100);
  EXPECT_GT(fleet.settle(20), 0) << "a new one takes its share";
  EXPECT_FALSE(fleet.of("n").held.empty());
}

TEST(PlacementTest, TheOrderOfSearchersDoesNotMatter) {
  Fleet fleet(2);
  for (const char* id : {"a", "b", "c"}) fleet.add(id, 100);
  for (const char* digest : {"s", "t", "u"}) fleet.publish(digest, 10);
  const std::vector<Move> moves = fleet.moves();
  std::reverse(fleet.searchers().begin(), fleet.searchers().end());
  EXPECT_EQ(fleet.moves(), moves);
}

TEST(PlacementTest, NobodyDropsACopyBecauseOneWhoIsSilentHasIt) {
  Fleet fleet(1);
  fleet.add("a", 10);
  fleet.add("b", 10);
  fleet.publish("s", 4);
  fleet.hold("a", "s");
  fleet.hold("b", "s");
  fleet.of("a").silent = true;
  EXPECT_THAT(fleet.moves(), IsEmpty());
  fleet.of("a").silent = false;
  EXPECT_EQ(fleet.moves().size(), 1U);
}

TEST(PlacementTest, NothingIsEvenedOutWhileOneIsSilent) {
  Fleet fleet(1);
  fleet.add("a", 10);
  fleet.add("b", 10);
  for (const char* digest : {"s", "t", "u"}) {
    fleet.publish(digest, 2);
    fleet.hold("a", digest);
  }
  fleet.of("b").silent = true;
  EXPECT_THAT(fleet.moves(), IsEmpty());
  fleet.of("b").silent = false;
  EXPECT_THAT(fleet.moves(), ElementsAre(load("b", "s")));
}

TEST(PlacementTest, OneHoldsAloneWhatIsNeededAndNobodyElseHas) {
  const std::vector<PlacedSegment> needed = {{"s", 1}, {"t", 1}};
  const PlacedSearcher one{"a", 0, {"s", "old"}, {}, {}};
  EXPECT_TRUE(holds_alone(one, {}, needed));
  EXPECT_TRUE(holds_alone(one, {{"b", 0, {"t"}, {"s"}, {}}}, needed)) << "it is only loading";
  EXPECT_FALSE(holds_alone(one, {{"b", 0, {"s"}, {}, {}}}, needed));
  EXPECT_FALSE(holds_alone(one, {}, {{"t", 1}})) << "nobody needs what it holds";
}

// From whatever state: it comes to rest, and then every segment has its copies, nobody has more
// than he has room for, and whoever looks anew moves nothing.
TEST(PlacementTest, EveryStateComesToRest) {
  std::mt19937_64 random(20261115);
  const auto below = [&random](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  int rounds_most = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const auto copies = static_cast<std::size_t>(1 + below(3));
    Fleet fleet(copies);
    const std::int64_t searchers = 1 + below(6);
    const std::int64_t segments = below(30);
    std::int64_t mb = 0;
    for (std::int64_t i = 0; i < segments; ++i) {
      const std::int64_t kb = below(2) == 0 ? 40 : 1 + below(20'000);
      mb += kb / 1024 + 1;
      fleet.publish_kb("s" + std::to_string(i), kb);
    }
    // Each could hold everything twice over, in different degrees.
    for (std::int64_t i = 0; i < searchers; ++i) {
      fleet.add("n" + std::to_string(i), 2 * mb + 20 + below(500));
    }
    for (PlacedSearcher& one : fleet.searchers()) {
      for (const PlacedSegment& segment : fleet.segments()) {
        if (below(3) == 0) one.held.insert(segment.digest);
      }
    }
    if (segments > 3) fleet.retire("s1");
    const int rounds = fleet.settle(500);
    ASSERT_GE(rounds, 0) << "trial " << trial << " never rests";
    rounds_most = std::max(rounds_most, rounds);
    EXPECT_THAT(fleet.moves(), IsEmpty()) << "a restarted orchestrator";
    for (const PlacedSegment& segment : fleet.segments()) {
      EXPECT_EQ(fleet.holders(segment.digest),
                std::min<std::size_t>(copies, static_cast<std::size_t>(searchers)));
    }
    for (const PlacedSearcher& one : fleet.searchers()) EXPECT_GE(fleet.free_of(one), 0);
  }
  EXPECT_GT(rounds_most, 3);
}

// Where not everything has room, it comes to rest all the same.
TEST(PlacementTest, AFleetThatIsTooSmallComesToRestToo) {
  std::mt19937_64 random(7);
  for (int trial = 0; trial < 300; ++trial) {
    Fleet fleet(2);
    for (int i = 0; i < 4; ++i) {
      fleet.add("n" + std::to_string(i), static_cast<std::int64_t>(random() % 40));
    }
    for (int i = 0; i < 12; ++i) {
      fleet.publish("s" + std::to_string(i), static_cast<std::int64_t>(1 + random() % 20));
    }
    ASSERT_GE(fleet.settle(500), 0) << "trial " << trial;
    for (const PlacedSearcher& one : fleet.searchers()) EXPECT_GE(fleet.free_of(one), 0);
  }
}

}  // namespace
}  // namespace quern::search
