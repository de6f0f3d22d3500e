#include "support/tcp_proxy.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <list>
#include <thread>

#include "support/pg_message.h"

namespace quern::support {
namespace {

constexpr std::size_t kBufferBytesMax = 1024 * 1024;
constexpr std::size_t kReadBytes = 64 * 1024;
constexpr int kBacklog = 64;

// An address of either family, and what its socket is made of.
struct Address {
  sockaddr_storage storage = {};
  socklen_t size = 0;

  int family() const { return storage.ss_family; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

Address loopback(int port) {
  Address address;
  auto* ip = reinterpret_cast<sockaddr_in*>(&address.storage);
  ip->sin_family = AF_INET;
  ip->sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  ip->sin_port = ::htons(static_cast<std::uint16_t>(port));
  address.size = sizeof *ip;
  return address;
}

// The name that libpq makes of host=FOLDER and port=PORT.
Address unix_socket(const std::filesystem::path& folder, int port) {
  Address address;
  auto* local = reinterpret_cast<sockaddr_un*>(&address.storage);
  local->sun_family = AF_UNIX;
  const std::string path = fmt::format("{}/.s.PGSQL.{}", folder.native(), port);
  CHECK(path.size() < sizeof local->sun_path);
  path.copy(local->sun_path, path.size());
  address.size = sizeof *local;
  return address;
}

io::Descriptor open_socket(const Address& address) {
  io::Descriptor result(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  CHECK(result.is_open());
  return result;
}

void set_forwarding_options(int socket) {
  CHECK(::fcntl(socket, F_SETFL, O_NONBLOCK) == 0);
  const int on = 1;
  (void)::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // fails for Unix sockets
}

// One socket of a connection and what is to be written to it.
struct Peer {
  io::Descriptor socket;
  std::string out;
  bool has_ended = false;  // its sending side

  // False where the peer has gone.
  bool flush() {
    while (!out.empty()) {
      const ssize_t sent = ::send(socket.get(), out.data(), out.size(), MSG_NOSIGNAL);
      if (sent < 0) return errno == EAGAIN || errno == EINTR;
      out.erase(0, static_cast<std::size_t>(sent));
    }
    return true;
  }
  // What has come; nothing where it has ended or failed, too.
  std::string read() {
    std::string bytes(kReadBytes, '\0');
    const ssize_t got = ::recv(socket.get(), bytes.data(), bytes.size(), 0);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) has_ended = true;
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return bytes;
  }
};

struct Connection {
  enum class State { Open, Stalled, Closed };

  Peer client;
  Peer server;
  PgSplitter from_client{PgSplitter::Side::Client};
  PgSplitter from_server{PgSplitter::Side::Server};
  PgStatements statements;
  State state = State::Open;
  // ReadyForQuery messages that what was forwarded calls for, and those that have come.
  int readies_due = 0;
  int readies_seen = 0;
  // A rule under way: it has matched, and its instant comes later.
  std::optional<ProxyRule> rule;
  std::optional<int> rule_ready;  // the number of the ReadyForQuery that ends the statement
  std::string withheld;           // answers since the match
};

}  // namespace

class TcpProxy::Loop {
 public:
  Loop(const Postgres& server, Transport transport) : transport_(transport) {
    const bool tcp = transport == Transport::Tcp;
    upstream_ = tcp ? loopback(server.port()) : unix_socket(server.socket_folder(), server.port());
    Address address = tcp ? loopback(0) : unix_socket(folder_.path(), kUnixPort);
    listener_ = open_socket(address);
    CHECK(::bind(listener_.get(), address.get(), address.size) == 0);
    CHECK(::listen(listener_.get(), kBacklog) == 0);
    CHECK(::getsockname(listener_.get(), address.get(), &address.size) == 0);
    port_ = tcp ? ::ntohs(reinterpret_cast<sockaddr_in*>(&address.storage)->sin_port) : kUnixPort;
    wake_ = io::Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    CHECK(wake_.is_open());
    thread_ = std::thread(&Loop::run, this);
  }

  ~Loop() {
    tell([this] { stop_ = true; });
    thread_.join();
  }

  std::string url(const std::string& server_url) const {
    const std::string query = server_url.substr(0, server_url.find('?'));
    const std::string host = transport_ == Transport::Tcp ? "127.0.0.1" : folder_.path().native();
    return fmt::format("{}?host={}&port={}&user=quern", query, host, port_);
  }

  // Runs a change on the loop's thread, between two steps of it, and waits for it. On the loop's
  // own thread (a rule's code) it is made at once.
  void tell(const std::function<void()>& change) {
    if (std::this_thread::get_id() == thread_.get_id()) return change();
    std::unique_lock lock(mutex_);
    const std::uint64_t ticket = ++asked_;
    changes_.push_back(change);
    const std::uint64_t one = 1;
    CHECK(::write(wake_.get(), &one, sizeof one) == sizeof one);
    changed_.wait(lock, [&] { return done_ >= ticket; });
  }

  void set_rule(std::optional<ProxyRule> rule) {
    tell([&] {
      rule_ = std::move(rule);
      hits_ = 0;
      const std::scoped_lock lock(mutex_);
      has_fired_ = false;
    });
  }

  bool wait_until_fired(std::chrono::milliseconds longest) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, longest, [&] { return has_fired_; });
  }

  void set_stalled(bool stalled) {
    tell([&] { is_stalled_ = stalled; });
  }
  void drop_all() {
    tell([&] { connections_.clear(); });
  }

  int hits() const { return hits_; }
  int open() const { return open_; }

 private:
  static constexpr int kUnixPort = 5432;

  void run() {
    while (!stop_) {
      wait_and_forward();
      connections_.remove_if(
          [](const Connection& c) { return c.state == Connection::State::Closed; });
      open_ = static_cast<int>(connections_.size());
      make_changes();
    }
  }

  void make_changes() {
    std::unique_lock lock(mutex_);
    while (!changes_.empty()) {
      const std::function<void()> change = std::move(changes_.front());
      changes_.pop_front();
      lock.unlock();
      change();
      open_ = static_cast<int>(connections_.size());
      lock.lock();
      ++done_;
    }
    changed_.notify_all();
  }

  static pollfd interest(const Peer& peer, const Peer& other, bool reads) {
    const bool has_room = other.out.size() < kBufferBytesMax && !peer.has_ended;
    const int events = (reads && has_room ? POLLIN : 0) | (peer.out.empty() ? 0 : POLLOUT);
    return {events == 0 ? -1 : peer.socket.get(), static_cast<short>(events), 0};
  }

  void wait_and_forward() {
    std::vector<pollfd> wanted = {{wake_.get(), POLLIN, 0},
                                  {is_stalled_ ? -1 : listener_.get(), POLLIN, 0}};
    for (const Connection& c : connections_) {
      const bool is_open = c.state == Connection::State::Open && !is_stalled_;
      wanted.push_back(interest(c.client, c.server, is_open));
      wanted.push_back(interest(c.server, c.client, is_open));
      if (!is_open) wanted[wanted.size() - 2].fd = wanted[wanted.size() - 1].fd = -1;
    }
    if (::poll(wanted.data(), wanted.size(), -1) < 0) {
      CHECK(errno == EINTR);
      return;
    }
    std::uint64_t drained = 0;
    if (wanted[0].revents != 0) (void)!::read(wake_.get(), &drained, sizeof drained);
    std::size_t at = 2;
    for (Connection& c : connections_) {
      const bool from_client = wanted[at++].revents != 0;
      const bool from_server = wanted[at++].revents != 0;
      if (from_client || from_server) forward(c, from_client, from_server);
    }
    if (wanted[1].revents != 0) accept();
  }

  void accept() {
    Connection connection;
    connection.client.socket =
        io::Descriptor(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection.client.socket.is_open()) return;
    connection.server.socket = open_socket(upstream_);
    // A server that is down refuses; its client sees the connection end.
    if (::connect(connection.server.socket.get(), upstream_.get(), upstream_.size) != 0) return;
    set_forwarding_options(connection.client.socket.get());
    set_forwarding_options(connection.server.socket.get());
    connections_.push_back(std::move(connection));
  }

  void forward(Connection& c, bool from_client, bool from_server) {
    if (from_client) {
      c.from_client.append(c.client.read());
      while (c.state == Connection::State::Open) {
        std::optional<PgMessage> message = c.from_client.next();
        if (!message) break;
        take_from_client(c, *message);
      }
    }
    if (from_server && c.state == Connection::State::Open) {
      c.from_server.append(c.server.read());
      while (std::optional<PgMessage> message = c.from_server.next()) take_from_server(c, *message);
      // A server that has gone answers nothing more: what there was of an answer is all of it.
      if (c.server.has_ended && c.rule && c.rule->at == ProxyInstant::AfterReply) fire(c);
    }
    if (c.state != Connection::State::Open) return;
    const bool is_whole = c.client.flush() && c.server.flush();
    const bool has_ended = (c.server.has_ended && c.client.out.empty()) ||
                           (c.client.has_ended && c.server.out.empty());
    if (!is_whole || has_ended) c.state = Connection::State::Closed;
  }

  void take_from_client(Connection& c, const PgMessage& message) {
    // Encryption is refused on the server's behalf: we could not look into it.
    if (message.type == 0 && (message.start() == PgStart::Tls || message.start() == PgStart::Gss)) {
      c.client.out += 'N';
      return;
    }
    if (message.type != 0) match(c, message);
    if (c.rule && c.rule->at == ProxyInstant::BeforeForwarding) fire(c);
    if (c.state == Connection::State::Closed) return;
    c.server.out += message.bytes;
    if (!ends_with_ready(message)) return;
    ++c.readies_due;
    if (!c.rule || c.rule_ready) return;
    c.rule_ready = c.readies_due;
    if (c.rule->at == ProxyInstant::AfterForwarding) {
      flush_all(c.server);
      fire(c);
    }
  }

  void match(Connection& c, const PgMessage& message) {
    const std::optional<std::string> text = c.statements.text_run_by(message);
    if (!rule_ || !text || text->find(rule_->word) == std::string::npos) return;
    if (++hits_ == rule_->nth) c.rule = rule_;
  }

  void take_from_server(Connection& c, const PgMessage& message) {
    if (message.type == 'Z') ++c.readies_seen;
    const bool withholds = c.rule && c.rule->at == ProxyInstant::AfterReply;
    (withholds ? c.withheld : c.client.out) += message.bytes;
    if (withholds && c.rule_ready && c.readies_seen == *c.rule_ready) fire(c);
  }

  // The rule's instant has come.
  void fire(Connection& c) {
    const ProxyRule rule = *std::exchange(c.rule, std::nullopt);
    c.rule_ready.reset();
    if (rule.run) rule.run();
    if (rule.then == ProxyThen::Drop) {
      c.state = Connection::State::Closed;
    } else if (rule.then == ProxyThen::Stall) {
      c.state = Connection::State::Stalled;
    } else {
      c.client.out += std::exchange(c.withheld, {});
    }
    const std::scoped_lock lock(mutex_);
    has_fired_ = true;
    changed_.notify_all();
  }

  // What a killed server has not taken is lost, as it would be on its way there.
  static void flush_all(Peer& peer) {
    while (peer.flush() && !peer.out.empty()) {
      pollfd wanted{peer.socket.get(), POLLOUT, 0};
      (void)::poll(&wanted, 1, -1);
    }
  }

  const Transport transport_;
  TempFolder folder_;
  Address upstream_;
  io::Descriptor listener_;
  int port_ = 0;
  io::Descriptor wake_;
  // Written by the loop alone.
  std::atomic<int> hits_{0};
  std::atomic<int> open_{0};
  // The loop's own.
  bool stop_ = false;
  bool is_stalled_ = false;
  std::optional<ProxyRule> rule_;
  std::list<Connection> connections_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::function<void()>> changes_;
  std::uint64_t asked_ = 0;
  std::uint64_t done_ = 0;
  bool has_fired_ = false;
  std::thread thread_;
};

TcpProxy::TcpProxy(const Postgres& server, Transport transport)
    : loop_(std::make_unique<Loop>(server, transport)) {}
TcpProxy::~TcpProxy() = default;

std::string TcpProxy::url(const std::string& server_url) const {
  return loop_->url(server_url);
}
void TcpProxy::set_rule(ProxyRule rule) {
  loop_->set_rule(std::move(rule));
}
void TcpProxy::clear_rule() {
  loop_->set_rule(std::nullopt);
}
int TcpProxy::hits() const {
  return loop_->hits();
}
bool TcpProxy::wait_until_fired(std::chrono::milliseconds longest) {
  return loop_->wait_until_fired(longest);
}
void TcpProxy::stall() {
  loop_->set_stalled(true);
}
void TcpProxy::resume() {
  loop_->set_stalled(false);
}
void TcpProxy::drop_all() {
  loop_->drop_all();
}
int TcpProxy::connections() const {
  return loop_->open();
}

}  // namespace quern::support
