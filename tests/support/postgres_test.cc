#include "support/postgres.h"

#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "io/pidfd.h"
#include "support/proc.h"

namespace quern::support {
namespace {

namespace fs = std::filesystem;

std::string one_value(const std::string& url, const std::string& sql) {
  return Postgres::shared().run_sql(url, sql);
}

// Whether a segment made by that process is left; other servers of this machine have theirs.
bool has_shared_memory(pid_t creator) {
  std::ifstream list("/proc/sysvipc/shm");
  std::string line;
  std::getline(list, line);  // the titles
  while (std::getline(list, line)) {
    std::istringstream fields(line);
    std::string key, id, mode, bytes;
    pid_t pid = 0;
    fields >> key >> id >> mode >> bytes >> pid;
    if (pid == creator) return true;
  }
  return false;
}

TEST(PostgresTest, EachDatabaseIsFresh) {
  Postgres& server = Postgres::shared();
  const std::string first = server.create_database();
  const std::string second = server.create_database();
  EXPECT_NE(first, second);
  EXPECT_EQ(first.find("postgres://"), 0U);
  one_value(first, "CREATE TABLE t (a int)");
  const std::string count = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
  EXPECT_EQ(one_value(first, count), "1");
  EXPECT_EQ(one_value(second, count), "0");
}

TEST(PostgresTest, ACopyHasWhatItsOriginalHasAndNothingThatCameSince) {
  Postgres& server = Postgres::shared();
  const std::string original = server.create_database();
  one_value(original, "CREATE TABLE t (a int); INSERT INTO t VALUES (7)");
  const std::string copy = server.copy_database(original);
  EXPECT_EQ(one_value(copy, "SELECT a FROM t"), "7");
  one_value(copy, "DELETE FROM t");
  EXPECT_EQ(one_value(original, "SELECT count(*) FROM t"), "1");
}

TEST(PostgresTest, CommittedRowsSurviveAKillAndARestart) {
  fs::path sockets;
  std::vector<pid_t> pids;
  {
    Postgres server({.listen = PostgresListen::UnixSocketAndTcp, .settings = {}});
    sockets = server.socket_folder();
    pids.push_back(server.pid());
    EXPECT_TRUE(has_shared_memory(pids[0]));
    const std::string url = server.create_database();
    EXPECT_EQ(server.run_sql(url, "SHOW fsync"), "on");
    EXPECT_EQ(server.run_sql(url, "SHOW synchronous_commit"), "on");
    server.run_sql(server.over_tcp(url), "CREATE TABLE t (a int); INSERT INTO t VALUES (1)");
    server.kill9();
    EXPECT_NE(::PQping(url.c_str()), PQPING_OK);
    server.start();
    pids.push_back(server.pid());
    EXPECT_EQ(server.run_sql(url, "SELECT a FROM t"), "1");
    server.restart();
    pids.push_back(server.pid());
    EXPECT_EQ(server.run_sql(url, "SELECT a FROM t"), "1");
    server.kill9();
  }
  EXPECT_FALSE(fs::exists(sockets));
  for (const pid_t pid : pids) EXPECT_FALSE(has_shared_memory(pid));
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

// The test program that is killed. Its folders go with the caller's.
[[noreturn]] void be_killed_with_a_server(const io::Descriptor& tell, const fs::path& folder) {
  ::setenv("TMPDIR", folder.c_str(), 1);
  const Postgres server;
  const pid_t pid = server.pid();
  if (::write(tell.get(), &pid, sizeof pid) == sizeof pid) ::pause();
  ::_exit(1);
}

TEST(PostgresTest, DiesWithTheTestProgramThatIsKilledAndGivesItsMemoryBack) {
  Postgres::shared();
  const TempFolder folder;
  fs::permissions(folder.path(), fs::perms::others_exec, fs::perm_options::add);
  io::Pipe pipe = *io::make_pipe();
  const pid_t program = ::fork();
  if (program == 0) be_killed_with_a_server(pipe.write_end, folder.path());
  pid_t server = 0;
  ASSERT_EQ(::read(pipe.read_end.get(), &server, sizeof server),
            static_cast<ssize_t>(sizeof server));
  const io::Descriptor pidfd = *io::open_pidfd(server);
  EXPECT_TRUE(has_shared_memory(server));
  ::kill(program, SIGKILL);
  ASSERT_EQ(::waitpid(program, nullptr, 0), program);
  wait_for_end(pidfd.get(), std::chrono::seconds(60));
  EXPECT_FALSE(has_shared_memory(server));
}

}  // namespace
}  // namespace quern::support
