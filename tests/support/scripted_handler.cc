#include "support/scripted_handler.h"

#include <algorithm>
#include <future>

#include "net/head_parser.h"
#include "net/target.h"

namespace quern::support {
namespace {

constexpr std::chrono::seconds kPatience{60};
constexpr std::size_t kBodyBytesMax = 16 * 1024 * 1024;

std::string header_of(const net::RequestHead& head, std::string_view name) {
  const std::string* value = head.headers.find(name);
  return value == nullptr ? "" : *value;
}

std::string decoded(const std::string& text) {
  return net::percent_decoded(text, net::Plus::IsPlus).value_or(text);
}

std::int64_t number_of(const std::string& text) {
  return static_cast<std::int64_t>(net::parse_decimal(text).value_or(0));
}

}  // namespace

HandlerReply answer(std::string json) {
  return answer(net::json_response(200, std::move(json)));
}

HandlerReply answer(net::Response response) {
  HandlerReply reply;
  reply.response = std::move(response);
  return reply;
}

HandlerReply held(HandlerReply reply) {
  reply.when = HandlerReply::When::Released;
  return reply;
}

ScriptedHandler::ScriptedHandler(Script script)
    : script_(std::move(script)),
      endpoint_(*net::Endpoint::parse("127.0.0.1:0")),
      released_(loop_) {
  open();
  thread_ = std::thread([this] { loop_.run(); });
}

ScriptedHandler::~ScriptedHandler() {
  stop();
  loop_.stop();
  thread_.join();
}

void ScriptedHandler::open() {
  net::ServerOptions options;
  options.listen = {endpoint_};
  auto opened = net::Server::open(loop_, std::move(options), [this](net::Exchange& exchange) {
    return handle(this, exchange);
  });
  CHECK_OK(opened);
  server_ = std::make_unique<net::Server>(*std::move(opened));
  endpoint_ = server_->endpoints().at(0);
  address_ = "http://" + endpoint_.to_string() + "/work";
}

template <class Function>
void ScriptedHandler::on_loop(Function function) {
  std::promise<void> done;
  loop_.post([&] {
    function();
    done.set_value();
  });
  done.get_future().get();
}

void ScriptedHandler::start() {
  on_loop([this] {
    CHECK(server_ == nullptr);
    open();
  });
}

void ScriptedHandler::stop() {
  on_loop([this] {
    server_.reset();
    // These answer into connections that were cut.
    released_.notify_all();
  });
}

void ScriptedHandler::release() {
  on_loop([this] { released_.notify_all(); });
}

HandlerCall ScriptedHandler::note_call(const net::RequestHead& head, std::string body) {
  HandlerCall call;
  call.partition = decoded(header_of(head, "Quern-Partition"));
  call.item = decoded(header_of(head, "Quern-Item"));
  call.gate = number_of(header_of(head, "Quern-Gate"));
  call.attempt = number_of(header_of(head, "Quern-Attempt"));
  call.idempotency_key = header_of(head, "Idempotency-Key");
  call.body = std::move(body);
  call.head = head;
  const std::lock_guard lock(mutex_);
  call.number = ++calls_[call.item];
  most_at_once_ = std::max(most_at_once_, ++under_way_);
  history_.push_back(call);
  changed_.notify_all();
  return call;
}

void ScriptedHandler::note_end() {
  const std::lock_guard lock(mutex_);
  --under_way_;
  changed_.notify_all();
}

net::Task<Result<>> ScriptedHandler::handle(ScriptedHandler* self, net::Exchange& exchange) {
  exchange.limit_body(kBodyBytesMax);
  CO_TRY_ASSIGN(std::string body, co_await exchange.read_all(kBodyBytesMax));
  const HandlerCall call = self->note_call(exchange.request(), std::move(body));
  HandlerReply reply = self->script_(call);
  if (reply.when == HandlerReply::When::Released) co_await self->released_.wait();
  // Before the answer is seen: whoever has it may rely on the count.
  self->note_end();
  co_return co_await exchange.respond(std::move(reply.response));
}

int ScriptedHandler::calls() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(history_.size());
}

int ScriptedHandler::calls(const std::string& item) const {
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find(item);
  return found == calls_.end() ? 0 : found->second;
}

int ScriptedHandler::under_way() const {
  const std::lock_guard lock(mutex_);
  return under_way_;
}

int ScriptedHandler::most_at_once() const {
  const std::lock_guard lock(mutex_);
  return most_at_once_;
}

std::vector<HandlerCall> ScriptedHandler::history() const {
  const std::lock_guard lock(mutex_);
  return history_;
}

template <class Condition>
bool ScriptedHandler::wait_until(Condition condition) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience, condition);
}

bool ScriptedHandler::wait_for_calls(int calls) const {
  return wait_until([&] { return static_cast<int>(history_.size()) >= calls; });
}

bool ScriptedHandler::wait_for_calls(const std::string& item, int calls) const {
  return wait_until([&] {
    const auto found = calls_.find(item);
    return found != calls_.end() && found->second >= calls;
  });
}

}  // namespace quern::support
