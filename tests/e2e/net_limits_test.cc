// What a server's memory does when peers do not read, do not speak, or say very much. Each test
// prints its figures; what is asserted is memory (RssAnon of the server's process), never time.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdio>

#include "net/client.h"
#include "net/raw_peer.h"
#include "support/proc.h"
#include "support/program.h"

namespace quern::net {
namespace {

constexpr std::int64_t kFlatKb = 2 * 1024;
constexpr std::uint64_t kGigabyte = 1'000'000'000;

class NetLimitsTest : public testing::Test {
 protected:
  void SetUp() override {
    // Before the server starts: it inherits the limit.
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);

    support::ProgramOptions options;
    options.program = "net_test_server";
    auto program = support::Program::start(options);
    ASSERT_TRUE(program.ok()) << program.error().message();
    program_ = *std::move(program);
    const auto line = program_->wait_for_line(support::Output::Standard, "listening ");
    ASSERT_TRUE(line.ok()) << line.error().message();
    endpoint_ = *Endpoint::parse(line->substr(line->find(' ') + 1));
    client_ = std::make_unique<Client>(loop_, endpoint_, ClientOptions{});
    // Whatever is allocated once is allocated by this.
    ASSERT_EQ(get("/hello"), "ok");
    before_kb_ = rss_kb();
  }

  std::string get(const std::string& target) {
    const auto response = loop_.run_until(client_->fetch(get_request(target), 1000));
    return response ? response->body : response.error().message();
  }
  std::int64_t rss_kb() const { return support::rss_anon_kb(program_->pid()); }

  Loop loop_;
  std::unique_ptr<support::Program> program_;
  Endpoint endpoint_;
  std::unique_ptr<Client> client_;
  std::int64_t before_kb_ = 0;
};

// Sends until the socket takes nothing more for a second.
std::uint64_t send_until_stalled(int fd, std::uint64_t bytes_max) {
  const std::string piece(256 * 1024, 'u');
  std::uint64_t sent = 0;
  while (sent < bytes_max) {
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), bytes_max - sent));
    const ssize_t n = ::send(fd, piece.data(), wanted, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      sent += static_cast<std::uint64_t>(n);
      continue;
    }
    pollfd writable{fd, POLLOUT, 0};
    if (::poll(&writable, 1, 1000) == 0) break;
  }
  return sent;
}

TEST_F(NetLimitsTest, AnUnreadUploadStallsItsSenderAndCostsNoMemory) {
  constexpr std::uint64_t kBytes = 300'000'000;
  RawPeer peer(endpoint_);
  peer.send(fmt::format("PUT /unread HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", kBytes));
  const std::uint64_t stalled_at = send_until_stalled(peer.fd(), kBytes);
  const std::int64_t grown_kb = rss_kb() - before_kb_;
  fmt::print("unread upload: sender stalled after {} of {} bytes; server grew by {} KB\n",
             stalled_at, kBytes, grown_kb);
  EXPECT_LT(stalled_at, kBytes / 2) << "only the kernel's buffers may fill";
  EXPECT_LT(grown_kb, kFlatKb);

  EXPECT_EQ(get("/release"), "ok");
  const std::string piece(1024 * 1024, 'u');
  std::int64_t peak_kb = 0;
  for (std::uint64_t sent = stalled_at; sent < kBytes;) {
    const std::string_view part = std::string_view(piece).substr(0, kBytes - sent);
    peer.send(part);
    sent += part.size();
    if (sent / 50'000'000 != (sent - part.size()) / 50'000'000)
      peak_kb = std::max(peak_kb, rss_kb());
  }
  EXPECT_NE(peer.read_answer().find(fmt::format("{} {}", kBytes, kBytes * 'u')), std::string::npos);
  fmt::print("the rest went through; server grew by {} KB at most\n", peak_kb - before_kb_);
  EXPECT_LT(peak_kb - before_kb_, kFlatKb);
}

// From many loopback addresses: one has too few ports for several runs in a minute.
RawPeer peer_from(int number, const Endpoint& endpoint) {
  io::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  sockaddr_in from{};
  from.sin_family = AF_INET;
  from.sin_addr.s_addr = htonl(0x7f000002u + static_cast<std::uint32_t>(number % 64));
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from), 0);
  const SocketAddress to = numeric_addresses(endpoint).at(0);
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to.storage), to.size), 0);
  return RawPeer(std::move(socket));
}

TEST_F(NetLimitsTest, TenThousandIdleLongPollsCostUnder20KbEach) {
  constexpr int kPolls = 10'000;
  std::vector<RawPeer> peers;
  peers.reserve(kPolls);
  for (int i = 0; i < kPolls; ++i) {
    peers.push_back(peer_from(i, endpoint_));
    peers.back().send(
        "POST /poll HTTP/1.1\r\nHost: 127.0.0.1:9032\r\nUser-Agent: Go-http-client/1.1\r\n"
        "Content-Length: 0\r\nContent-Type: text/plain\r\nAccept-Encoding: gzip\r\n\r\n");
    if (HasFailure()) return;
  }
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(kPatienceS);
  while (get("/waiting") != std::to_string(kPolls)) {
    ASSERT_LT(std::chrono::steady_clock::now(), patience) << get("/waiting") << " polls wait";
  }
  const std::int64_t grown_kb = rss_kb() - before_kb_;
  fmt::print("{} idle long polls: {} KB, {:.2f} KB each\n", kPolls, grown_kb,
             static_cast<double>(grown_kb) / kPolls);
  EXPECT_LT(grown_kb, std::int64_t{20} * kPolls);

  for (int i = 0; i < 500; ++i) ASSERT_EQ(get("/hello"), "ok") << "while they idle";
  for (int i = 0; i < 100; ++i) {
    RawPeer fresh = peer_from(i, endpoint_);
    fresh.send(request_text("GET", "/hello"));
    ASSERT_EQ(fresh.read_status(), "200");
  }
  fmt::print("600 fresh requests were served meanwhile, 100 of them on new connections\n");

  EXPECT_EQ(get("/notify"), "ok");
  for (RawPeer& peer : peers) ASSERT_EQ(peer.read_status(), "200");
  EXPECT_EQ(get("/waiting"), "0");
}

// Makes so many bytes, and looks at the server's memory now and then.
struct Measured {
  pid_t pid;
  std::uint64_t left;
  std::uint64_t calls = 0;
  std::int64_t peak_kb = 0;

  void look() {
    if (++calls % 512 == 0) peak_kb = std::max(peak_kb, support::rss_anon_kb(pid));
  }
};

Task<Result<std::size_t>> produce(Measured* measured, std::span<char> buffer) {
  const auto bytes =
      static_cast<std::size_t>(std::min<std::uint64_t>(measured->left, buffer.size()));
  std::fill_n(buffer.begin(), bytes, 'c');
  measured->left -= bytes;
  measured->look();
  co_return bytes;
}

TEST_F(NetLimitsTest, AGigabyteOfChunksStreamsInInConstantMemory) {
  Measured measured{program_->pid(), kGigabyte};
  Request request;
  request.method = Method::Put;
  request.target = "/count";
  request.producer = [&](std::span<char> buffer) { return produce(&measured, buffer); };
  const auto response = loop_.run_until(client_->fetch(std::move(request), 1000));
  ASSERT_TRUE(response.ok()) << response.error().message();
  EXPECT_EQ(response->body, fmt::format("{} {}", kGigabyte, kGigabyte * 'c'));
  fmt::print("1 GB in, chunked: server grew by {} KB at most\n", measured.peak_kb - before_kb_);
  ASSERT_GT(measured.peak_kb, 0);
  EXPECT_LT(measured.peak_kb - before_kb_, kFlatKb);
}

Task<Result<std::uint64_t>> download(Client* client, std::string target, Measured* measured) {
  Sent sent = co_await client->send(get_request(target));
  if (!sent.answer) co_return std::move(sent.answer).error();
  std::vector<char> buffer(64 * 1024);
  std::uint64_t total = 0;
  for (;;) {
    CO_TRY_ASSIGN(const std::size_t bytes, co_await sent.answer->read(buffer));
    if (bytes == 0) co_return total;
    total += bytes;
    measured->look();
  }
}

TEST_F(NetLimitsTest, AGigabyteOfChunksStreamsOutInConstantMemory) {
  Measured measured{program_->pid(), 0};
  const std::int64_t ours_before_kb = support::rss_anon_kb(::getpid());
  const auto bytes =
      loop_.run_until(download(client_.get(), fmt::format("/bytes?n={}", kGigabyte), &measured));
  ASSERT_TRUE(bytes.ok()) << bytes.error().message();
  EXPECT_EQ(*bytes, kGigabyte);
  const std::int64_t ours_kb = support::rss_anon_kb(::getpid()) - ours_before_kb;
  fmt::print("1 GB out, chunked: server grew by {} KB at most, client by {} KB\n",
             measured.peak_kb - before_kb_, ours_kb);
  ASSERT_GT(measured.peak_kb, 0);
  EXPECT_LT(measured.peak_kb - before_kb_, kFlatKb);
  EXPECT_LT(ours_kb, kFlatKb);
}

}  // namespace
}  // namespace quern::net
