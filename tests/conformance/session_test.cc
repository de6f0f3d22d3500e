// What a session and a transaction promise, on every store.
#include <limits>

#include "conformance/store_fixture.h"

namespace quern::store {
namespace {

class SessionTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    open();
  }
};

constexpr Sql kEcho{"SELECT $1, $2, $3, $4, $5",
                    "SELECT $1::bigint, $2::double precision, $3::text, $4::bytea, $5::boolean"};

TEST_P(SessionTest, ValuesComeBackAsTheyWereGiven) {
  const std::string blob("\0\xFF\x01", 3);
  const Bytes bytes(reinterpret_cast<const std::byte*>(blob.data()), blob.size());
  auto done = writer_->run({}, [&](Tx& tx) -> Result<int> {
    TRY_ASSIGN(const Rows rows, tx.query(kEcho, std::numeric_limits<std::int64_t>::min(), 0.5,
                                         std::string("Grüße 谷"), bytes, true));
    EXPECT_EQ(rows[0].get<std::int64_t>(0), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(rows[0].get<double>(1), 0.5);
    EXPECT_EQ(rows[0].get<std::string>(2), "Grüße 谷");
    EXPECT_EQ(rows[0].get<std::string>(3), blob);
    EXPECT_TRUE(rows[0].get<bool>(4));
    return 0;
  });
  EXPECT_TRUE(done.ok()) << done.error().message();
}

TEST_P(SessionTest, MissingValuesAreNullAndEmptyTextsAreTexts) {
  auto done = writer_->run({}, [&](Tx& tx) -> Result<int> {
    TRY_ASSIGN(const Rows rows,
               tx.query(kEcho, std::optional<std::int64_t>(), std::optional<double>(), "", Bytes(),
                        std::optional<bool>()));
    EXPECT_EQ(rows[0].get<std::optional<std::int64_t>>(0), std::nullopt);
    EXPECT_TRUE(rows[0].is_null(1));
    EXPECT_EQ(rows[0].get<std::string>(2), "");
    EXPECT_EQ(rows[0].get<std::string>(3), "");
    EXPECT_TRUE(rows[0].is_null(4));
    return 0;
  });
  EXPECT_TRUE(done.ok()) << done.error().message();
}

constexpr Sql kBackwards{"SELECT $2, $1, $2", "SELECT $2::bigint, $1::bigint, $2::bigint"};

TEST_P(SessionTest, ParametersGoByNumberNotByPlace) {
  auto done = writer_->run({}, [&](Tx& tx) -> Result<int> {
    TRY_ASSIGN(const Rows rows, tx.query(kBackwards, 1, 2));
    EXPECT_EQ(rows[0].get<int>(0), 2);
    EXPECT_EQ(rows[0].get<int>(1), 1);
    return 0;
  });
  EXPECT_TRUE(done.ok()) << done.error().message();
}

constexpr Sql kInsertBulk{
    "INSERT INTO note (key, text) VALUES ($1, $2) RETURNING key",
    "INSERT INTO note (key, text) SELECT * FROM unnest($1::bigint[], $2::text[]) RETURNING key"};
constexpr Sql kRename{"UPDATE note SET text = $1 WHERE key > $2"};

TEST_P(SessionTest, BulkRowsAreOneStatementAndCountWhatTheyChange) {
  auto done = writer_->run({}, [&](Tx& tx) -> Result<int> {
    Bulk bulk;
    for (int i = 1; i <= 300; ++i) bulk.add(i, "n");
    TRY_ASSIGN(const Rows rows, tx.bulk(kInsertBulk, bulk));
    EXPECT_EQ(rows.size(), 300u);
    EXPECT_EQ(rows.changed(), 300);
    TRY_ASSIGN(const std::int64_t renamed, tx.exec(kRename, "m", 290));
    EXPECT_EQ(renamed, 10);
    EXPECT_EQ(tx.bulk(kInsertBulk, Bulk())->size(), 0u) << "no rows, no statement";
    return 0;
  });
  EXPECT_TRUE(done.ok()) << done.error().message();
}

TEST_P(SessionTest, KindsOfFailureAreTheSameOnEveryStore) {
  ASSERT_TRUE(writer_->run({}, AddNote{1, "a"}).ok());
  const auto twice = writer_->run({}, [](Tx& tx) { return insert_note(tx, 1, "b"); });
  EXPECT_EQ(twice.error().kind(), Errc::Conflict) << twice.error().message();
  const auto refused = writer_->run({}, [](Tx& tx) { return insert_note(tx, 2, "bad"); });
  EXPECT_EQ(refused.error().kind(), Errc::Conflict) << refused.error().message();
  static constexpr Sql kNonsense{"SELECT nothing FROM nowhere"};
  const auto nonsense = writer_->run({}, [](Tx& tx) { return tx.exec(kNonsense); });
  EXPECT_EQ(nonsense.error().kind(), Errc::Internal) << nonsense.error().message();
  static constexpr Sql kNote{"SELECT text FROM note WHERE key = $1"};
  const auto missing = writer_->run({}, [](Tx& tx) { return tx.value<std::string>(kNote, 9); });
  EXPECT_EQ(missing.error().kind(), Errc::Missing);
}

TEST_P(SessionTest, AReadSeesOneSnapshotAndCannotWrite) {
  auto readers = *Readers::open(*database_, {});
  ASSERT_TRUE(writer_->run({}, AddNote{1, "a"}).ok());
  static constexpr Sql kCount{"SELECT count(*) FROM note"};
  auto counted = readers->run([&](Tx& tx) -> Result<int> {
    TRY_ASSIGN(const int before, tx.value<int>(kCount));
    EXPECT_TRUE(writer_->run({}, AddNote{2, "b"}).ok());
    TRY_ASSIGN(const int after, tx.value<int>(kCount));
    EXPECT_EQ(before, after);
    return after;
  });
  EXPECT_EQ(*counted, 1);
  EXPECT_EQ(*readers->run([](Tx& tx) { return tx.value<int>(kCount); }), 2);
  EXPECT_FALSE(readers->run([](Tx& tx) { return insert_note(tx, 3, "c"); }).ok());
  EXPECT_EQ(notes(), "1=a 2=b");
}

TEST_P(SessionTest, AReadThatLastsTooLongIsStopped) {
  auto readers = *Readers::open(*database_, {});
  static constexpr Sql kEndless{
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"};
  const auto stopped = readers->run([](Tx& tx) { return tx.value<int>(kEndless); });
  EXPECT_EQ(stopped.error().kind(), Errc::Timeout) << stopped.error().message();
  static constexpr Sql kOne{"SELECT 1"};
  EXPECT_EQ(*readers->run([](Tx& tx) { return tx.value<int>(kOne); }), 1) << "the reader goes on";
}

TEST_P(SessionTest, ReadsBeyondTheQueueAreRefused) {
  std::promise<void> begun;
  std::promise<void> release;
  auto readers = *Readers::open(*database_, {.threads = 1, .queue_max = 2});
  auto blocking = make_operation(
      [&](Tx&) -> Result<int> {
        begun.set_value();
        release.get_future().wait();
        return 0;
      },
      [](const Result<int>&) {});
  ASSERT_TRUE(readers->try_push(blocking));
  begun.get_future().wait();
  for (int i = 0; i < 3; ++i) {
    auto read = make_operation([](Tx&) -> Result<int> { return 0; }, [](const Result<int>&) {});
    EXPECT_EQ(readers->try_push(read), i < 2);
    EXPECT_EQ(read == nullptr, i < 2) << "what is refused is left with the caller";
  }
  release.set_value();
}

INSTANTIATE_TEST_SUITE_P(Stores, SessionTest,
                         testing::Values(StoreKind::Sqlite, StoreKind::Postgres), store_name);

}  // namespace
}  // namespace quern::store
