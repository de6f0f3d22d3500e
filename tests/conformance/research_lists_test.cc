// What people see of results, on every store: of what was found, of what failed, and how much of
// each.
#include <gmock/gmock.h>

#include "conformance/research_fixture.h"

namespace quern::research {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::SizeIs;

class ResearchListsTest : public ResearchTest {
 protected:
  std::map<CuratedId, std::int64_t> found_between(CuratedId first, CuratedId last) {
    const auto counts = write([=](Tx& tx) { return count_found(tx, first, last); });
    CHECK(counts.ok());
    return *counts;
  }
};

TEST_P(ResearchListsTest, FailedPairsAreListedOverAllEpisodes) {
  add_many(Kind::Episode, 2);
  add_many(Kind::Clip, 2);
  std::vector<CuratedId> failed;
  for (const WorkItem& item : take_everything()) {
    Report report = report_of(item, 0, {7});
    report.clip_duration_ns = 1'500'000'000;
    send(report);
    report = report_of(item, 1);
    report.error = "the clip is silent";
    report.final = true;
    send(report);
    failed.push_back(item.clips[1].id);
  }
  ASSERT_THAT(failed, SizeIs(2));
  const std::vector<ResultRow> rows = results({.failed_only = true});
  ASSERT_THAT(rows, SizeIs(2));
  for (const ResultRow& row : rows) EXPECT_EQ(row.error, "the clip is silent");
  EXPECT_THAT(results({.failed_only = true, .limit = 1}), SizeIs(1));
  EXPECT_THAT(results({.episode = rows[0].episode, .failed_only = true}), SizeIs(1));
  EXPECT_THAT(results({.clip = rows[0].clip, .failed_only = true}), SizeIs(2));
  const auto researched = [this](Kind kind, CuratedId id) {
    return *write([=](Tx& tx) { return count_researched(tx, kind, id); });
  };
  EXPECT_EQ(researched(Kind::Episode, rows[0].episode), 2);
  EXPECT_EQ(researched(Kind::Clip, rows[0].clip), 2);
  EXPECT_EQ(researched(Kind::Episode, 12345), 0);
  ResultFilter behind{.failed_only = true};
  behind.after = {rows[0].episode, rows[0].clip};
  EXPECT_THAT(results(behind), SizeIs(1));
  const std::vector<ResultRow> found = results({.found_only = true});
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].clip_duration_ns, 1'500'000'000);
}

TEST_P(ResearchListsTest, EpisodesSayInHowManyPairsSomethingWasFound) {
  const std::vector<CuratedId> episodes = add_many(Kind::Episode, 3);
  add_many(Kind::Clip, 2);
  for (const WorkItem& item : take_everything()) {
    const bool all = item.episode.id == episodes[0];
    const bool none = item.episode.id == episodes[2];
    send(report_of(item, 0, none ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{1, 2}));
    Report last =
        report_of(item, 1, all ? std::vector<std::int64_t>{3} : std::vector<std::int64_t>{});
    last.final = true;
    send(last);
  }
  EXPECT_THAT(found_between(episodes[0], episodes[2]),
              ElementsAre(Pair(episodes[0], 2), Pair(episodes[1], 1)));
  EXPECT_THAT(found_between(episodes[1], episodes[1]), ElementsAre(Pair(episodes[1], 1)));
}

INSTANTIATE_TEST_SUITE_P(Stores, ResearchListsTest,
                         testing::Values(StoreKind::Sqlite, StoreKind::Postgres),
                         store::store_name);

}  // namespace
}  // namespace quern::research
