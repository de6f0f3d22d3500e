#include "support/tcp_proxy.h"

#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <memory>
#include <thread>

namespace quern::support {
namespace {

using Connection = std::unique_ptr<PGconn, decltype(&::PQfinish)>;
using Answer = std::unique_ptr<PGresult, decltype(&::PQclear)>;

// How the client runs a statement.
enum class Way { Simple, Extended, Prepared };

class TcpProxyTest : public ::testing::TestWithParam<Way> {
 protected:
  TcpProxyTest()
      : server_(Postgres::shared()), direct_(server_.create_database()), proxy_(server_) {
    server_.run_sql(direct_, "CREATE TABLE t (a int)");
    connection_ = connect();
  }

  Connection connect() {
    Connection connection(::PQconnectdb(proxy_.url(direct_).c_str()), ::PQfinish);
    EXPECT_EQ(::PQstatus(connection.get()), CONNECTION_OK) << ::PQerrorMessage(connection.get());
    return connection;
  }

  // Whether the client was told that it worked.
  bool run(const char* sql) {
    PGconn* c = connection_.get();
    PGresult* result = nullptr;
    if (GetParam() == Way::Simple) {
      result = ::PQexec(c, sql);
    } else if (GetParam() == Way::Extended) {
      result = ::PQexecParams(c, sql, 0, nullptr, nullptr, nullptr, nullptr, 0);
    } else {
      ::PQclear(::PQprepare(c, "s", sql, 0, nullptr));
      result = ::PQexecPrepared(c, "s", 0, nullptr, nullptr, nullptr, 0);
      ::PQclear(::PQexec(c, "DEALLOCATE s"));
    }
    const Answer answer(result, ::PQclear);
    return ::PQresultStatus(answer.get()) == PGRES_COMMAND_OK;
  }
  std::string rows() { return server_.run_sql(direct_, "SELECT count(*) FROM t"); }
  void insert_uncommitted() {
    ASSERT_TRUE(run("BEGIN"));
    ASSERT_TRUE(run("INSERT INTO t VALUES (1)"));
  }

  Postgres& server_;
  std::string direct_;
  TcpProxy proxy_;
  Connection connection_{nullptr, ::PQfinish};
};

TEST_P(TcpProxyTest, ForwardsWhatItIsNotToldToStop) {
  insert_uncommitted();
  EXPECT_TRUE(run("COMMIT"));
  EXPECT_EQ(rows(), "1");
}

TEST_P(TcpProxyTest, DropBeforeForwardingLosesTheCommit) {
  insert_uncommitted();
  proxy_.set_rule({.word = "COMMIT", .run = {}});
  EXPECT_FALSE(run("COMMIT"));
  EXPECT_EQ(::PQstatus(connection_.get()), CONNECTION_BAD);
  EXPECT_EQ(rows(), "0");
  EXPECT_EQ(proxy_.hits(), 1);
}

TEST_P(TcpProxyTest, DropAfterReplyLosesOnlyTheAnswer) {
  insert_uncommitted();
  std::string rows_at_reply;
  proxy_.set_rule(
      {.word = "COMMIT", .at = ProxyInstant::AfterReply, .run = [&] { rows_at_reply = rows(); }});
  EXPECT_FALSE(run("COMMIT"));
  EXPECT_EQ(::PQstatus(connection_.get()), CONNECTION_BAD);
  ASSERT_TRUE(proxy_.wait_until_fired());
  EXPECT_EQ(rows_at_reply, "1");
  EXPECT_EQ(rows(), "1");
}

TEST_P(TcpProxyTest, PassOnAfterReplyIsNotNoticed) {
  insert_uncommitted();
  proxy_.set_rule(
      {.word = "COMMIT", .at = ProxyInstant::AfterReply, .then = ProxyThen::PassOn, .run = {}});
  EXPECT_TRUE(run("COMMIT"));
  EXPECT_TRUE(proxy_.wait_until_fired());
  EXPECT_TRUE(run("INSERT INTO t VALUES (2)"));
  EXPECT_EQ(rows(), "2");
}

TEST_P(TcpProxyTest, RuleHoldsForTheNthStatementOnly) {
  proxy_.set_rule({.word = "INSERT", .nth = 2, .run = {}});
  EXPECT_TRUE(run("INSERT INTO t VALUES (1)"));
  EXPECT_FALSE(run("INSERT INTO t VALUES (2)"));
  connection_ = connect();
  EXPECT_TRUE(run("INSERT INTO t VALUES (3)"));
  EXPECT_EQ(proxy_.hits(), 3);
  EXPECT_EQ(rows(), "2");
}

INSTANTIATE_TEST_SUITE_P(Ways, TcpProxyTest,
                         ::testing::Values(Way::Simple, Way::Extended, Way::Prepared));

// What does not depend on the way; it runs the simple one.
class TcpProxyStallTest : public TcpProxyTest {};

TEST_P(TcpProxyStallTest, StalledConnectionAnswersNothingUntilItIsDropped) {
  proxy_.set_rule({.word = "INSERT", .then = ProxyThen::Stall, .run = {}});
  std::thread client([&] { EXPECT_FALSE(run("INSERT INTO t VALUES (1)")); });
  ASSERT_TRUE(proxy_.wait_until_fired());
  // Others are served meanwhile.
  EXPECT_EQ(server_.run_sql(proxy_.url(direct_), "SELECT 1"), "1");
  proxy_.drop_all();
  client.join();
  EXPECT_EQ(rows(), "0");
}

TEST_P(TcpProxyStallTest, BlackHoleTakesNewConnectionsAndOldOnesUntilResumed) {
  proxy_.stall();
  ASSERT_EQ(::PQsendQuery(connection_.get(), "INSERT INTO t VALUES (1)"), 1);
  PGconn* late = ::PQconnectStart(proxy_.url(direct_).c_str());
  EXPECT_EQ(proxy_.connections(), 1);
  EXPECT_EQ(rows(), "0");
  proxy_.resume();
  const Answer answer(::PQgetResult(connection_.get()), ::PQclear);
  EXPECT_EQ(::PQresultStatus(answer.get()), PGRES_COMMAND_OK);
  EXPECT_EQ(rows(), "1");
  ::PQfinish(late);
}

INSTANTIATE_TEST_SUITE_P(Ways, TcpProxyStallTest, ::testing::Values(Way::Simple));

TEST(TcpProxyServerTest, KillsTheServerInTheMiddleOfACommit) {
  Postgres server({.listen = PostgresListen::UnixSocketAndTcp, .settings = {}});
  const std::string direct = server.create_database();
  server.run_sql(direct, "CREATE TABLE t (a int)");
  TcpProxy proxy(server, TcpProxy::Transport::Tcp);
  for (const ProxyInstant at :
       {ProxyInstant::BeforeForwarding, ProxyInstant::AfterForwarding, ProxyInstant::AfterReply}) {
    server.run_sql(direct, "DELETE FROM t");
    const Connection c(::PQconnectdb(proxy.url(direct).c_str()), ::PQfinish);
    ASSERT_EQ(::PQstatus(c.get()), CONNECTION_OK);
    proxy.set_rule({.word = "COMMIT", .at = at, .run = [&] { server.kill9(); }});
    const Answer answer(::PQexec(c.get(), "BEGIN; INSERT INTO t VALUES (1); COMMIT"), ::PQclear);
    EXPECT_NE(::PQresultStatus(answer.get()), PGRES_COMMAND_OK);
    server.start();
    const std::string rows = server.run_sql(direct, "SELECT count(*) FROM t");
    if (at == ProxyInstant::BeforeForwarding) EXPECT_EQ(rows, "0");
    if (at == ProxyInstant::AfterForwarding) EXPECT_TRUE(rows == "0" || rows == "1") << rows;
    if (at == ProxyInstant::AfterReply) EXPECT_EQ(rows, "1");
  }
}

TEST(TcpProxyServerTest, PipelineIsCutAtItsSync) {
  Postgres& server = Postgres::shared();
  const std::string direct = server.create_database();
  server.run_sql(direct, "CREATE TABLE t (a int)");
  TcpProxy proxy(server);
  const Connection c(::PQconnectdb(proxy.url(direct).c_str()), ::PQfinish);
  proxy.set_rule({.word = "COMMIT", .at = ProxyInstant::AfterReply, .run = {}});
  ASSERT_EQ(::PQenterPipelineMode(c.get()), 1);
  for (const char* sql : {"BEGIN", "INSERT INTO t VALUES (1)", "COMMIT"})
    ASSERT_EQ(::PQsendQueryParams(c.get(), sql, 0, nullptr, nullptr, nullptr, nullptr, 0), 1);
  ASSERT_EQ(::PQpipelineSync(c.get()), 1);
  const Answer answer(::PQgetResult(c.get()), ::PQclear);
  EXPECT_NE(::PQresultStatus(answer.get()), PGRES_COMMAND_OK);
  EXPECT_EQ(server.run_sql(direct, "SELECT count(*) FROM t"), "1");
}

TEST(TcpProxyServerTest, CarriesMoreThanItsBuffers) {
  Postgres& server = Postgres::shared();
  TcpProxy proxy(server);
  const std::string url = proxy.url(server.create_database());
  EXPECT_EQ(server.run_sql(url, "SELECT repeat('x', 20000000)").size(), 20'000'000U);
  const std::string big(20'000'000, 'y');
  EXPECT_EQ(server.run_sql(url, "SELECT length('" + big + "')"), "20000000");
}

}  // namespace
}  // namespace quern::support
