#include "bench/queue/child.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "base/log.h"
#include "bench/queue/rig.h"
#include "net/event.h"
#include "net/server.h"

namespace quern::bench {
namespace {

constexpr char kOwnerRole[] = "--owner";
constexpr char kHandlerRole[] = "--handler";
constexpr std::size_t kBodyBytesMax = 1024 * 1024;

void say(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

void say_called() {
  const auto at = now().time_since_epoch();
  say(fmt::format("called {}", std::chrono::duration_cast<std::chrono::microseconds>(at).count()));
}

class HangingProcessor final : public queue::Processor {
 public:
  void process(queue::Work /*work*/, queue::Answered answered) override {
    kept_.push_back(std::move(answered));
    say_called();
  }

 private:
  std::vector<queue::Answered> kept_;
};

std::shared_ptr<queue::Processor> make_work(OwnerOptions::Work work) {
  if (work == OwnerOptions::Work::Hang) return std::make_shared<HangingProcessor>();
  return queue::make_processor([](const queue::Work&) { return queue::Outcome::complete(); });
}

int run_owner(const OwnerOptions& options) {
  Rig rig({.url = options.url, .lanes = 1, .batch_ops_max = options.batch_ops_max});
  // As a server does that is alone with its folder.
  for (bool done = options.url.starts_with("postgres"); !done;) {
    const auto ended = rig.writer().run(rig.writer().control(), queue::end_all_owners);
    CHECK_OK(ended);
    done = *ended;
  }
  queue::EngineOptions engine{.lease_ms = options.lease_ms, .scan_ms = options.scan_ms};
  engine.in_flight_per_handler_max = kInFlightMax;
  engine.name = fmt::format("bench-{}", ::getpid());
  rig.start_engine({{kBenchKind, make_work(options.work)}}, engine);
  say("working");
  for (;;) ::pause();
}

net::Task<Result<>> never_answer(net::Event* never, net::Exchange& exchange) {
  CO_TRY(co_await exchange.read_all(kBodyBytesMax));
  say_called();
  (void)co_await never->wait();
  co_return Result<>{};
}

int run_handler() {
  net::Loop loop;
  net::Event never(loop);
  net::ServerOptions options;
  options.listen = {*net::Endpoint::parse("127.0.0.1:0")};
  auto server = net::Server::open(
      loop, options, [&](net::Exchange& exchange) { return never_answer(&never, exchange); });
  CHECK_OK(server);
  say(fmt::format("http://{}/work", server->endpoints()[0].to_string()));
  loop.run();
  return 0;
}

std::unique_ptr<support::Program> start(std::vector<std::string> arguments) {
  auto program = support::Program::start({"bench_queue", std::move(arguments)});
  CHECK_OK(program);
  return *std::move(program);
}

}  // namespace

std::unique_ptr<support::Program> start_owner(const OwnerOptions& options) {
  return start({kOwnerRole, options.url, std::to_string(options.batch_ops_max),
                std::to_string(options.lease_ms), std::to_string(options.scan_ms),
                options.work == OwnerOptions::Work::Hang ? "hang" : "complete"});
}

std::unique_ptr<support::Program> start_handler(std::string& address) {
  auto handler = start({kHandlerRole});
  const auto line = handler->wait_for_line(support::Output::Standard, "http://");
  CHECK_OK(line);
  address = *line;
  return handler;
}

Instant first_call(support::Program& child) {
  const auto line = child.wait_for_line(support::Output::Standard, "called ");
  CHECK_OK(line);
  const std::int64_t at_us = std::strtoll(line->c_str() + line->find(' '), nullptr, 10);
  return Instant(std::chrono::microseconds(at_us));
}

std::optional<int> run_child(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return std::nullopt;
  if (arguments[0] == kHandlerRole) return run_handler();
  if (arguments[0] != kOwnerRole) return std::nullopt;
  CHECK(arguments.size() == 6);
  OwnerOptions options;
  options.url = arguments[1];
  options.batch_ops_max = std::strtoull(arguments[2].c_str(), nullptr, 10);
  options.lease_ms = std::strtoll(arguments[3].c_str(), nullptr, 10);
  options.scan_ms = std::strtoll(arguments[4].c_str(), nullptr, 10);
  options.work = arguments[5] == "hang" ? OwnerOptions::Work::Hang : OwnerOptions::Work::Complete;
  return run_owner(options);
}

}  // namespace quern::bench
