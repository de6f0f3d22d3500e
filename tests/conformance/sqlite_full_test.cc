// SQLite with no space left. The disk's end is set by max_page_count; what SQLite does then is the
// same: it ends the whole transaction, also from within a savepoint.
#include "conformance/store_fixture.h"

namespace quern::store {
namespace {

class SqliteFullTest : public StoreTest {
 protected:
  // Room for some small notes and not for a large one, whatever our own tables take.
  void open_small() {
    static constexpr Sql kPages{"SELECT page_count FROM pragma_page_count"};
    ASSERT_NO_FATAL_FAILURE(open());
    std::int64_t pages = 0;
    {
      auto session = database_->connect_reader();
      ASSERT_TRUE(session.ok()) << session.error().message();
      const Result<Rows> rows = (*session)->run(kPages, {});
      ASSERT_TRUE(rows.ok()) << rows.error().message();
      pages = (*rows)[0].get<std::int64_t>(0);
    }
    close();
    ASSERT_NO_FATAL_FAILURE(open({}, {.sqlite_page_count_max = pages + 40}));
  }
  static std::string large() { return std::string(1'000'000, 'x'); }
  static constexpr Sql kDelete{"DELETE FROM note WHERE key <= $1"};
};

TEST_P(SqliteFullTest, AnOperationThatDoesNotFitFailsAloneAmongClosures) {
  ASSERT_NO_FATAL_FAILURE(open_small());
  std::vector<std::future<Result<std::int64_t>>> answers;
  {
    HeldLane held(writer_->lane({}));
    for (int i = 1; i <= 3; ++i) {
      answers.push_back(push(writer_->lane({}), [i](Tx& tx) {
        return insert_note(tx, i, i == 2 ? large() : "small");
      }));
    }
  }
  EXPECT_TRUE(answers[0].get().ok());
  EXPECT_EQ(answers[1].get().error().kind(), Errc::Full);
  EXPECT_TRUE(answers[2].get().ok());
  EXPECT_EQ(notes(), "1=small 3=small");
}

TEST_P(SqliteFullTest, AnOperationThatDoesNotFitFailsAloneInABulk) {
  ASSERT_NO_FATAL_FAILURE(open_small());
  std::vector<std::future<Result<std::int64_t>>> answers;
  {
    HeldLane held(writer_->lane({}));
    for (int i = 1; i <= 3; ++i) {
      answers.push_back(push(writer_->lane({}), AddNote{i, i == 2 ? large() : "small"}));
    }
  }
  EXPECT_TRUE(answers[0].get().ok());
  EXPECT_EQ(answers[1].get().error().kind(), Errc::Full);
  EXPECT_TRUE(answers[2].get().ok());
}

TEST_P(SqliteFullTest, WhenNothingFitsAnyMoreDeletingMakesRoomAgain) {
  ASSERT_NO_FATAL_FAILURE(open_small());
  int stored = 0;
  while (writer_->run({}, AddNote{stored + 1, std::string(3000, 'x')}).ok()) ++stored;
  ASSERT_GT(stored, 3);
  ASSERT_LT(stored, 100);
  EXPECT_EQ(writer_->run({}, AddNote{1000, std::string(3000, 'x')}).error().kind(), Errc::Full);
  const auto deleted = writer_->run({}, [](Tx& tx) { return tx.exec(kDelete, 3); });
  ASSERT_TRUE(deleted.ok()) << deleted.error().message();
  EXPECT_TRUE(writer_->run({}, AddNote{1000, std::string(3000, 'x')}).ok());
}

// Nobody else should open the file, but somebody may.
TEST_P(SqliteFullTest, AnOperationThatCannotBeginSaysWhy) {
  open({});
  auto other = database_->connect_writer();
  ASSERT_TRUE((*other)->script("BEGIN IMMEDIATE").ok());
  const auto refused = writer_->run({}, AddNote{1, "a"});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind(), Errc::Busy);
  EXPECT_THAT(refused.error().message(), testing::HasSubstr("locked"));
  ASSERT_TRUE((*other)->script("ROLLBACK").ok());
  EXPECT_TRUE(writer_->run({}, AddNote{1, "a"}).ok());
}

INSTANTIATE_TEST_SUITE_P(Stores, SqliteFullTest, testing::Values(StoreKind::Sqlite), store_name);

}  // namespace
}  // namespace quern::store
