// What the store's conformance tests share: a fresh database of either kind, with a writer.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "store/database.h"
#include "store/readers.h"
#include "store/writer.h"
#include "support/fake_clock.h"
#include "support/postgres.h"
#include "support/temp_folder.h"

namespace quern::store {

// A fresh database of the shared server, with all tables.
std::string fresh_postgres();

class StoreTest : public testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    url_ = GetParam() == StoreKind::Sqlite ? "sqlite:" + (folder_ / "store.db").string()
                                           : fresh_postgres();
  }

  Result<std::unique_ptr<Database>> open_database(DatabaseOptions options = {}) {
    TRY_ASSIGN(const DatabaseUrl url, DatabaseUrl::parse(url_));
    return Database::open(url, options);
  }
  // Opens database and writer, and makes the table that most tests use.
  void open(WriterOptions options = {}, DatabaseOptions database_options = {}) {
    auto database = open_database(database_options);
    ASSERT_TRUE(database.ok()) << database.error().message();
    database_ = *std::move(database);
    ASSERT_NO_FATAL_FAILURE(
        script("CREATE TABLE IF NOT EXISTS note ("
               " key BIGINT PRIMARY KEY, text TEXT NOT NULL CHECK (text <> 'bad'))"));
    auto writer = Writer::open(*database_, options);
    ASSERT_TRUE(writer.ok()) << writer.error().message();
    writer_ = *std::move(writer);
  }
  void close() {
    writer_.reset();
    database_.reset();
  }
  void script(const std::string& sql) {
    auto session = database_->connect_writer();
    ASSERT_TRUE(session.ok()) << session.error().message();
    const Result<> done = (*session)->script(sql);
    ASSERT_TRUE(done.ok()) << done.error().message();
  }
  // "1=a 2=b", read by a connection of its own.
  std::string notes() {
    auto session = database_->connect_reader();
    if (!session.ok()) return session.error().message();
    static constexpr Sql kNotes{"SELECT key, text FROM note ORDER BY key LIMIT 1000"};
    Result<Rows> rows = (*session)->run(kNotes, {});
    if (!rows.ok()) return rows.error().message();
    std::string text;
    for (const Row row : *rows) {
      if (!text.empty()) text += ' ';
      text += fmt::format("{}={}", row.get<int>(0), row.get<std::string>(1));
    }
    return text;
  }
  std::int64_t commits() { return sum(&LaneStats::commits); }
  std::int64_t reruns() { return sum(&LaneStats::reruns); }
  std::int64_t sum(std::int64_t LaneStats::*member) {
    std::int64_t total = 0;
    for (const LaneStats& lane : writer_->stats()) total += lane.*member;
    return total;
  }

  support::TempFolder folder_;
  std::string url_;
  support::FakeClock fake_clock_;  // for tests that want it: it outlives the lanes that read it
  std::unique_ptr<Database> database_;
  std::unique_ptr<Writer> writer_;
};

inline std::string store_name(const testing::TestParamInfo<StoreKind>& info) {
  return info.param == StoreKind::Sqlite ? "Sqlite" : "Postgres";
}

// A bulk operation for tests.
struct AddNote {
  std::int64_t key;
  std::string text;
  using Reply = std::int64_t;
};
std::vector<Result<std::int64_t>> apply(Tx& tx, std::span<const AddNote> batch);

// Closures for tests.
Result<std::int64_t> insert_note(Tx& tx, std::int64_t key, const std::string& text);

// Holds a lane until it is released, so that what is pushed meanwhile lands in one batch.
class HeldLane {
 public:
  explicit HeldLane(Lane& lane);
  ~HeldLane() { release(); }
  void release();

 private:
  std::promise<void> held_;
  std::promise<void> released_;
  std::promise<void> done_;
  bool open_ = false;
};

// Pushes without waiting; the future holds the answer.
template <class Op>
std::future<Result<Answer<Op>>> push(Lane& lane, Op op) {
  auto promise = std::make_shared<std::promise<Result<Answer<Op>>>>();
  auto operation = make_operation(std::move(op), [promise](Result<Answer<Op>> result) {
    promise->set_value(std::move(result));
  });
  CHECK(lane.try_push(operation) == Lane::Push::Taken);
  return promise->get_future();
}

}  // namespace quern::store
