// Sessions of blobs: what a dead one wrote and nobody named goes; what a living one wrote stays;
// and nothing of a dead one can be named any more.
#include <gmock/gmock.h>

#include <fstream>

#include "blob/place.h"
#include "conformance/blob_fixture.h"

namespace quern::blob {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr std::size_t kLarge = kInlineBytesMax + 1;
constexpr Sql kCountSessions{"SELECT count(*) FROM blob_session"};
constexpr Sql kCountUnswept{"SELECT count(*) FROM blob_session WHERE NOT swept"};

class BlobSessionTest : public BlobTest {
 protected:
  // The process that wrote is gone, and everybody can know it.
  void die() {
    const std::int64_t session = blobs_->session();
    reopen();
    end_session(session);
  }
};

TEST_P(BlobSessionTest, WhatADeadSessionLeftWithoutANameGoes) {
  put_and_hold(1, bytes_of(kLarge, 1));
  put(bytes_of(kLarge, 2));
  ASSERT_THAT(files(), SizeIs(2));
  die();
  EXPECT_THAT(*find_orphans(*blobs_), SizeIs(owner() == BlobStore::Owner::Only ? 1 : 0))
      << "an expired session is not declared dead yet";
  EXPECT_EQ(sweep_all().files, 1);
  EXPECT_THAT(files(), SizeIs(1));
  EXPECT_THAT(*find_orphans(*blobs_), IsEmpty());
  EXPECT_TRUE(contents(blob_of(1)) == bytes_of(kLarge, 1));
  EXPECT_EQ(count(kCountUnswept), 0);
  EXPECT_EQ(count(kCountSessions), 1) << "its file is still named";
}

TEST_P(BlobSessionTest, ASessionThatLeftNothingIsForgotten) {
  put(bytes_of(kLarge, 2));
  die();
  sweep_all();
  EXPECT_EQ(count(kCountSessions), 0);
  std::error_code failed;
  EXPECT_TRUE(std::filesystem::is_empty(blobs_folder(), failed)) << "its folders went, too";
}

TEST_P(BlobSessionTest, WhatALivingSessionWroteStaysUntilItIsNamed) {
  const Put one = put(bytes_of(kLarge, 1));
  EXPECT_EQ(sweep_all().files, 0);
  EXPECT_THAT(files(), SizeIs(1));
  EXPECT_THAT(*find_orphans(*blobs_), IsEmpty());
  CHECK_OK(writer_->run(store::LaneKey{}, [&](Tx& tx) { return hold(tx, 1, one); }));
  EXPECT_TRUE(contents(blob_of(1)) == bytes_of(kLarge, 1));
}

TEST_P(BlobSessionTest, NothingOfADeadSessionCanBeNamed) {
  const Put one = put(bytes_of(kLarge, 1));
  end_session(one.session);
  sweep_all();
  EXPECT_THAT(files(), IsEmpty());
  const auto named = writer_->run(store::LaneKey{}, [&](Tx& tx) { return hold(tx, 1, one); });
  EXPECT_EQ(named.error().kind(), Errc::Stale);
  EXPECT_EQ(rows(), 0);
}

TEST_P(BlobSessionTest, OthersOfTheBatchAreNotHarmed) {
  const Put stale = put(bytes_of(kLarge, 1));
  const Put fine = put("few bytes");
  end_session(stale.session);
  sweep_all();
  std::future<Result<Stored>> first;
  std::future<Result<Stored>> second;
  {
    const store::HeldLane held(writer_->lane({}));
    first = store::push(writer_->lane({}), [&](Tx& tx) { return hold(tx, 1, stale); });
    second = store::push(writer_->lane({}), [&](Tx& tx) { return hold(tx, 2, fine); });
  }
  EXPECT_EQ(first.get().error().kind(), Errc::Stale);
  EXPECT_TRUE(second.get().ok());
  EXPECT_EQ(blob_of(2).data, "few bytes");
}

TEST_P(BlobSessionTest, AStoreWhoseSessionWasDeclaredDeadBeginsAnother) {
  const Put lost = put(bytes_of(kLarge, 1));
  ASSERT_TRUE(blobs_->renew().ok());
  end_session(lost.session);
  sweep_all();
  EXPECT_EQ(blobs_->renew().error().kind(), Errc::Stale);
  EXPECT_EQ(blobs_->session(), 0);
  put_and_hold(1, bytes_of(kLarge, 1));
  EXPECT_NE(blobs_->session(), lost.session);
  EXPECT_TRUE(contents(blob_of(1)) == bytes_of(kLarge, 1));
}

TEST_P(BlobSessionTest, ARenewedSessionIsNotTakenForDead) {
  const Put one = put(bytes_of(kLarge, 1));
  end_session(one.session);
  ASSERT_TRUE(blobs_->renew().ok()) << "late, but before anybody declared it dead";
  EXPECT_EQ(sweep_all().files, 0);
  CHECK_OK(writer_->run(store::LaneKey{}, [&](Tx& tx) { return hold(tx, 1, one); }));
}

TEST_P(BlobSessionTest, WhatWasUnderWayGoesWithItsSession) {
  put(bytes_of(kLarge, 1));
  const std::filesystem::path folder = (blobs_folder() / files().at(0)).parent_path();
  std::ofstream(folder / ".quern-tmp-0123456789abcdef") << "half of something";
  std::ofstream(folder / "notes.txt") << "somebody's own";
  die();
  EXPECT_EQ(sweep_all().files, 2);
  ASSERT_THAT(files(), SizeIs(1)) << "what is not ours stays";
  EXPECT_THAT(files()[0], testing::EndsWith("notes.txt"));
}

TEST_P(BlobSessionTest, ManyFilesOfADeadSessionAreSweptFolderByFolder) {
  // As the store would have made them: 3 folders, and a row for one file of each.
  put_and_hold(1, bytes_of(kLarge, 1));
  const std::string session = files().at(0).substr(0, files().at(0).find('/'));
  std::error_code failed;
  for (std::int64_t number = 1; number < 2500; number += 10) {
    const std::filesystem::path path = blobs_folder() / place_name(session, number);
    std::filesystem::create_directories(path.parent_path(), failed);
    std::ofstream(path) << "nobody's";
  }
  die();
  Swept all;
  int steps = 0;
  for (bool more = true; more; ++steps) {
    const Result<Swept> step = sweep(*blobs_, kDeleteUnreferenced);
    ASSERT_TRUE(step.ok());
    EXPECT_LE(step->files, 100) << "one folder at a time";
    all.files += step->files;
    more = step->more;
  }
  EXPECT_EQ(all.files, 250);
  EXPECT_GE(steps, 3);
  EXPECT_THAT(files(), SizeIs(1));
}

TEST_P(BlobSessionTest, TheOrphansOfADatabaseThatWasRestoredAreNamedAndKept) {
  put_and_hold(1, bytes_of(kLarge, 1));
  const std::filesystem::path strange = blobs_folder() / "77-0badcafe/000";
  std::error_code failed;
  std::filesystem::create_directories(strange, failed);
  std::ofstream(strange / "000000") << "of a session that no row knows";
  sweep_all();
  EXPECT_THAT(*find_orphans(*blobs_), testing::ElementsAre("77-0badcafe/000/000000"));
  EXPECT_THAT(files(), SizeIs(2));
}

TEST_P(BlobSessionTest, NamesAreNeverUsedTwice) {
  std::set<std::string> places;
  for (int life = 0; life < 3; ++life) {
    for (int i = 0; i < 2; ++i) places.insert(put(bytes_of(kLarge, 1)).place);
    reopen();
  }
  EXPECT_THAT(places, SizeIs(6));
}

INSTANTIATE_TEST_SUITE_P(Stores, BlobSessionTest,
                         testing::Values(StoreKind::Sqlite, StoreKind::Postgres),
                         store::store_name);

}  // namespace
}  // namespace quern::blob
