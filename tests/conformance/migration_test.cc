// Migrations, on every store: once, whole, by one of several, never backwards.
#include "conformance/store_fixture.h"

namespace quern::store {
namespace {

class MigrationTest : public StoreTest {
 protected:
  // Without tables.
  void SetUp() override {
    StoreTest::SetUp();
    if (GetParam() == StoreKind::Postgres) url_ = support::Postgres::shared().create_database();
  }
  const std::vector<Migration>& all() const {
    return GetParam() == StoreKind::Sqlite ? sqlite_migrations() : postgres_migrations();
  }
  // A session on the empty database, as Database::open has one before it migrates.
  std::unique_ptr<Session> connect() {
    const DatabaseUrl url = *DatabaseUrl::parse(url_);
    if (GetParam() == StoreKind::Sqlite) {
      return *SqliteSession::open({.path = url.location, .clock = &clock_},
                                  SqliteSession::Access::Write, &high_water_us_);
    }
    return *PostgresSession::open({.url = url.location}, PostgresSession::Access::Plain,
                                  &high_water_us_);
  }
  int applied(Session& session) {
    static constexpr Sql kCount{"SELECT count(*) FROM schema_migration"};
    return (*session.run(kCount, {}))[0].get<int>(0);
  }

  support::FakeClock clock_;
  std::atomic<std::int64_t> high_water_us_{0};
};

TEST_P(MigrationTest, AFreshStoreGetsAllAndAnOpenedOneNothingMore) {
  auto session = connect();
  EXPECT_EQ(*migrate(*session, all(), MigratePolicy::Apply, 1), static_cast<int>(all().size()));
  EXPECT_EQ(*migrate(*session, all(), MigratePolicy::Apply, 2), 0);
  EXPECT_EQ(*migrate(*session, all(), MigratePolicy::Refuse, 3), 0);
}

TEST_P(MigrationTest, AnOlderStoreIsRefusedWhereMigratingIsNotAllowed) {
  auto session = connect();
  const Result<int> refused = migrate(*session, all(), MigratePolicy::Refuse, 1);
  EXPECT_EQ(refused.error().kind(), Errc::Conflict);
  EXPECT_THAT(refused.error().message(), testing::HasSubstr("--no-migrate"));
  EXPECT_EQ(applied(*session), 0);
}

TEST_P(MigrationTest, AStoreNewerThanTheProgramIsRefused) {
  auto session = connect();
  std::vector<Migration> newer = all();
  newer.push_back({static_cast<int>(newer.size()) + 1, "later", "CREATE TABLE later (x BIGINT)"});
  ASSERT_TRUE(migrate(*session, newer, MigratePolicy::Apply, 1).ok());
  const Result<int> refused = migrate(*session, all(), MigratePolicy::Apply, 2);
  EXPECT_EQ(refused.error().kind(), Errc::Conflict);
  EXPECT_THAT(refused.error().message(), testing::HasSubstr("newer"));
}

TEST_P(MigrationTest, AScriptThatWasEditedAfterwardsIsRefused) {
  auto session = connect();
  ASSERT_TRUE(migrate(*session, all(), MigratePolicy::Apply, 1).ok());
  std::vector<Migration> edited = all();
  edited[0].sql += "-- edited";
  EXPECT_EQ(migrate(*session, edited, MigratePolicy::Apply, 2).error().kind(), Errc::Corrupt);
}

TEST_P(MigrationTest, AFailingScriptLeavesNothingBehind) {
  auto session = connect();
  std::vector<Migration> failing = all();
  failing.push_back({static_cast<int>(failing.size()) + 1, "half",
                     "CREATE TABLE half (x BIGINT); SELECT nothing FROM nowhere;"});
  const Result<int> failed = migrate(*session, failing, MigratePolicy::Apply, 1);
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().message(), testing::HasSubstr("half"));
  EXPECT_FALSE(session->in_transaction());
  EXPECT_EQ(applied(*session), 0) << "not even the scripts before it";
  EXPECT_EQ(*migrate(*session, all(), MigratePolicy::Apply, 2), static_cast<int>(all().size()));
}

INSTANTIATE_TEST_SUITE_P(Stores, MigrationTest,
                         testing::Values(StoreKind::Sqlite, StoreKind::Postgres), store_name);

// Only PostgreSQL is opened by several servers; a SQLite folder has one owner.
TEST(PostgresMigrationTest, OfSeveralServersThatStartTogetherOneMigrates) {
  const std::string url = support::Postgres::shared().create_database();
  std::vector<std::thread> servers;
  std::atomic<int> opened = 0;
  for (int i = 0; i < 6; ++i) {
    servers.emplace_back([&] {
      const auto database = Database::open(*DatabaseUrl::parse(url), {});
      EXPECT_TRUE(database.ok()) << database.error().message();
      if (database.ok()) ++opened;
    });
  }
  for (std::thread& server : servers) server.join();
  EXPECT_EQ(opened, 6);
  EXPECT_EQ(support::Postgres::shared().run_sql(
                url, "SELECT count(*) = max(number) FROM schema_migration"),
            "t");
}

}  // namespace
}  // namespace quern::store
