// A server for tests of net's limits: run as a process of its own, so that its memory can be
// measured.
//
//   PUT  /unread    reads nothing until POST /release, then counts the body
//   PUT  /count     counts the body          GET /bytes?n=N  answers with N bytes in chunks
//   GET  /poll      waits for POST /notify   GET /hello      answers at once
//   GET  /waiting   how many polls wait
// Prints "listening HOST:PORT" and runs until killed.
#include <fmt/format.h>

#include <cstdio>
#include <vector>

#include "net/head_parser.h"
#include "net/loop.h"
#include "net/server.h"
#include "net/target.h"

namespace quern::net {
namespace {

struct Events {
  explicit Events(Loop& loop) : release(loop), notify(loop) {}
  Event release;
  Event notify;
};

Task<Result<>> count(Exchange& exchange) {
  exchange.limit_body(UINT64_MAX);
  std::vector<char> buffer(64 * 1024);
  std::uint64_t bytes = 0;
  std::uint64_t sum = 0;
  for (;;) {
    CO_TRY_ASSIGN(const std::size_t n, co_await exchange.read(buffer));
    if (n == 0) break;
    bytes += n;
    for (std::size_t i = 0; i < n; ++i) sum += static_cast<unsigned char>(buffer[i]);
  }
  co_return co_await exchange.respond(text_response(200, fmt::format("{} {}", bytes, sum)));
}

Task<Result<>> send_bytes(Exchange& exchange, std::uint64_t bytes) {
  const std::string piece(64 * 1024, 'b');
  CO_TRY(co_await exchange.start(ResponseHead{}, std::nullopt));
  while (bytes > 0) {
    const std::string_view part = std::string_view(piece).substr(0, bytes);
    CO_TRY(co_await exchange.write(part));
    bytes -= part.size();
  }
  co_return co_await exchange.finish();
}

Task<Result<>> handle(Events* events, Exchange& exchange) {
  CO_TRY_ASSIGN(const Target target, parse_target(exchange.request().target));
  const std::string what = target.segments.empty() ? "" : target.segments[0];
  if (what == "count") co_return co_await count(exchange);
  if (what == "unread") {
    (void)co_await events->release.wait();
    co_return co_await count(exchange);
  }
  if (what == "poll") (void)co_await exchange.wait(events->notify, kNever);
  if (what == "bytes") co_return co_await send_bytes(exchange, *parse_decimal(*target.find("n")));
  if (what == "release") events->release.notify_all();
  if (what == "notify") events->notify.notify_all();
  const std::string text = what == "waiting" ? std::to_string(events->notify.waiters()) : "ok";
  co_return co_await exchange.respond(text_response(200, text));
}

int serve() {
  Loop loop;
  Events events(loop);
  ServerOptions options;
  options.listen = {*Endpoint::parse("127.0.0.1:0")};
  auto server =
      Server::open(loop, options, [&](Exchange& exchange) { return handle(&events, exchange); });
  if (!server) {
    fmt::print(stderr, "{}\n", server.error().message());
    return 3;
  }
  fmt::print("listening {}\n", server->endpoints()[0].to_string());
  std::fflush(stdout);
  loop.run();
  return 0;
}

}  // namespace
}  // namespace quern::net

int main() {
  return quern::net::serve();
}
