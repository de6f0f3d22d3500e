#include "net/client.h"

#include <algorithm>
#include <deque>

#include "net/client_connection.h"
#include "net/socket.h"

namespace quern::net {

class ClientCore : public std::enable_shared_from_this<ClientCore> {
 public:
  ClientCore(Loop& loop, Connector connector, std::string authority, ClientOptions options)
      : loop_(loop),
        connector_(std::move(connector)),
        authority_(std::move(authority)),
        options_(options) {}

  static Task<Sent> send(std::shared_ptr<ClientCore> core, Request request);
  void give_back(std::unique_ptr<ClientConnection> connection);
  std::size_t idle_connections() const { return idle_.size(); }

 private:
  using Connection = std::unique_ptr<ClientConnection>;

  Connection take_idle();
  Task<Result<Connection>> fresh();
  Task<Sent> exchange(Connection connection, const Request& request, Instant last);

  Loop& loop_;
  Connector connector_;
  std::string authority_;
  ClientOptions options_;
  std::deque<Connection> idle_;  // the one used last is at the back, and is used next
};

namespace {

bool may_repeat(const Request& request) {
  if (request.producer || request.repeat == Repeat::Never) return false;
  return request.repeat == Repeat::Always || is_idempotent(request.method);
}

}  // namespace

ClientCore::Connection ClientCore::take_idle() {
  const Instant oldest =
      std::chrono::steady_clock::now() - std::chrono::milliseconds(options_.idle_ms);
  while (!idle_.empty()) {
    Connection connection = std::move(idle_.back());
    idle_.pop_back();
    if (connection->idle_since() > oldest && connection->still_good()) return connection;
  }
  return nullptr;
}

Task<Result<ClientCore::Connection>> ClientCore::fresh() {
  CO_TRY_ASSIGN(io::Descriptor socket, co_await connector_());
  prepare_stream(socket.get());
  co_return std::make_unique<ClientConnection>(loop_, std::move(socket), options_);
}

Task<Sent> ClientCore::send(std::shared_ptr<ClientCore> core, Request request) {
  const Instant last = request.total_ms > 0 ? in_ms(request.total_ms) : kNever;
  if (Connection kept = core->take_idle()) {
    Sent sent = co_await core->exchange(std::move(kept), request, last);
    if (sent.answer) co_return sent;
    const bool dead_before = sent.answer.error().kind() == Errc::Unavailable && !sent.byte_received;
    if (!dead_before || !may_repeat(request)) co_return sent;
  }
  auto connection = co_await core->fresh();
  if (!connection) co_return Sent{Reached::No, std::move(connection).error()};
  co_return co_await core->exchange(*std::move(connection), request, last);
}

Task<Sent> ClientCore::exchange(Connection connection, const Request& request, Instant last) {
  auto head = co_await connection->exchange(request, authority_, last);
  const Reached reached = connection->byte_sent() ? Reached::Maybe : Reached::No;
  if (!head) co_return Sent{reached, std::move(head).error(), connection->byte_received()};
  connection->core = weak_from_this();
  co_return Sent{reached, Answer(*std::move(head), std::move(connection))};
}

void ClientCore::give_back(Connection connection) {
  connection->rest();
  idle_.push_back(std::move(connection));
  if (idle_.size() > options_.idle_max) idle_.pop_front();
}

Request get_request(std::string target) {
  Request request;
  request.target = std::move(target);
  return request;
}

Request post_request(std::string target, std::string body, std::string content_type) {
  Request request = get_request(std::move(target));
  request.method = Method::Post;
  request.body = std::move(body);
  request.headers.set("Content-Type", content_type);
  return request;
}

Answer::Answer(ResponseHead head, std::unique_ptr<ClientConnection> connection)
    : head_(std::move(head)), connection_(std::move(connection)) {}
Answer::Answer(Answer&&) noexcept = default;
Answer& Answer::operator=(Answer&&) noexcept = default;

Answer::~Answer() {
  if (!connection_ || !connection_->reusable()) return;
  if (const auto core = connection_->core.lock()) core->give_back(std::move(connection_));
}

Task<Result<std::size_t>> Answer::read(std::span<char> buffer) {
  CHECK(!buffer.empty());
  co_return co_await connection_->read(buffer);
}

Task<Result<std::string>> Answer::read_all(std::size_t bytes_max) {
  std::string all;
  while (!connection_->body_done()) {
    const std::size_t had = all.size();
    // One byte of room beyond the limit tells a longer body from one that just fits.
    const std::size_t room =
        std::min(std::clamp<std::size_t>(had, 4096, 1024 * 1024), bytes_max - had + 1);
    all.resize(had + room);
    CO_TRY_ASSIGN(const std::size_t bytes, co_await read(std::span(all).subspan(had)));
    all.resize(had + bytes);
    if (all.size() > bytes_max) {
      co_return over_limit("answer body", static_cast<std::int64_t>(all.size()),
                           static_cast<std::int64_t>(bytes_max), "bytes_max");
    }
  }
  co_return all;
}

namespace {

Task<Result<io::Descriptor>> connect_to(Loop* loop, Endpoint endpoint, std::int64_t connect_ms) {
  co_return co_await connect(*loop, std::move(endpoint), connect_ms);
}

}  // namespace

Client::Client(Loop& loop, Endpoint endpoint, ClientOptions options) {
  const std::string authority = endpoint.authority();
  Connector connector = [&loop, endpoint = std::move(endpoint), connect_ms = options.connect_ms] {
    return connect_to(&loop, endpoint, connect_ms);
  };
  core_ = std::make_shared<ClientCore>(loop, std::move(connector), authority, options);
}

Client::Client(Loop& loop, Connector connector, std::string authority, ClientOptions options)
    : core_(std::make_shared<ClientCore>(loop, std::move(connector), std::move(authority),
                                         options)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Task<Sent> Client::send(Request request) {
  return ClientCore::send(core_, std::move(request));
}

namespace {

Task<Result<Response>> whole_answer(Task<Sent> sending, std::size_t body_bytes_max) {
  Sent sent = co_await std::move(sending);
  if (!sent.answer) co_return std::move(sent.answer).error();
  Response response;
  response.status = sent.answer->status();
  response.headers = sent.answer->headers();
  CO_TRY_ASSIGN(response.body, co_await sent.answer->read_all(body_bytes_max));
  co_return response;
}

}  // namespace

Task<Result<Response>> Client::fetch(Request request, std::size_t body_bytes_max) {
  return whole_answer(send(std::move(request)), body_bytes_max);
}

std::size_t Client::idle_connections() const {
  return core_->idle_connections();
}

}  // namespace quern::net
