#include "queue/http_processor.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "io/clock.h"
#include "net/client.h"
#include "net/event.h"
#include "net/target.h"

namespace quern::queue {
namespace {

constexpr std::size_t kClientsMax = 64;
constexpr std::size_t kIdleConnectionsMax = 64;  // to one authority
// Shorter than servers keep theirs (2 s and more), for a call is not repeated where a kept
// connection turns out to be closed.
constexpr std::int64_t kIdleMs = 1'000;
constexpr std::size_t kHandlerBytesMax = 2048;
constexpr std::string_view kScheme = "http://";

struct Address {
  net::Endpoint endpoint;
  std::string target;
};

Error not_a_handler(std::string_view address, std::string_view why) {
  return Error{Errc::Invalid, fmt::format("'{}' is no address of a handler such as "
                                          "http://127.0.0.1:9000/work: {}",
                                          address.substr(0, 200), why)};
}

bool is_plain(std::string_view address) {
  return std::all_of(address.begin(), address.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

Result<Address> parse_handler(std::string_view address) {
  if (address.size() > kHandlerBytesMax) return not_a_handler(address, "it is too long");
  if (!net::equals_ignoring_case(address.substr(0, kScheme.size()), kScheme)) {
    return not_a_handler(address, "it does not begin with http://");
  }
  if (!is_plain(address))
    return not_a_handler(address, "blanks and others must be percent-encoded");
  if (address.find('#') != std::string_view::npos)
    return not_a_handler(address, "it has a fragment");
  const std::string_view rest = address.substr(kScheme.size());
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  std::string authority(rest.substr(0, end));
  const bool has_port = authority.find(':', authority.rfind(']') + 1) != std::string::npos;
  if (!has_port) authority += ":80";
  const auto endpoint = net::Endpoint::parse(authority);
  if (!endpoint || endpoint->kind != net::Endpoint::Kind::Tcp || endpoint->port == 0) {
    return not_a_handler(address, "its host or port is wrong");
  }
  const std::string_view target = rest.substr(end);
  return Address{*endpoint,
                 target.starts_with('/') ? std::string(target) : fmt::format("/{}", target)};
}

net::Request request_for(Work work, std::string target, std::int64_t answer_ms) {
  net::Request request =
      net::post_request(std::move(target), std::move(work.item.data), "application/json");
  request.headers.set("Idempotency-Key", work.idempotency_key());
  request.headers.set("Quern-Partition", net::percent_encoded(work.partition_name));
  request.headers.set("Quern-Item", net::percent_encoded(work.item.name));
  request.headers.set("Quern-Gate", std::to_string(work.item.gate));
  request.headers.set("Quern-Attempt", std::to_string(work.item.calls));
  request.repeat = net::Repeat::Never;
  request.first_byte_ms = answer_ms;
  request.total_ms = answer_ms;
  return request;
}

Outcome transport_failure(const std::string& handler, const Error& error) {
  if (error.kind() == Errc::TooLarge) {
    Outcome outcome =
        Outcome::failed(fmt::format("handler {} answers too much: {}", handler, error.message()));
    outcome.no_retry = true;
    return outcome;
  }
  return Outcome::failed(fmt::format("handler {}: {}", handler, error.message()));
}

}  // namespace

Result<> validate_handler(std::string_view address) {
  TRY(parse_handler(address));
  return {};
}

class HttpProcessor::Core : public std::enable_shared_from_this<HttpProcessor::Core> {
 public:
  Core(net::Loop& loop, HttpProcessorOptions options) : loop_(loop), options_(options) {}

  void process(Work work, Answered answered);
  void cancel();
  std::map<std::string, std::string> trouble() const;

 private:
  // Shared by the coroutine that waits and the one that fetches, which may be left behind.
  struct Call {
    Call(net::Loop& loop, std::string handler_address, net::Request to_send)
        : handler(std::move(handler_address)), request(std::move(to_send)), ended(loop) {}

    std::string handler;
    net::Request request;
    net::Event ended;  // or canceled
    std::optional<Result<net::Response>> response;
  };
  struct KeptClient {
    std::shared_ptr<net::Client> client;
    std::uint64_t used = 0;
  };
  struct Trouble {
    std::string message;
    std::int64_t at_us = 0;
  };
  using CallPtr = std::shared_ptr<Call>;
  using ClientPtr = std::shared_ptr<net::Client>;

  static net::Task<> run(std::shared_ptr<Core> core, CallPtr call, ClientPtr client,
                         Answered answered);
  static net::Task<> fetch(CallPtr call, ClientPtr client);
  Outcome outcome_of(const Call& call) const;
  ClientPtr client_for(const net::Endpoint& endpoint);
  bool make_room();
  void note(const std::string& handler, const Outcome& outcome);

  net::Loop& loop_;
  HttpProcessorOptions options_;
  bool canceled_ = false;
  std::unordered_set<Call*> calls_;
  std::map<std::string, KeptClient> clients_;  // by authority
  std::uint64_t uses_ = 0;
  std::map<std::string, Trouble> troubles_;  // by handler
};

void HttpProcessor::Core::process(Work work, Answered answered) {
  if (canceled_) return answered({.kind = Outcome::Kind::Canceled});
  auto address = parse_handler(work.handler);
  if (!address) {
    const Outcome outcome = Outcome::failed(address.error().message());
    note(work.handler, outcome);
    return answered(outcome);
  }
  std::string handler = work.handler;
  const auto call = std::make_shared<Call>(
      loop_, std::move(handler),
      request_for(std::move(work), std::move(address->target), options_.answer_ms));
  calls_.insert(call.get());
  loop_.spawn("http_processor.call",
              run(shared_from_this(), call, client_for(address->endpoint), std::move(answered)));
}

// The client cannot be interrupted, so the fetch goes on alone where nobody waits for it any more:
// until its own deadlines, or with the loop.
net::Task<> HttpProcessor::Core::run(std::shared_ptr<Core> core, CallPtr call, ClientPtr client,
                                     Answered answered) {
  const net::Instant deadline = net::in_ms(core->options_.answer_ms);
  core->loop_.spawn("http_processor.fetch", fetch(call, std::move(client)));
  net::WaitEnd end = net::WaitEnd::Notified;
  while (!call->response && !core->canceled_ && end != net::WaitEnd::TimedOut) {
    end = co_await call->ended.wait(deadline);
  }
  core->calls_.erase(call.get());
  Outcome outcome = core->outcome_of(*call);
  core->note(call->handler, outcome);
  answered(std::move(outcome));
}

net::Task<> HttpProcessor::Core::fetch(CallPtr call, ClientPtr client) {
  net::Request request = std::move(call->request);
  auto response = co_await client->fetch(std::move(request), kReplyBytesMax);
  call->response.emplace(std::move(response));
  call->ended.notify_all();
}

Outcome HttpProcessor::Core::outcome_of(const Call& call) const {
  // An answer that came in time counts, even if we are told to stop in the same instant.
  if (call.response && call.response->ok()) return read_reply(**call.response);
  if (canceled_) return {.kind = Outcome::Kind::Canceled};
  if (call.response) return transport_failure(call.handler, call.response->error());
  const Error late{Errc::Timeout, fmt::format("no answer within {} ms", options_.answer_ms)};
  return transport_failure(call.handler, late);
}

HttpProcessor::Core::ClientPtr HttpProcessor::Core::client_for(const net::Endpoint& endpoint) {
  const std::string authority = endpoint.authority();
  const auto kept = clients_.find(authority);
  if (kept != clients_.end()) {
    kept->second.used = ++uses_;
    return kept->second.client;
  }
  net::ClientOptions options;
  options.connect_ms = options_.connect_ms;
  options.first_byte_ms = options_.answer_ms;
  options.stall_ms = options_.answer_ms;
  options.idle_ms = kIdleMs;
  options.idle_max = kIdleConnectionsMax;
  auto client = std::make_shared<net::Client>(loop_, endpoint, options);
  if (make_room()) clients_[authority] = {client, ++uses_};
  return client;
}

// Lets the client go that was idle for longest; false where all are busy: then one more is used
// once and not kept.
bool HttpProcessor::Core::make_room() {
  if (clients_.size() < kClientsMax) return true;
  auto oldest = clients_.end();
  for (auto it = clients_.begin(); it != clients_.end(); ++it) {
    const bool idle = it->second.client.use_count() == 1;
    if (idle && (oldest == clients_.end() || it->second.used < oldest->second.used)) oldest = it;
  }
  if (oldest == clients_.end()) return false;
  clients_.erase(oldest);
  return true;
}

void HttpProcessor::Core::note(const std::string& handler, const Outcome& outcome) {
  if (outcome.kind == Outcome::Kind::Moved) troubles_.erase(handler);
  if (outcome.kind != Outcome::Kind::Failed) return;
  if (troubles_.size() >= kHandlersRememberedMax && !troubles_.contains(handler)) {
    troubles_.erase(std::min_element(
        troubles_.begin(), troubles_.end(),
        [](const auto& a, const auto& b) { return a.second.at_us < b.second.at_us; }));
  }
  troubles_[handler] = {outcome.error, io::system_clock().monotonic_us()};
}

std::map<std::string, std::string> HttpProcessor::Core::trouble() const {
  const std::int64_t since_us = io::system_clock().monotonic_us() - options_.trouble_ms * 1000;
  std::map<std::string, std::string> recent;
  for (const auto& [handler, trouble] : troubles_) {
    if (trouble.at_us >= since_us) recent[handler] = trouble.message;
  }
  return recent;
}

void HttpProcessor::Core::cancel() {
  canceled_ = true;
  for (Call* call : calls_) call->ended.notify_all();
}

HttpProcessor::HttpProcessor(net::Loop& loop, HttpProcessorOptions options)
    : core_(std::make_shared<Core>(loop, options)) {}

HttpProcessor::~HttpProcessor() {
  core_->cancel();
}

void HttpProcessor::process(Work work, Answered answered) {
  core_->process(std::move(work), std::move(answered));
}

void HttpProcessor::cancel() {
  core_->cancel();
}

std::map<std::string, std::string> HttpProcessor::trouble() const {
  return core_->trouble();
}

}  // namespace quern::queue
