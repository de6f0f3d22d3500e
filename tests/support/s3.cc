#include "support/s3.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <fstream>

#include "io/file.h"

namespace quern::support {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kStartMax = seconds(180);
constexpr milliseconds kStopMax = seconds(60);
constexpr milliseconds kPollEvery{50};
constexpr char kCluster[] = "6b1b1d5e-5e4b-4c1f-8f0a-2c7d0f3a9b10";
constexpr char kObjectStore[] = "0f5f2b7a-9a3e-4d55-bb0e-6a3f1f2d7c44";

[[noreturn]] void fail(const std::string& why) {
  check_failed("the throwaway S3", why, __FILE__, __LINE__);
}

sockaddr_in loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  address.sin_port = ::htons(static_cast<std::uint16_t>(port));
  return address;
}

bool listens(int port) {
  const io::Descriptor probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port);
  return ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

// No login between its own parts, one copy of everything, little memory, no background work.
constexpr std::string_view kSettings = R"([global]
fsid = {cluster}
mon host = v2:127.0.0.1:{monitor_port}
public addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon data avail warn = 1
mon data avail crit = 1
run dir = {folder}
log file = {folder}/$name.log
mon cluster log file = {folder}/cluster.log
admin socket =
pid file =
mon data = {folder}/mon
osd data = {folder}/osd
osd objectstore = bluestore
bluestore block size = 4294967296
bluestore cache autotune = false
bluestore cache size = 67108864
rgw frontends = beast endpoint=127.0.0.1:{gateway_port} tcp_nodelay=1
rgw run sync thread = false
rgw enable gc threads = false
rgw enable lc threads = false
rgw enable quota threads = false
rgw num rados handles = 1
rgw thread pool size = 16
)";

}  // namespace

S3Server::S3Server() {
  write_settings();
  make_monitor();
  make_object_store();
  make_user();
  start_gateway();
}

S3Server::~S3Server() {
  // Nobody will read what they would save.
  for (auto* process : {&gateway_, &object_store_, &monitor_}) {
    if (*process) (void)(*process)->kill(SIGKILL);
  }
}

S3Server& S3Server::shared() {
  static S3Server the_server;
  return the_server;
}

std::string S3Server::endpoint() const {
  return fmt::format("http://127.0.0.1:{}", gateway_port_.number());
}

void S3Server::write_settings() {
  std::ofstream settings(folder_ / "ceph.conf");
  settings << fmt::format(fmt::runtime(kSettings), fmt::arg("cluster", kCluster),
                          fmt::arg("monitor_port", monitor_port_.number()),
                          fmt::arg("gateway_port", gateway_port_.number()),
                          fmt::arg("folder", folder_.path().native()));
  settings.close();
  CHECK(settings.good());
  CHECK_OK(io::make_folders_durably(folder_ / "mon"));
  CHECK_OK(io::make_folders_durably(folder_ / "osd"));
}

void S3Server::make_monitor() {
  const std::string map = folder_ / "monmap";
  run({"monmaptool", "--create", "--addv", "a",
       fmt::format("[v2:127.0.0.1:{}]", monitor_port_.number()), "--fsid", kCluster, map});
  run({"ceph-mon", "--mkfs", "-i", "a", "--monmap", map});
  monitor_.emplace(start({"ceph-mon", "-f", "-i", "a"}, "monitor"));
}

void S3Server::make_object_store() {
  run({"ceph", "--connect-timeout", "60", "osd", "new", kObjectStore});
  run({"ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", kObjectStore});
  object_store_.emplace(start({"ceph-osd", "-f", "-i", "0"}, "osd.out"));
}

// Waits until the object store takes objects: its pools are made with the first user.
void S3Server::make_user() {
  run({"radosgw-admin", "-n", "client.admin", "user", "create", "--uid=quern",
       "--display-name=quern", "--access-key=" + kAccessKey, "--secret-key=" + kSecretKey});
}

void S3Server::start_gateway() {
  CHECK(!gateway_);
  gateway_.emplace(start({"radosgw", "-f", "-n", "client.gateway"}, "gateway"));
  const auto end = std::chrono::steady_clock::now() + kStartMax;
  while (!listens(gateway_port_.number())) {
    const Result<io::ExitStatus> ended = gateway_->wait(kPollEvery);
    if (ended.ok()) fail(fmt::format("the gateway: {}\n{}", ended->text(), log_text("gateway")));
    if (std::chrono::steady_clock::now() > end) fail("no answer\n" + log_text("gateway"));
  }
}

void S3Server::stop_gateway() {
  if (!gateway_) return;
  CHECK_OK(gateway_->kill(SIGKILL));
  CHECK_OK(gateway_->wait(kStopMax));
  gateway_.reset();
}

io::Process S3Server::start(std::vector<std::string> argv, std::string_view log) {
  argv.insert(argv.begin() + 1, {"-c", (folder_ / "ceph.conf").string()});
  io::ProcessOptions options;
  options.argv = std::move(argv);
  options.out = io::Stream::at(folder_ / log);
  options.err = io::Stream::at(folder_ / log);
  options.group = io::ProcessGroup::Own;
  options.environment = {{"CEPH_ARGS", std::nullopt}, {"CEPH_CONF", std::nullopt}};
  Result<io::Process> started = io::Process::start(options);
  CHECK_OK(started);
  return *std::move(started);
}

void S3Server::run(std::vector<std::string> argv) {
  const std::string program = argv[0];
  io::Process process = start(std::move(argv), program);
  const Result<io::ExitStatus> ended = process.wait(kStartMax);
  if (!ended.ok()) fail(fmt::format("{}: {}", program, ended.error().message()));
  if (ended->exited_with(0)) return;
  fail(fmt::format("{}: {}\n{}", program, ended->text(), log_text(program)));
}

std::string S3Server::log_text(std::string_view log) const {
  return io::read_file(folder_ / log, 1 << 20).value_or("(no log)");
}

}  // namespace quern::support
