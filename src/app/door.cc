#include "app/door.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/ask.h"
#include "app/output.h"
#include "io/owner_lock.h"

namespace quern::app {
namespace {

constexpr std::int64_t kRetryMsMin = 10;
constexpr std::int64_t kRetryMsMax = 250;
constexpr std::int64_t kFirstByteMsMin = 5000;  // also with --owner-wait 0
constexpr std::int64_t kPatienceMs = 1500;      // then a person is told what we wait for
constexpr std::int64_t kDownloadMs = 3600'000;  // a file may have to be made first
constexpr std::size_t kPieceBytes = 256 * 1024;

bool is_worth_repeating(const Result<net::Response>& answer) {
  if (answer.ok()) return answer->status == 503;
  return is_retryable(answer.error().kind());
}

net::Task<Result<io::Descriptor>> connect_to(Node* node) {
  co_return node->connect();
}

}  // namespace

// The call that is under way, as whoever says what we wait for sees it.
struct Door::Watch {
  Door* door = nullptr;  // null: it is closed
  bool calling = false;
  bool told = false;
  net::Instant since;
};

// For the time of a call. The coroutine that looks on is started with the first one.
class Door::Watched {
 public:
  Watched(net::Loop& loop, Door& door, std::shared_ptr<Watch>& watch) {
    if (watch == nullptr) {
      watch = std::make_shared<Watch>();
      watch->door = &door;
      loop.spawn("door.watch", look_on(&loop, watch));
    }
    watch_ = watch;
    watch_->calling = true;
    watch_->told = false;
    watch_->since = net::in_ms(0);
  }
  ~Watched() { watch_->calling = false; }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  static net::Task<> look_on(net::Loop* loop, std::shared_ptr<Watch> watch) {
    while (true) {
      co_await loop->sleep_until(net::in_ms(kPatienceMs / 3));
      if (watch->door == nullptr) co_return;
      const bool long_enough = net::in_ms(-kPatienceMs) > watch->since;
      if (!watch->calling || watch->told || !long_enough) continue;
      watch->told = true;
      const Error why = watch->door->nobody_answers({Errc::Busy, "no answer yet"});
      complain("quern: waiting: " + why.message());
    }
  }

  std::shared_ptr<Watch> watch_;
};

Door::~Door() {
  if (watch_) watch_->door = nullptr;
}

// A client of the owner, or the owner.
Result<> Door::find_way() {
  if (client_) return {};
  if (config_.server) {
    net::ClientOptions options;
    options.authorization = config_.authorization;
    client_.emplace(loop_, *config_.server, std::move(options));
    return {};
  }
  const Result<> owned = become_owner();
  const bool others_own = config_.database.kind == store::StoreKind::Sqlite && !owned.ok() &&
                          owned.error().kind() == Errc::Busy;
  if (!others_own) return owned;
  client_.emplace(loop_, net::Endpoint::unix_path(config_.socket_path().string()),
                  net::ClientOptions{});
  return {};
}

Result<> Door::become_owner() {
  TRY_ASSIGN(node_, Node::open(loop_, config_, Listen::FolderOnly, working_));
  Node* node = node_.get();
  client_.emplace(
      loop_, [node] { return connect_to(node); }, "localhost", net::ClientOptions{});
  return {};
}

net::Task<Result<net::Response>> Door::call(net::Request request) {
  const net::Instant give_up = net::in_ms(config_.owner_wait_ms);
  bool first = true;
  const Watched watched(loop_, *this, watch_);
  std::int64_t pause_ms = kRetryMsMin;
  while (true) {
    CO_TRY(find_way());
    // An owner that was stopped or hangs keeps its socket open and says nothing. The first attempt
    // has a while even where nothing is to be waited for.
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(give_up - net::in_ms(0));
    request.first_byte_ms = std::max<std::int64_t>(left.count(), first ? kFirstByteMsMin : 1);
    first = false;
    Result<net::Response> answer = co_await client_->fetch(request, kAnswerBytesMax);
    if (!is_worth_repeating(answer)) co_return answer;
    // Ours stays; whoever else it was may have gone, and its folder may be ours now.
    if (!node_) client_.reset();
    const net::Instant now = net::in_ms(0);
    const Error last = answer.ok() ? Error{Errc::Busy, answer->body} : answer.error();
    if (now >= give_up) co_return nobody_answers(last);
    co_await loop_.sleep_until(net::in_ms(pause_ms));
    pause_ms = std::min(pause_ms * 2, kRetryMsMax);
  }
}

net::Task<Result<>> Door::download(net::Request request, Take take) {
  CO_TRY(find_way());
  const Watched watched(loop_, *this, watch_);
  request.first_byte_ms = kDownloadMs;
  net::Sent sent = co_await client_->send(std::move(request));
  CO_TRY_ASSIGN(net::Answer answer, std::move(sent.answer));
  if (answer.status() != 200) {
    CO_TRY_ASSIGN(std::string body, co_await answer.read_all(kAnswerBytesMax));
    net::Response refused = net::empty_response(answer.status());
    refused.body = std::move(body);
    CO_TRY(parse_answer(refused));
    co_return Error{Errc::Internal, "the server gave another answer than a file"};
  }
  std::string piece(kPieceBytes, '\0');
  while (true) {
    CO_TRY_ASSIGN(const std::size_t got, co_await answer.read(piece));
    if (got == 0) co_return Result<>();
    CO_TRY(take(std::string_view(piece.data(), got)));
  }
}

Error Door::nobody_answers(const Error& last) const {
  if (config_.server) {
    return Error{Errc::Unavailable, fmt::format("the server at {} does not answer: {}",
                                                config_.server->to_string(), last.message())};
  }
  const auto owner = io::read_owner(config_.data);
  if (owner.ok() && *owner) {
    return Error{
        Errc::Unavailable,
        fmt::format("process {} has owned {} since {} and does not answer: {}", (*owner)->pid,
                    config_.data.string(), (*owner)->since, last.message())};
  }
  return Error{Errc::Unavailable,
               fmt::format("nobody answers for {}: {}", config_.data.string(), last.message())};
}

net::Task<> Door::close() {
  if (watch_) watch_->door = nullptr;
  client_.reset();
  if (node_) co_await node_->close(config_.grace_ms);
}

}  // namespace quern::app
