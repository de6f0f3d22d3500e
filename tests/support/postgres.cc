#include "support/postgres.h"

#include <fmt/format.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <sys/shm.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "io/file.h"
#include "io/pidfd.h"
#include "support/proc.h"

namespace quern::support {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kInitMax = seconds(120);
constexpr milliseconds kStopMax = seconds(60);
constexpr milliseconds kStartMax = seconds(60);
constexpr milliseconds kPollEvery{5};
// A Unix socket's whole name has at most 107 bytes; the server adds "/.s.PGSQL.5432".
constexpr std::size_t kSocketFolderBytesMax = 90;

[[noreturn]] void fail(const std::string& why) {
  check_failed("the throwaway PostgreSQL", why, __FILE__, __LINE__);
}

// Where Debian puts the binaries of a version; the highest one.
fs::path binaries() {
  fs::path best;
  int best_version = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", ignored)) {
    const int version = std::atoi(entry.path().filename().c_str());
    if (version <= best_version || !fs::exists(entry.path() / "bin/initdb")) continue;
    best_version = version;
    best = entry.path() / "bin";
  }
  if (best.empty()) fail("no PostgreSQL server under /usr/lib/postgresql: install postgresql-15");
  return best;
}

// PostgreSQL refuses to run as root.
std::optional<io::User> server_user() {
  if (::geteuid() != 0) return std::nullopt;
  for (const char* name : {"postgres", "nobody"}) {
    if (const passwd* found = ::getpwnam(name)) return io::User{found->pw_uid, found->pw_gid};
  }
  fail("we are root, and there is no user postgres or nobody to run it as");
}

void give_to_server_user(const fs::path& path) {
  const std::optional<io::User> user = server_user();
  if (user && ::chown(path.c_str(), user->uid, user->gid) != 0) fail("chown " + path.native());
}

std::string file_text(const fs::path& path) {
  return io::read_file(path, 1 << 20).value_or("(no log)");
}

io::ProcessOptions as_server_user(std::vector<std::string> argv, const fs::path& folder) {
  io::ProcessOptions options;
  options.argv = std::move(argv);
  options.user = server_user();
  options.folder = folder;  // it may not have the right to be in ours
  options.out = io::Stream::at(folder / "log");
  options.err = io::Stream::at(folder / "log");
  options.group = io::ProcessGroup::Own;
  options.environment = {{"LC_ALL", "C.UTF-8"}, {"TZ", "UTC"}, {"PGDATA", std::nullopt}};
  return options;
}

void run(std::vector<std::string> argv, const fs::path& folder) {
  const std::string program = argv[0];
  Result<io::Process> started = io::Process::start(as_server_user(std::move(argv), folder));
  CHECK_OK(started);
  const Result<io::ExitStatus> ended = started->wait(kInitMax);
  CHECK_OK(ended);
  if (!ended->exited_with(0))
    fail(fmt::format("{}: {}\n{}", program, ended->text(), file_text(folder / "log")));
}

// What initdb makes, once in this process.
class Template {
 public:
  Template() {
    give_to_server_user(folder_.path());
    run({binaries() / "initdb", "-D", data(), "-U", "quern", "-A", "trust", "-E", "UTF8",
         "--no-locale", "--no-sync", "--no-instructions", "--wal-segsize=1"},
        folder_.path());
  }
  std::string data() const { return folder_ / "data"; }

 private:
  TempFolder folder_;
};

void copy_template(const fs::path& to) {
  static const Template the_template;
  run({"cp", "-a", the_template.data(), to / "data"}, to);
}

using Connection = std::unique_ptr<PGconn, decltype(&::PQfinish)>;

Connection connect(const std::string& url) {
  return Connection(::PQconnectdb(url.c_str()), ::PQfinish);
}

}  // namespace

Postgres::Postgres(PostgresOptions options)
    : options_(std::move(options)),
      socket_parent_(fs::temp_directory_path().native().size() + 40 < kSocketFolderBytesMax
                         ? fs::temp_directory_path()
                         : fs::path("/tmp")),
      data_(folder_ / "data"),
      sockets_(socket_parent_.path()) {
  give_to_server_user(folder_.path());
  give_to_server_user(sockets_);
  copy_template(folder_.path());
  std::ofstream settings(data_ / "postgresql.auto.conf", std::ios::app);
  settings
      << "fsync=on\nsynchronous_commit=on\nfull_page_writes=on\n"
      << "shared_buffers=16MB\nmax_connections=60\nmax_wal_size=64MB\nautovacuum_naptime=1min\n"
      // What a killed server leaves lies in its folder then, not in /dev/shm.
      << "dynamic_shared_memory_type=mmap\n"
      << "unix_socket_directories='" << sockets_.native() << "'\n";
  for (const std::string& setting : options_.settings) settings << setting << "\n";
  if (options_.listen == PostgresListen::UnixSocketAndTcp) {
    port_ = reserved_port_.emplace().number();
    settings << "listen_addresses='127.0.0.1'\nport=" << port_ << "\n";
  } else {
    settings << "listen_addresses=''\nport=" << port_ << "\n";
  }
  settings.close();
  CHECK(settings.good());
  start();
}

Postgres::~Postgres() {
  end(SIGQUIT);  // immediate: nobody will read what a last checkpoint would save
  remove_shared_memory();
}

Postgres& Postgres::shared() {
  // Destroyed at exit: that stops the server and removes its folder.
  static Postgres the_server({.settings = {"fsync=off"}});
  return the_server;
}

void Postgres::start() {
  io::ProcessOptions options =
      as_server_user({binaries() / "postgres", "-D", data_.native()}, folder_.path());
  // SIGQUIT is PostgreSQL's immediate shutdown: no checkpoint, but the backends go too and the
  // shared memory is given back, which SIGKILL would leave.
  options.death_signal = SIGQUIT;
  Result<io::Process> started = io::Process::start(options);
  CHECK_OK(started);
  {
    const std::scoped_lock lock(mutex_);
    CHECK(!server_.has_value());
    server_.emplace(*std::move(started));
  }
  wait_until_it_answers();
}

void Postgres::wait_until_it_answers() {
  const auto end = std::chrono::steady_clock::now() + kStartMax;
  while (::PQping(maintenance_url().c_str()) != PQPING_OK) {
    const std::scoped_lock lock(mutex_);
    if (!server_) return;  // killed meanwhile, by another thread of the test
    const Result<io::ExitStatus> ended = server_->wait(kPollEvery);
    if (ended.ok())
      fail(fmt::format("it ended: {}\n{}", ended->text(), file_text(folder_ / "log")));
    if (std::chrono::steady_clock::now() > end)
      fail(fmt::format("no answer within {} s\n{}", kStartMax.count() / 1000,
                       file_text(folder_ / "log")));
  }
}

void Postgres::stop() {
  end(SIGINT);  // its "fast" shutdown: sessions are ended, a checkpoint is made
}

void Postgres::end(int signal) {
  const std::scoped_lock lock(mutex_);
  if (!server_) return;
  CHECK_OK(server_->kill(signal));
  const Result<io::ExitStatus> ended = server_->wait(kStopMax);
  if (!ended.ok()) fail(fmt::format("it does not stop\n{}", file_text(folder_ / "log")));
  server_.reset();
}

void Postgres::kill9() {
  const std::scoped_lock lock(mutex_);
  if (!server_) return;
  // Stopped first, so that it starts no more backends while we look for them.
  CHECK_OK(server_->kill(SIGSTOP));
  std::vector<io::Descriptor> backends;
  for (const pid_t child : children_of(server_->pid())) {
    Result<io::Descriptor> backend = io::open_pidfd(child);
    if (!backend.ok()) continue;  // it has just ended by itself
    CHECK_OK(io::send_signal(*backend, SIGKILL));
    backends.push_back(*std::move(backend));
  }
  CHECK_OK(server_->kill(SIGKILL));
  CHECK_OK(server_->wait(kStopMax));
  server_.reset();
  for (const io::Descriptor& backend : backends) wait_for_end(backend.get(), kStopMax);
}

// A server that was killed leaves the key of its shared memory in its lock file, and the memory
// too.
void Postgres::remove_shared_memory() {
  std::istringstream lines(io::read_file(data_ / "postmaster.pid", 4096).value_or(""));
  std::string line;
  for (int number = 1; number <= 7 && std::getline(lines, line); ++number) {
    unsigned long key = 0;
    int id = 0;
    if (number == 7 && std::sscanf(line.c_str(), "%lu %d", &key, &id) == 2)
      ::shmctl(id, IPC_RMID, nullptr);
  }
}

std::string Postgres::url_of(const std::string& name) const {
  return fmt::format("postgres:///{}?host={}&port={}&user=quern", name, sockets_.native(), port_);
}

std::string Postgres::maintenance_url() const {
  return url_of("postgres");
}

std::string Postgres::create_database() {
  const std::string name = fmt::format("t{}", ++databases_);
  run_sql(maintenance_url(), "CREATE DATABASE " + name);
  return url_of(name);
}

std::string Postgres::copy_database(const std::string& url) {
  const std::string name = fmt::format("t{}", ++databases_);
  constexpr std::string_view kBefore = "postgres:///";
  const std::string from = url.substr(kBefore.size(), url.find('?') - kBefore.size());
  // A backend that has been left may take a moment to go.
  run_sql(maintenance_url(), fmt::format("SELECT pg_terminate_backend(pid, 10000) FROM"
                                         " pg_stat_activity WHERE datname = '{}'",
                                         from));
  run_sql(maintenance_url(), fmt::format("CREATE DATABASE {} TEMPLATE {}", name, from));
  return url_of(name);
}

std::string Postgres::over_tcp(const std::string& url) const {
  CHECK(options_.listen == PostgresListen::UnixSocketAndTcp);
  std::string result = url;
  result.replace(result.find(sockets_.native()), sockets_.native().size(), "127.0.0.1");
  return result;
}

std::string Postgres::run_sql(const std::string& url, const std::string& statements) {
  const Connection connection = connect(url);
  if (::PQstatus(connection.get()) != CONNECTION_OK) fail(::PQerrorMessage(connection.get()));
  const std::unique_ptr<PGresult, decltype(&::PQclear)> result(
      ::PQexec(connection.get(), statements.c_str()), ::PQclear);
  const ExecStatusType status = ::PQresultStatus(result.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
    fail(::PQerrorMessage(connection.get()));
  return ::PQntuples(result.get()) > 0 ? ::PQgetvalue(result.get(), 0, 0) : "";
}

std::string ScratchDatabases::take() {
  const std::scoped_lock lock(mutex_);
  if (free_.empty()) return Postgres::shared().create_database();
  std::string url = std::move(free_.back());
  free_.pop_back();
  Postgres::shared().run_sql(
      url, "SET client_min_messages = warning; DROP SCHEMA public CASCADE; CREATE SCHEMA public");
  return url;
}

Result<std::string> ScratchDatabases::lend(const Scenario& scenario) {
  const std::string url = take();
  Result<std::string> outcome = scenario(url);
  const std::scoped_lock lock(mutex_);
  if (outcome.ok()) free_.push_back(url);
  return outcome;
}

}  // namespace quern::support
