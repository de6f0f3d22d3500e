// Postgres: a throwaway PostgreSQL server with full durability.
//
// It listens on a Unix socket (with Tcp also on a free port of 127.0.0.1), runs as another user
// where we are root, lives in a temporary folder, and goes with the object or with this process,
// whichever ends first; nothing stays behind. The folder that initdb makes is made once in a
// process and copied for each further server. Failures of the set-up abort with the server's own
// words: a test that lacks PostgreSQL has failed. One thread at a time, but kill9() is safe from
// any. Start it from a thread that lives as long as it should.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "io/process.h"
#include "support/reserved_port.h"
#include "support/temp_folder.h"

namespace quern::support {

enum class PostgresListen { UnixSocket, UnixSocketAndTcp };

struct PostgresOptions {
  PostgresListen listen = PostgresListen::UnixSocket;
  std::vector<std::string> settings;  // "max_connections=10"
};

class Postgres {
 public:
  explicit Postgres(PostgresOptions options = {});
  ~Postgres();
  Postgres(const Postgres&) = delete;
  Postgres& operator=(const Postgres&) = delete;

  // One for the whole test program, for tests that neither stop nor kill it: so it need not sync.
  // Made by the first caller; that must be the main thread.
  static Postgres& shared();

  // A fresh and empty database: postgres:///t1?host=/tmp/…&port=5432&user=quern
  std::string create_database();
  // A fresh one with all that is in that one, to which nobody is connected: a third of the time
  // that our tables take to be made.
  std::string copy_database(const std::string& url);
  // The same by TCP. Only with UnixSocketAndTcp.
  std::string over_tcp(const std::string& url) const;
  // Runs statements as the superuser, outside every store of ours; the first value of the last one.
  std::string run_sql(const std::string& url, const std::string& statements);

  // Where it listens.
  const std::filesystem::path& socket_folder() const { return sockets_; }
  int port() const { return port_; }
  pid_t pid() const { return server_->pid(); }

  void stop();   // orderly, as an operator would
  void kill9();  // SIGKILL to the server and all its backends; gone when this returns
  void start();  // after stop() or kill9(); answers when this returns
  void restart() {
    stop();
    start();
  }

 private:
  std::string maintenance_url() const;
  std::string url_of(const std::string& name) const;
  void wait_until_it_answers();
  void end(int signal);
  void remove_shared_memory();

  PostgresOptions options_;
  TempFolder folder_;
  TempFolder socket_parent_;
  std::filesystem::path data_;
  std::filesystem::path sockets_;
  std::optional<ReservedPort> reserved_port_;
  int port_ = 5432;
  int databases_ = 0;
  std::mutex mutex_;  // guards server_
  std::optional<io::Process> server_;
};

// Empty databases of the shared server for worlds, which run on several threads. They are used
// again: to make and remove hundreds of them would cost more than the rest of a test.
class ScratchDatabases {
 public:
  using Scenario = std::function<Result<std::string>(const std::string& database)>;
  // Nobody may be at work on it any more when the scenario ends well; after a failure it is left as
  // it is.
  Result<std::string> lend(const Scenario& scenario);

 private:
  std::string take();

  std::mutex mutex_;
  std::vector<std::string> free_;
};

}  // namespace quern::support
