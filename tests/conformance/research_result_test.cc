// Work completion on every store: results, what they do to leases, and what could not be taken.
#include <gmock/gmock.h>

#include "conformance/research_fixture.h"

namespace quern::research {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr store::Sql kLeases{"SELECT count(*) FROM research_lease"};
constexpr store::Sql kResults{"SELECT count(*) FROM research_result"};
constexpr store::Sql kOffsets{"SELECT count(*) FROM research_offset"};
constexpr store::Sql kRefused{"SELECT count(*) FROM research_refused"};
constexpr store::Sql kReason{"SELECT reason FROM research_refused ORDER BY id LIMIT 1"};

class ResearchResultTest : public ResearchTest {
 protected:
  // One episode, some clips, and their item, taken.
  WorkItem taken(int clips) {
    add_many(Kind::Episode, 1);
    add_many(Kind::Clip, clips);
    assign_all();
    std::optional<WorkItem> item = take();
    CHECK(item && std::ssize(item->clips) == clips);
    return *std::move(item);
  }
  bool refuse_body(const std::string& body, const std::string& reason) {
    const auto dead = write([&](Tx& tx) { return refuse(tx, body, reason); });
    CHECK_OK(dead);
    return *dead;
  }
};

TEST_P(ResearchResultTest, B8_AResultIsStoredAndExtendsItsLease) {
  const WorkItem item = taken(3);
  pass(100);
  const Reported reported = send(report_of(item, 0, {7}));
  EXPECT_TRUE(reported.stored);
  EXPECT_TRUE(reported.extended);
  EXPECT_FALSE(reported.revoked);
  EXPECT_EQ(expiry_of(item.lease.id), reported.expires_us);
  EXPECT_GE(reported.expires_us, item.lease.expires_us + 100 * queue::kSecondUs);
  EXPECT_EQ(count_rows(kResults), 1);
  EXPECT_EQ(load_one(item.episode.id).duration_ns, 3'600'000'000'000);
  EXPECT_EQ(load_one(item.clips[0].id).duration_ns, 2'000'000'000);
}

TEST_P(ResearchResultTest, B8_AResultThatIsNotTakenLeavesTheLeaseAlone) {
  const WorkItem item = taken(3);
  pass(100);
  Report unknown = report_of(item, 0);
  unknown.clip = 4711;
  EXPECT_EQ(try_send(unknown).error().kind(), Errc::Missing);
  EXPECT_EQ(expiry_of(item.lease.id), item.lease.expires_us);
}

TEST_P(ResearchResultTest, B9_ALateResultIsStoredAndTouchesNoOtherLease) {
  const WorkItem late = taken(2);
  pass(options_.lease_ms / 1000 + 1);
  assign_all();
  const std::optional<WorkItem> other = take("ben");
  ASSERT_TRUE(other);
  ASSERT_EQ(pairs_of(*other), pairs_of(late));
  pass(30);
  const Reported reported = send(report_of(late, 0, {7}));
  EXPECT_TRUE(reported.stored);
  EXPECT_FALSE(reported.extended);
  EXPECT_EQ(expiry_of(other->lease.id), other->lease.expires_us);
  EXPECT_FALSE(send(report_of(*other, 0, {7})).stored) << "it is there once";
  EXPECT_EQ(count_rows(kResults), 1);
  Report last = report_of(*other, 1);
  last.final = true;
  send(last);
  EXPECT_THAT(take_everything(), IsEmpty());
  EXPECT_EQ(problems_of_research(), "");
}

TEST_P(ResearchResultTest, B9_AnEndedLeaseIsNotWokenUp) {
  const WorkItem item = taken(2);
  pass(options_.lease_ms / 1000 + 1);
  const Reported reported = send(report_of(item, 0));
  EXPECT_TRUE(reported.stored);
  EXPECT_FALSE(reported.extended) << "nobody has removed it yet, but it has ended";
  assign_all();
  const std::optional<WorkItem> next = take("ben");
  ASSERT_TRUE(next);
  EXPECT_THAT(next->lease.clips, ElementsAre(item.clips[1].id));
}

TEST_P(ResearchResultTest, B9_AResultWithoutALeaseOrOfAnothersExtendsNothing) {
  const WorkItem item = taken(2);
  const CuratedId other = add_episode("other");
  Report leaseless = report_of(item, 0, {1});
  leaseless.lease_id = "";
  EXPECT_TRUE(send(leaseless).stored);
  Report strange = report_of(item, 1);
  strange.episode = other;
  strange.episode_hash = "";
  EXPECT_FALSE(send(strange).extended) << "the lease is of another episode";
  EXPECT_EQ(expiry_of(item.lease.id), item.lease.expires_us);
}

TEST_P(ResearchResultTest, B10_TheSameResultThreeTimesIsOneRow) {
  const WorkItem item = taken(2);
  const Report report = report_of(item, 0, {5, 9});
  EXPECT_TRUE(send(report).stored);
  EXPECT_FALSE(send(report).stored);
  EXPECT_FALSE(send(report).stored);
  EXPECT_EQ(count_rows(kResults), 1);
  EXPECT_EQ(count_rows(kOffsets), 2);
  EXPECT_EQ(status().results, 1);
  EXPECT_EQ(status().found, 1);
}

TEST_P(ResearchResultTest, B11_AFinalResultThatOvertakesOthersEndsTheLeaseForGood) {
  const WorkItem item = taken(3);
  Report last = report_of(item, 2);
  last.final = true;
  EXPECT_TRUE(send(last).revoked);
  EXPECT_EQ(count_rows(kLeases), 0);
  for (const std::size_t clip : {0, 1}) {
    const Reported reported = send(report_of(item, clip));
    EXPECT_TRUE(reported.stored);
    EXPECT_FALSE(reported.extended);
    EXPECT_FALSE(reported.revoked);
  }
  EXPECT_EQ(count_rows(kLeases), 0);
  EXPECT_EQ(count_rows(kResults), 3);
  EXPECT_THAT(take_everything(), IsEmpty());
}

TEST_P(ResearchResultTest, B11_WhoWindsDownFreesWhatIsNotDone) {
  const WorkItem item = taken(3);
  send(report_of(item, 0));
  Report leaves;
  leaves.lease_id = item.lease.id;
  leaves.episode = item.episode.id;
  leaves.final = true;
  const Reported reported = send(leaves);
  EXPECT_TRUE(reported.revoked);
  EXPECT_FALSE(reported.stored);
  assign_all();
  const std::optional<WorkItem> next = take("ben");
  ASSERT_TRUE(next);
  EXPECT_THAT(next->lease.clips, ElementsAre(item.clips[1].id, item.clips[2].id));
}

TEST_P(ResearchResultTest, B13_ABodyThatCannotBeTakenIsADeadLetterAtTheThirdTry) {
  const std::string body = "{\"lease_id\": \xff\0 7";
  EXPECT_FALSE(refuse_body(body, "the body is no JSON"));
  EXPECT_FALSE(refuse_body(body, "the body is no JSON"));
  EXPECT_FALSE(refuse_body("{}", "another one"));
  EXPECT_TRUE(refuse_body(body, "the body is no JSON"));
  EXPECT_TRUE(refuse_body(body, "the body is no JSON")) << "and stays one";
  EXPECT_EQ(count_rows(kRefused), 2);
  EXPECT_EQ(status().dead_letters, 1);
  EXPECT_EQ(*read([](Tx& tx) { return tx.value<std::string>(kReason); }), "the body is no JSON");
  const WorkItem item = taken(1);
  EXPECT_TRUE(send(report_of(item, 0)).stored) << "others go on";
}

TEST_P(ResearchResultTest, B13_AnUnknownEpisodeOrClipIsSaidToBeSo) {
  const WorkItem item = taken(1);
  Report report = report_of(item, 0);
  report.clip = item.episode.id;
  EXPECT_THAT(try_send(report).error().message(), HasSubstr("there is no clip"));
  report = report_of(item, 0);
  report.episode = item.clips[0].id;
  EXPECT_THAT(try_send(report).error().message(), HasSubstr("there is no episode"));
  EXPECT_EQ(count_rows(kResults), 0);
}

TEST_P(ResearchResultTest, B13_OfManyRefusedBodiesTheOldestGo) {
  refuse_body("the first", "no");
  // As if so many others had come in between.
  script_now(store::Sql{"UPDATE research_refused SET id = id - 10000",
                        "SELECT setval(pg_get_serial_sequence('research_refused', 'id'), 10001)"});
  refuse_body("the second", "no");
  EXPECT_EQ(count_rows(kRefused), 1);
}

TEST_P(ResearchResultTest, B14_OffsetsAscendAndANegativeIsARowWithADate) {
  const WorkItem item = taken(2);
  send(report_of(item, 0, {3, 14, 159}));
  send(report_of(item, 1));
  const std::vector<ResultRow> rows = results();
  ASSERT_THAT(rows, SizeIs(2));
  for (const ResultRow& row : rows) {
    EXPECT_GT(row.date_us, 0);
    EXPECT_EQ(row.episode_title, "episode 0");
    if (row.clip == item.clips[1].id) EXPECT_THAT(row.found, IsEmpty());
    if (row.clip != item.clips[0].id) continue;
    EXPECT_THAT(row.found, ElementsAre(Finding{3, 0.9}, Finding{14, 0.9}, Finding{159, 0.9}));
  }
  EXPECT_THAT(results({.found_only = true}), SizeIs(1));
  EXPECT_EQ(status().results, 2);
  EXPECT_EQ(status().found, 1);
}

TEST_P(ResearchResultTest, B15_WhatIsCuratedAgainIsUpdatedInPlace) {
  CuratedOrder order = order_of(Kind::Clip, "jingle");
  const CurateOutcome first = curate_one(order);
  EXPECT_EQ(first.change, CuratedChange::New);
  const std::int64_t initial_us = load_one(first.id).initial_us;
  pass(5);
  order.url = "https://sound.test/moved.mp3";
  order.file.reset();
  const CurateOutcome moved = curate_one(order);
  EXPECT_EQ(moved.id, first.id);
  EXPECT_EQ(moved.change, CuratedChange::Updated);
  EXPECT_TRUE(moved.fetch) << "the new address may have other bytes";
  EXPECT_EQ(load_one(first.id).media, MediaState::Ready) << "until then the old ones count";
  order.title = "the jingle";
  const CurateOutcome renamed = curate_one(order);
  EXPECT_EQ(renamed.id, first.id);
  EXPECT_EQ(curate_one(order).change, CuratedChange::Same);
  const Curated clip = load_one(first.id);
  EXPECT_EQ(clip.title, "the jingle");
  EXPECT_EQ(clip.url, "https://sound.test/moved.mp3");
  EXPECT_EQ(clip.initial_us, initial_us);
  EXPECT_GE(clip.latest_us, initial_us + 5 * queue::kSecondUs);
  EXPECT_EQ(count_rows("SELECT count(*) FROM curated"), 1);
}

TEST_P(ResearchResultTest, B15_AKeySurvivesEveryRename) {
  CuratedOrder order = order_of(Kind::Episode, "pilot");
  const CuratedId bare = curate_one(order).id;
  order.key = "guid:feed 1";
  EXPECT_EQ(curate_one(order).id, bare) << "the row of that address had no key";
  order.title = "the pilot";
  order.url = "https://sound.test/elsewhere";
  EXPECT_EQ(curate_one(order).id, bare);
  order.key = "guid:feed 2";
  const CuratedId second = curate_one(order).id;
  EXPECT_NE(second, bare) << "the same address under another key is another episode";
  order.kind = Kind::Clip;
  EXPECT_NE(curate_one(order).id, second) << "and a clip is no episode";
}

TEST_P(ResearchResultTest, B15_TwoOfOneNameFromNobodyAreTwo) {
  CuratedOrder order = order_of(Kind::Clip, "clip.mp3");
  order.source = "";
  const CuratedId first = curate_one(order).id;
  order.url = "https://other.test/clip.mp3";
  EXPECT_NE(curate_one(order).id, first);
}

TEST_P(ResearchResultTest, B20_ALeaseIsRenewedByEachResult) {
  options_.lease_ms = 10'000;
  options_.offer_ms = 8'000;
  const WorkItem item = taken(100);
  std::int64_t renewed = 0;
  std::int64_t before = item.lease.expires_us;
  for (std::size_t clip = 0; clip < 100; ++clip) {
    pass(1);
    ASSERT_GT(expiry_of(item.lease.id), now_us()) << "it ended at clip " << clip;
    Report report = report_of(item, clip);
    report.final = clip == 99;
    const Reported reported = send(report);
    EXPECT_EQ(assign_all(), 0);
    if (report.final) continue;
    EXPECT_TRUE(reported.extended);
    renewed += reported.expires_us > before ? 1 : 0;
    before = reported.expires_us;
  }
  EXPECT_GE(renewed, 9);
  EXPECT_EQ(count_rows(kResults), 100);
  EXPECT_EQ(count_rows(kLeases), 0);
  EXPECT_TRUE(status().idle);
}

TEST_P(ResearchResultTest, ANewerAlgorithmsResultIsNotReplacedByAnOlderOne) {
  const WorkItem item = taken(1);
  Report report = report_of(item, 0, {5});
  report.algorithm = 2;
  EXPECT_TRUE(send(report).stored);
  report = report_of(item, 0);
  report.algorithm = 1;
  EXPECT_FALSE(send(report).stored);
  EXPECT_THAT(results().at(0).found, SizeIs(1));
  report = report_of(item, 0, {6, 7});
  report.algorithm = 3;
  EXPECT_TRUE(send(report).stored);
  EXPECT_THAT(results().at(0).found, ElementsAre(Finding{6, 0.9}, Finding{7, 0.9}));
  EXPECT_EQ(count_rows(kOffsets), 2);
  EXPECT_EQ(problems_of_research(), "");
}

TEST_P(ResearchResultTest, AResultOfAnOlderAlgorithmLeavesThePairOpen) {
  const WorkItem item = taken(1);
  ASSERT_TRUE(write([&](Tx& tx) -> Result<bool> {
                TRY(set_algorithm(tx, 2));
                return true;
              }).ok());
  Report report = report_of(item, 0, {5});
  report.algorithm = 1;
  report.final = true;
  EXPECT_TRUE(send(report).stored) << "it is better than nothing";
  assign_all();
  const std::optional<WorkItem> again = take("ben");
  ASSERT_TRUE(again);
  EXPECT_EQ(pairs_of(*again), pairs_of(item));
  finish(*again);
  EXPECT_THAT(results().at(0).found, IsEmpty());
  EXPECT_EQ(problems_of_research(), "");
}

TEST_P(ResearchResultTest, AResultAboutBytesThatWereReplacedIsAcknowledgedAndNotStored) {
  const WorkItem item = taken(2);
  bring(item.clips[0].id, "another sound");
  const Reported reported = send(report_of(item, 0, {5}));
  EXPECT_FALSE(reported.stored);
  EXPECT_TRUE(reported.extended);
  Report by_hash = report_of(item, 0, {5});
  by_hash.clip_number = 0;
  EXPECT_FALSE(send(by_hash).stored) << "its hash tells as well";
  by_hash.clip_hash = "md5:of-some-other-kind";
  EXPECT_TRUE(send(by_hash).stored) << "a hash that we cannot compare tells nothing";
}

TEST_P(ResearchResultTest, APairThatFailedIsDoneUntilItIsRetried) {
  const WorkItem item = taken(3);
  Report failed = report_of(item, 0);
  failed.error = "the clip is silent";
  EXPECT_TRUE(send(failed).stored);
  EXPECT_FALSE(send(failed).stored);
  send(report_of(item, 1, {5}));
  Report last = report_of(item, 2);
  last.final = true;
  send(last);
  EXPECT_THAT(take_everything(), IsEmpty());
  EXPECT_EQ(status().failed, 1);

  const auto retry = [&](const ResultFilter& filter) {
    return *write([&](Tx& tx) { return retry_failed(tx, filter); });
  };
  EXPECT_EQ(retry({.clip = item.clips[1].id}), 0);
  EXPECT_EQ(retry({.episode = item.episode.id, .clip = item.clips[0].id}), 1);
  EXPECT_EQ(retry({}), 0);
  EXPECT_EQ(status().failed, 0);
  EXPECT_EQ(problems_of_research(), "");
  assign_all();
  const std::optional<WorkItem> again = take("ben");
  ASSERT_TRUE(again);
  EXPECT_THAT(again->lease.clips, ElementsAre(item.clips[0].id));
}

TEST_P(ResearchResultTest, AResultTakesThePlaceOfAnErrorAndNotTheOtherWayRound) {
  const WorkItem item = taken(1);
  Report failed = report_of(item, 0);
  failed.error = "it could not be read";
  EXPECT_TRUE(send(failed).stored);
  EXPECT_TRUE(send(report_of(item, 0, {5})).stored);
  EXPECT_FALSE(send(failed).stored);
  EXPECT_EQ(results().at(0).error, "");
  EXPECT_EQ(status().failed, 0);
  EXPECT_EQ(status().found, 1);
}

TEST_P(ResearchResultTest, WhatWasReportedLateIsNotHandedOutAgain) {
  const WorkItem late = taken(2);
  pass(options_.lease_ms / 1000 + 1);
  assign_all();
  send(report_of(late, 0));
  const std::optional<WorkItem> next = take("ben");
  ASSERT_TRUE(next);
  EXPECT_THAT(next->lease.clips, ElementsAre(late.clips[1].id)) << "though its lease has both";
}

TEST_P(ResearchResultTest, ResultsArePagedAndFiltered) {
  const std::vector<CuratedId> episodes = add_many(Kind::Episode, 3);
  const std::vector<CuratedId> clips = add_many(Kind::Clip, 3);
  finish_everything();
  EXPECT_THAT(results({.episode = episodes[0]}), SizeIs(3));
  EXPECT_THAT(results({.clip = clips[0]}), SizeIs(3));
  EXPECT_THAT(results({.episode = episodes[0], .clip = clips[0]}), SizeIs(1));
  EXPECT_THAT(results({.collection = "default"}), SizeIs(9));
  EXPECT_THAT(results({.collection = "no such"}), IsEmpty());
  ResultFilter filter;
  filter.limit = 2;
  Pairs seen;
  for (int page = 0; page < 5; ++page) {
    for (const ResultRow& row : results(filter)) {
      seen.emplace(row.episode, row.clip);
      filter.after = {row.episode, row.clip};
    }
  }
  EXPECT_THAT(seen, SizeIs(9));
}

TEST_P(ResearchResultTest, AFingerprintIsOfTheMediaAndGoesWithIt) {
  const CuratedId episode = add_episode("episode");
  Fingerprint fingerprint{episode, load_one(episode).sha256, 1, "picture"};
  const auto store = [&](const std::string& bytes) {
    return write([&](Tx& tx) { return store_fingerprint(tx, fingerprint, put(bytes)); });
  };
  const auto find = [&](std::optional<std::int64_t> version = std::nullopt) {
    return *read([&](Tx& tx) { return find_fingerprint(tx, episode, version); });
  };
  EXPECT_FALSE(find());
  ASSERT_TRUE(store("print one").ok());
  ASSERT_TRUE(find(1));
  EXPECT_EQ(find(1)->waveform, "picture");
  EXPECT_FALSE(find(2));
  fingerprint.version = 2;
  ASSERT_TRUE(store("print two").ok());
  EXPECT_EQ(find()->version, 2);
  EXPECT_FALSE(find(1)) << "a newer one takes its place";
  fingerprint.version = 1;
  EXPECT_TRUE(*store("print one")) << "an older one is not used";
  EXPECT_EQ(find()->version, 2);
  fingerprint.sha256 = std::string(64, 'a');
  EXPECT_EQ(store("of other bytes").error().kind(), Errc::Conflict);
  bring(episode, "another sound");
  EXPECT_FALSE(find());
  EXPECT_EQ(count_rows("SELECT count(*) FROM blob_doubt"), 2);
}

TEST_P(ResearchResultTest, AFingerprintHasItsLimits) {
  const CuratedId episode = add_episode("episode");
  Fingerprint fingerprint{episode, load_one(episode).sha256, 1,
                          std::string(kWaveformBytesMax + 1, 'w')};
  const auto store = [&](const blob::Put& bytes) {
    return write([&](Tx& tx) { return store_fingerprint(tx, fingerprint, bytes); });
  };
  EXPECT_EQ(store(put("x")).error().kind(), Errc::TooLarge);
  fingerprint.waveform.resize(kWaveformBytesMax);
  EXPECT_TRUE(store(put("x")).ok());
  blob::Put large;
  large.bytes = static_cast<std::int64_t>(kFingerprintBytesMax) + 1;
  EXPECT_EQ(store(large).error().kind(), Errc::TooLarge);
  fingerprint.version = 0;
  EXPECT_EQ(store(put("x")).error().kind(), Errc::Invalid);
}

TEST_P(ResearchResultTest, MediaThatCouldNotBeHadIsTriedAgainWhenItIsCuratedAgain) {
  CuratedOrder order = order_of(Kind::Clip, "jingle");
  order.file.reset();
  const CurateOutcome first = curate_one(order);
  EXPECT_TRUE(first.fetch);
  EXPECT_FALSE(status().idle) << "it is being fetched";
  const auto fail = [&](CuratedId id) {
    return write([&](Tx& tx) -> Result<bool> {
      TRY(media_failed(tx, id, "404 Not Found"));
      return true;
    });
  };
  ASSERT_TRUE(fail(first.id).ok());
  EXPECT_EQ(load_one(first.id).media, MediaState::Failed);
  EXPECT_EQ(load_one(first.id).problem, "404 Not Found");
  EXPECT_TRUE(status().idle);
  EXPECT_TRUE(curate_one(order).fetch);
  EXPECT_EQ(load_one(first.id).media, MediaState::Pending);
  EXPECT_TRUE(bring(first.id, "some sound"));
  ASSERT_TRUE(fail(first.id).ok());
  EXPECT_EQ(load_one(first.id).media, MediaState::Ready) << "the bytes that it has stay";
  EXPECT_EQ(fail(4711).error().kind(), Errc::Missing);
}

TEST_P(ResearchResultTest, WhatIsCuratedHasItsLimits) {
  const auto refused = [&](const CuratedOrder& order) {
    const auto outcome = write([&](Tx& tx) { return curate(tx, order); });
    return !outcome.ok() && outcome.error().kind() == Errc::Invalid;
  };
  CuratedOrder order = order_of(Kind::Clip, std::string(kTitleBytesMax + 1, 't'));
  order.url = "https://sound.test/";
  EXPECT_TRUE(refused(order));
  order = order_of(Kind::Clip, "clip");
  order.priority = kPriorityMax + 1;
  EXPECT_TRUE(refused(order));
  order = order_of(Kind::Clip, "clip");
  order.url = "";
  order.file.reset();
  EXPECT_TRUE(refused(order));
  order = order_of(Kind::Clip, "\xff");
  EXPECT_TRUE(refused(order));
  order = order_of(Kind::Clip, "clip");
  order.collection = "elsewhere";
  EXPECT_TRUE(refused(order));
  EXPECT_EQ(count_rows("SELECT count(*) FROM curated"), 0);
}

TEST_P(ResearchResultTest, ClipNumbersEnd) {
  script_now("UPDATE research_pool SET next_number = 10000001");
  const auto outcome =
      write([&](Tx& tx) { return curate(tx, order_of(Kind::Clip, "one too many")); });
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().kind(), Errc::TooLarge);
}

INSTANTIATE_TEST_SUITE_P(Stores, ResearchResultTest,
                         testing::Values(store::StoreKind::Sqlite, store::StoreKind::Postgres),
                         store::store_name);

}  // namespace
}  // namespace quern::research
