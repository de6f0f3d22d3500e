#include "support/postgres.h"

#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <sys/shm.h>

#include <fstream>

#include "support/proc.h"

namespace quern::support {
namespace {

namespace fs = std::filesystem;

std::string one_value(const std::string& url, const std::string& sql) {
  return Postgres::shared().run_sql(url, sql);
}

int shared_memory_segments() {
  std::ifstream list("/proc/sysvipc/shm");
  int lines = 0;
  for (std::string line; std::getline(list, line);) ++lines;
  return lines;
}

TEST(PostgresTest, EachDatabaseIsFreshAndServedByADurableServer) {
  Postgres& server = Postgres::shared();
  const std::string first = server.create_database();
  const std::string second = server.create_database();
  EXPECT_NE(first, second);
  EXPECT_EQ(first.find("postgres://"), 0U);
  one_value(first, "CREATE TABLE t (a int)");
  const std::string count = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
  EXPECT_EQ(one_value(first, count), "1");
  EXPECT_EQ(one_value(second, count), "0");
  EXPECT_EQ(one_value(first, "SHOW fsync"), "on");
  EXPECT_EQ(one_value(first, "SHOW synchronous_commit"), "on");
}

TEST(PostgresTest, CommittedRowsSurviveAKillAndARestart) {
  const int segments_before = shared_memory_segments();
  fs::path sockets;
  {
    Postgres server({.listen = PostgresListen::UnixSocketAndTcp, .settings = {}});
    sockets = server.socket_folder();
    const std::string url = server.create_database();
    server.run_sql(server.over_tcp(url), "CREATE TABLE t (a int); INSERT INTO t VALUES (1)");
    server.kill9();
    EXPECT_NE(::PQping(url.c_str()), PQPING_OK);
    server.start();
    EXPECT_EQ(server.run_sql(url, "SELECT a FROM t"), "1");
    server.restart();
    EXPECT_EQ(server.run_sql(url, "SELECT a FROM t"), "1");
    server.kill9();
  }
  EXPECT_FALSE(fs::exists(sockets));
  EXPECT_EQ(shared_memory_segments(), segments_before);
}

TEST(PostgresTest, KillTakesBusyBackendsToo) {
  Postgres server;
  const std::string url = server.create_database();
  PGconn* connection = ::PQconnectdb(url.c_str());
  ASSERT_EQ(::PQstatus(connection), CONNECTION_OK);
  const pid_t backend = ::PQbackendPID(connection);
  ASSERT_EQ(::PQsendQuery(connection, "SELECT pg_sleep(1000)"), 1);
  server.kill9();
  EXPECT_FALSE(is_running(backend));
  ::PQfinish(connection);
}

}  // namespace
}  // namespace quern::support
