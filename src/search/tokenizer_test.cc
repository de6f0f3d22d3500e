#include <gtest/gtest.h>
#include <sqlite3.h>

#include <memory>
#include <string>

#include "search/words.h"

namespace quern::search {
namespace {

struct Closer {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};

class TokenizerTest : public testing::Test {
 protected:
  void SetUp() override {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(":memory:", &database), SQLITE_OK);
    database_.reset(database);
    ASSERT_TRUE(register_tokenizer(database));
    ASSERT_EQ(run("CREATE VIRTUAL TABLE t USING fts5(x, tokenize='quern')"), "");
  }

  void add(const std::string& text) { ASSERT_EQ(run("INSERT INTO t VALUES ('" + text + "')"), ""); }
  // The rowids, one after the other; or what went wrong.
  std::string match(const std::string& expression) {
    return run("SELECT rowid FROM t WHERE t MATCH '" + expression + "' ORDER BY rowid");
  }

 private:
  std::string run(const std::string& sql) {
    std::string out;
    char* error = nullptr;
    const auto collect = [](void* to, int, char** values, char**) {
      static_cast<std::string*>(to)->append(values[0]);
      return 0;
    };
    if (sqlite3_exec(database_.get(), sql.c_str(), collect, &out, &error) != SQLITE_OK) {
      out = std::string("failed: ") + (error == nullptr ? "" : error);
    }
    sqlite3_free(error);
    return out;
  }
  std::unique_ptr<sqlite3, Closer> database_;
};

TEST_F(TokenizerTest, WordsAndTheirStemsAreFoundAtTheSamePlace) {
  add("the running dogs");
  add("a dog may run");
  EXPECT_EQ(match("\"run\""), "12");
  EXPECT_EQ(match("\"running\""), "1");
  EXPECT_EQ(match("\"running dogs\""), "1");
  EXPECT_EQ(match("\"run dog\""), "1");
  EXPECT_EQ(match("\"the dog\""), "");
}

TEST_F(TokenizerTest, TheTextOfAMatchIsTakenAsTokens) {
  add("Running");
  EXPECT_EQ(match("\"Running\""), "");  // nothing folds it
  EXPECT_EQ(match("\"runn\" *"), "1");
  EXPECT_EQ(match("\"\""), "");
  EXPECT_EQ(match("\"  \""), "");
}

TEST_F(TokenizerTest, AnyPieceOfARunOfPairsIsAPhrase) {
  add("東京都庁");
  EXPECT_EQ(match("\"京都 都庁\""), "1");
  EXPECT_EQ(match("\"東京 都庁\""), "");
  EXPECT_EQ(match("\"庁\" *"), "1");
  EXPECT_EQ(match("\"京\" *"), "1");
}

}  // namespace
}  // namespace quern::search
