// How a lane sends what a child makes: one multipart POST, as long as the child runs.
#include <fmt/format.h>

#include "base/crash.h"
#include "base/log.h"
#include "worker/lane.h"

namespace quern::worker {

using model::ErrorKind;

namespace {

constexpr std::size_t kFirstBytes = 64 * 1024;
constexpr std::size_t kAnswerBytesMax = 64 * 1024;

std::string json_of(const Failure& failure, bool again) {
  return fmt::format(R"({{"kind":"{}","message":"{}","again":{}}})", model::to_string(failure.kind),
                     json_escaped(failure.message), again);
}

// What the broker says behind the child's parts.
std::string last_parts(const std::string& boundary, const RunEnd& end) {
  std::string text;
  if (!end.note.empty()) text += part_text(boundary, "note", end.note);
  text += part_text(boundary, "cost", end.cost.json());
  text += end.failure ? part_text(boundary, "failure", json_of(*end.failure, false))
                      : part_text(boundary, "done", "");
  return text + closing(boundary);
}

// The body of one POST: the child's bytes, then the last parts.
struct Body {
  HeldTask held;
  std::string boundary;
  net::Event* changed;
  std::string pending;   // read already, or the last parts
  std::size_t sent = 0;  // of pending
  std::optional<RunEnd> end;

  std::size_t piece_bytes_max = 0;  // so much at a time; for tests that kill between pieces

  std::span<char> piece_of(std::span<char> buffer) const {
    crash_point("worker.piece.sent");
    return buffer.first(std::min(buffer.size(), piece_bytes_max));
  }
  std::size_t take(std::span<char> whole) {
    const std::span<char> buffer = piece_of(whole);
    const std::size_t n = std::min(buffer.size(), pending.size() - sent);
    std::memcpy(buffer.data(), pending.data() + sent, n);
    sent += n;
    return n;
  }
  bool cut() const { return held->gone || (end && end->seen_by_box); }
};

// Reads on to the child's end, once its output is used up.
net::Task<> conclude(std::shared_ptr<Body> body) {
  body->end = co_await body->held->run->finish();
  body->held->box_free = true;
  body->changed->notify_all();
  if (body->cut()) co_return;
  body->pending = last_parts(body->boundary, *body->end);
  body->sent = 0;
}

net::Task<Result<std::size_t>> produce(std::shared_ptr<Body> body, std::span<char> buffer) {
  if (body->sent < body->pending.size()) co_return body->take(buffer);
  if (body->end) co_return std::size_t{0};
  const std::size_t n = co_await body->held->run->read(body->piece_of(buffer));
  if (n > 0) co_return n;
  co_await conclude(body);
  // Cut: what was sent last must not look whole.
  if (body->cut()) co_return Error{Errc::Canceled, "the child has died"};
  co_return body->take(buffer);
}

// Nobody takes its output any more.
net::Task<> throw_away(std::shared_ptr<Body> body) {
  if (body->end) co_return;
  body->held->run->kill({ErrorKind::Canceled, "the connection broke"});
  std::string buffer(kFirstBytes, '\0');
  while (co_await body->held->run->read(buffer) > 0) {
  }
  body->held->gone = true;
  co_await conclude(body);
}

}  // namespace

net::Request Lane::authorized(net::Request request) const {
  if (!options_.token.empty()) {
    request.headers.set("Authorization", basic_authorization("worker", options_.token));
  } else if (!lines_.server().authorization.empty()) {
    request.headers.set("Authorization", lines_.server().authorization);
  }
  return request;
}

net::Task<> Lane::send(std::shared_ptr<Lane> self, HeldTask held, std::string boundary) {
  co_await self->send_parts(held, std::move(boundary));
  self->settle(held);
  --self->coroutines_;
  self->changed_.notify_all();
}

// The connection is opened with the first byte: a child that dies before leaves none to cut.
net::Task<> Lane::send_parts(HeldTask held, std::string boundary) {
  const auto body = std::make_shared<Body>();
  body->held = held;
  body->boundary = std::move(boundary);
  body->changed = &changed_;
  body->piece_bytes_max = options_.piece_bytes_max;
  body->pending.resize(kFirstBytes);
  body->pending.resize(co_await held->run->read(body->pending));
  if (body->pending.empty()) co_await conclude(body);
  auto place = lines_.find(held->task.url, Purpose::Fragments, held->slot);
  if (!place) held->gone = true;
  if (!body->cut()) {
    net::Request request = net::post_request(place->target, "", "");
    request.headers.set("Content-Type",
                        fmt::format("multipart/form-data; boundary=\"{}\"", body->boundary));
    request.producer = [body](std::span<char> buffer) { return produce(body, buffer); };
    const auto answer =
        co_await place->line->fetch(authorized(std::move(request)), kAnswerBytesMax);
    if (!body->cut()) tell_refusal(answer);
  }
  co_await throw_away(body);
  if (held->gone || !body->end->seen_by_box) co_return;
  co_await tell_failure(held, *body->end->failure, true);
}

net::Task<> Lane::tell_failure(HeldTask held, Failure failure, bool again) {
  log_info(
      "steps.failure",
      {{"step", step_}, {"kind", model::to_string(failure.kind)}, {"message", failure.message}});
  co_await post(held, "/failure", json_of(failure, again));
}

net::Task<> Lane::post(HeldTask held, std::string suffix, std::string json) {
  auto place = lines_.find(held->task.url, Purpose::Fragments, held->slot);
  if (!place) co_return;
  net::Request request =
      net::post_request(place->target + suffix, std::move(json), "application/json");
  const auto answer = co_await place->line->fetch(authorized(std::move(request)), kAnswerBytesMax);
  tell_refusal(answer);
}

// The server will lend the file again; 404 says that it has an end already.
void Lane::tell_refusal(const Result<net::Response>& answer) const {
  if (!answer) {
    log_warn("steps.send", {{"step", step_}, {"error", answer.error().message()}});
  } else if (answer->status >= 300 && answer->status != 404) {
    log_warn("steps.refused", {{"step", step_}, {"status", answer->status}});
  }
}

}  // namespace quern::worker
