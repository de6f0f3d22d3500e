// PostgreSQL that dies, restarts, or whose answers are lost, at the worst instants. Only this store
// can be away while we live; SQLite dies with us (tests/crash).
#include "conformance/store_fixture.h"
#include "support/tcp_proxy.h"

namespace quern::store {
namespace {

using support::Postgres;
using support::ProxyInstant;
using support::ProxyThen;
using support::TcpProxy;

class PostgresOutageTest : public StoreTest {
 protected:
  void SetUp() override {}

  // The writer speaks through the proxy; notes() too.
  void open_through_proxy(int unavailable_ms_max = 30'000) {
    database_url_ = server_.create_database();
    proxy_.emplace(server_);
    url_ = proxy_->url(database_url_);
    open({.lanes = 1, .unavailable_ms_max = unavailable_ms_max});
  }
  std::string stored() {
    return server_.run_sql(database_url_,
                           "SELECT string_agg(key::text, ' ' ORDER BY key) FROM note");
  }

  Postgres server_;
  std::string database_url_;
  std::optional<TcpProxy> proxy_;
};

struct CommitCase {
  std::string name;
  ProxyInstant at;
  ProxyThen then;
  bool kill_server;
};

class LostCommitTest : public PostgresOutageTest {};

// A counter shows a commit that was lost, and one that happened twice.
constexpr Sql kAddOne{"UPDATE tally SET n = n + 1 RETURNING n"};

// The server is started on this thread, which it must not outlive; so the caller of the writer is
// pushed.
void run_commit_case(Postgres& server, TcpProxy& proxy, Writer& writer, const CommitCase& one) {
  SCOPED_TRACE(one.name);
  proxy.set_rule({.word = "COMMIT", .at = one.at, .then = one.then, .nth = 1, .run = [&] {
                    if (one.kill_server) server.kill9();
                  }});
  auto waiting = push(writer.lane({}), [](Tx& tx) { return tx.value<std::int64_t>(kAddOne); });
  ASSERT_TRUE(proxy.wait_until_fired());
  if (one.kill_server) server.start();
  const Result<std::int64_t> added = waiting.get();
  EXPECT_TRUE(added.ok()) << (added.ok() ? "" : added.error().message());
  proxy.clear_rule();
}

TEST_P(LostCommitTest, EachOperationTakesEffectExactlyOnce) {
  ASSERT_NO_FATAL_FAILURE(open_through_proxy());
  script("CREATE TABLE tally (n BIGINT NOT NULL); INSERT INTO tally VALUES (0)");
  const std::vector<CommitCase> cases = {
      {"the link breaks before COMMIT", ProxyInstant::BeforeForwarding, ProxyThen::Drop, false},
      {"the link breaks in COMMIT", ProxyInstant::AfterForwarding, ProxyThen::Drop, false},
      {"COMMIT happens, its answer is lost", ProxyInstant::AfterReply, ProxyThen::Drop, false},
      {"the server is killed before COMMIT", ProxyInstant::BeforeForwarding, ProxyThen::Drop, true},
      {"the server is killed in COMMIT", ProxyInstant::AfterForwarding, ProxyThen::Drop, true},
      {"the server is killed after COMMIT", ProxyInstant::AfterReply, ProxyThen::Drop, true},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    run_commit_case(server_, *proxy_, *writer_, cases[i]);
    EXPECT_EQ(server_.run_sql(database_url_, "SELECT n FROM tally"), std::to_string(i + 1))
        << cases[i].name;
  }
}
INSTANTIATE_TEST_SUITE_P(Stores, LostCommitTest, testing::Values(StoreKind::Postgres), store_name);

TEST_P(PostgresOutageTest, OperationsWaitForADatabaseThatComesBack) {
  ASSERT_NO_FATAL_FAILURE(open_through_proxy());
  ASSERT_TRUE(writer_->run({}, AddNote{1, "before"}).ok());
  server_.kill9();
  auto waiting = push(writer_->lane({}), AddNote{2, "while away"});
  server_.start();
  const Result<std::int64_t> answer = waiting.get();
  EXPECT_TRUE(answer.ok()) << (answer.ok() ? "" : answer.error().message());
  EXPECT_GE(sum(&LaneStats::reconnects), 1);
  EXPECT_EQ(stored(), "1 2");
}

TEST_P(PostgresOutageTest, ADatabaseThatStaysAwayIsSaidSoAndTheNextOneFindsItBack) {
  ASSERT_NO_FATAL_FAILURE(open_through_proxy(/*unavailable_ms_max=*/50));
  server_.stop();
  const auto refused = writer_->run({}, AddNote{1, "away"});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind(), Errc::Unavailable);
  EXPECT_NE(writer_->stats()[0].down_because, "");
  server_.start();
  // Nobody writes: the lane finds it back by itself. The test's own limit bounds the wait.
  while (!writer_->stats()[0].down_because.empty()) std::this_thread::yield();
  const auto accepted = writer_->run({}, AddNote{2, "back"});
  EXPECT_TRUE(accepted.ok()) << (accepted.ok() ? "" : accepted.error().message());
  EXPECT_EQ(writer_->stats()[0].down_because, "");
  EXPECT_EQ(stored(), "2");
}

TEST_P(PostgresOutageTest, AnUnknownOutcomeIsCalledUnknown) {
  ASSERT_NO_FATAL_FAILURE(open_through_proxy(/*unavailable_ms_max=*/50));
  proxy_->set_rule({.word = "COMMIT",
                    .at = ProxyInstant::AfterReply,
                    .then = ProxyThen::Drop,
                    .nth = 1,
                    .run = [this] { server_.kill9(); }});
  const auto answer = writer_->run({}, AddNote{1, "maybe"});
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().kind(), Errc::Unavailable);
  EXPECT_THAT(answer.error().message(), testing::HasSubstr("may or may not"));
  proxy_->clear_rule();
  server_.start();
  EXPECT_TRUE(writer_->run({}, AddNote{2, "after"}).ok());
  EXPECT_EQ(stored(), "1 2") << "this one had happened";
}

TEST_P(PostgresOutageTest, StoppingWhileTheDatabaseIsAwayEndsPromptlyWithAnAnswer) {
  ASSERT_NO_FATAL_FAILURE(open_through_proxy());
  server_.stop();
  auto waiting = push(writer_->lane({}), AddNote{1, "away"});
  writer_->stop();
  EXPECT_EQ(waiting.get().error().kind(), Errc::Unavailable);
}

TEST_P(PostgresOutageTest, AnOperationThatBreaksItsConnectionFailsAlone) {
  ASSERT_NO_FATAL_FAILURE(open_through_proxy());
  std::future<Result<std::int64_t>> poison;
  std::future<Result<std::int64_t>> good;
  {
    HeldLane held(writer_->lane({}));
    poison = push(writer_->lane({}), [](Tx& tx) -> Result<std::int64_t> {
      static constexpr Sql kDie{"SELECT 1", "SELECT pg_terminate_backend(pg_backend_pid())::int"};
      return tx.value<std::int64_t>(kDie);
    });
    good = push(writer_->lane({}), AddNote{1, "good"});
  }
  EXPECT_EQ(poison.get().error().kind(), Errc::Unavailable);
  EXPECT_TRUE(good.get().ok());
  EXPECT_EQ(stored(), "1");
}

TEST_P(PostgresOutageTest, LanesThatDeadlockBothGetThrough) {
  database_url_ = url_ = server_.create_database();
  open({.lanes = 2}, {.postgres = {.lock_ms_max = 20'000}});
  ASSERT_TRUE(writer_->run({}, AddNote{1, "a"}).ok());
  ASSERT_TRUE(writer_->run({}, AddNote{2, "b"}).ok());
  static constexpr Sql kTouch{"UPDATE note SET text = text WHERE key = $1"};
  // Both hold their first row before either asks for its second; once only, a rerun goes straight
  // on.
  std::mutex mutex;
  std::condition_variable changed;
  int holding = 0;
  const auto cross = [&](std::int64_t first, std::int64_t second) {
    return [&, first, second](Tx& tx) -> Result<std::int64_t> {
      TRY(tx.exec(kTouch, first));
      {
        std::unique_lock lock(mutex);
        ++holding;
        changed.notify_all();
        changed.wait(lock, [&] { return holding >= 2; });
      }
      return tx.exec(kTouch, second);
    };
  };
  auto one = push(writer_->lane({0}), cross(1, 2));
  auto two = push(writer_->lane({1}), cross(2, 1));
  const auto first = one.get();
  const auto second = two.get();
  EXPECT_TRUE(first.ok()) << (first.ok() ? "" : first.error().message());
  EXPECT_TRUE(second.ok()) << (second.ok() ? "" : second.error().message());
  EXPECT_GE(reruns(), 1);
}

TEST_P(PostgresOutageTest, AStatementThatLastsTooLongFailsAlone) {
  database_url_ = url_ = server_.create_database();
  open({.lanes = 1}, {.postgres = {.statement_ms_max = 200}});
  std::future<Result<std::int64_t>> slow;
  std::future<Result<std::int64_t>> quick;
  {
    HeldLane held(writer_->lane({}));
    slow = push(writer_->lane({}), [](Tx& tx) -> Result<std::int64_t> {
      static constexpr Sql kSleep{"SELECT 1", "SELECT 1 FROM pg_sleep(60)"};
      return tx.value<std::int64_t>(kSleep);
    });
    quick = push(writer_->lane({}), AddNote{1, "a"});
  }
  EXPECT_EQ(slow.get().error().kind(), Errc::Timeout);
  EXPECT_TRUE(quick.get().ok());
}

TEST_P(PostgresOutageTest, AServerThatHangsIsTakenForLost) {
  database_url_ = server_.create_database();
  proxy_.emplace(server_);
  url_ = proxy_->url(database_url_);
  open({.lanes = 1}, {.postgres = {.statement_ms_max = 100, .answer_margin_ms = 100}});
  proxy_->set_rule({.word = "note", .at = ProxyInstant::AfterReply, .then = ProxyThen::Stall});
  // The answer never comes; the server's own time-outs have nothing to complain of.
  const auto answer = writer_->run({}, AddNote{1, "a"});
  EXPECT_TRUE(answer.ok()) << (answer.ok() ? "" : answer.error().message());
  EXPECT_GE(sum(&LaneStats::reconnects), 1);
  EXPECT_EQ(stored(), "1");
}

TEST_P(PostgresOutageTest, ReadersFindTheirWayBack) {
  ASSERT_NO_FATAL_FAILURE(open_through_proxy());
  auto readers = *Readers::open(*database_, {.threads = 1});
  static constexpr Sql kOne{"SELECT 1"};
  const auto one = [](Tx& tx) { return tx.value<int>(kOne); };
  EXPECT_TRUE(readers->run(one).ok());
  server_.restart();
  EXPECT_TRUE(readers->run(one).ok()) << "a read is run once more on a new connection";
  server_.stop();
  EXPECT_EQ(readers->run(one).error().kind(), Errc::Unavailable);
  server_.start();
  // For an instant after a failed attempt reads are refused without another; the test bounds the
  // wait.
  while (!readers->run(one).ok()) std::this_thread::yield();
}

INSTANTIATE_TEST_SUITE_P(Stores, PostgresOutageTest, testing::Values(StoreKind::Postgres),
                         store_name);

}  // namespace
}  // namespace quern::store
