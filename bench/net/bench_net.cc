// Question: what does HTTP cost over bare sockets: per request, and per byte of a body?
// Expect: with one connection both are bound by the round trip between two threads, so the server
// comes near the bare loop (0.7 or better); with many connections the bare loop does nothing but
// system calls, and parsing, coroutines and headers show (0.4 or better). Our client costs about
// what the server costs. Bodies go through at 0.7 of a raw copy or better, chunked or not: per 64
// KiB there is one read and no copy that a raw socket does not have.
//
// Two threads on loopback TCP: the server's and the client's. Requests carry the headers of a Go
// worker, answers a few bytes. Rounds of all cases are interleaved; the median ratio and rate are
// reported.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <string_view>
#include <vector>

#include "bench/net/bare.h"
#include "net/client.h"
#include "net/loop.h"
#include "net/server.h"

namespace quern::bench {
namespace {

using net::Exchange;
using net::Task;

constexpr char kRequest[] =
    "POST /Archive HTTP/1.1\r\nHost: 127.0.0.1:9032\r\nUser-Agent: Go-http-client/1.1\r\n"
    "Content-Length: 0\r\nContent-Type: text/plain\r\nAccept-Encoding: gzip\r\n\r\n";
constexpr std::size_t kPieceBytes = 64 * 1024;
constexpr double kMegabyte = 1e6;

struct Plan {
  double seconds = 1.0;
  int rounds = 5;
  std::uint64_t body_bytes = 1'000'000'000;
};

Task<Result<>> count_body(Exchange& exchange) {
  exchange.limit_body(UINT64_MAX);
  std::vector<char> buffer(kPieceBytes);
  for (;;) {
    CO_TRY_ASSIGN(const std::size_t n, co_await exchange.read(buffer));
    if (n == 0) break;
  }
  co_return co_await exchange.respond(net::text_response(200, "ok"));
}

Task<Result<>> send_body(Exchange& exchange, std::uint64_t bytes,
                         std::optional<std::uint64_t> length) {
  const std::string piece(kPieceBytes, 'x');
  CO_TRY(co_await exchange.start(net::ResponseHead{}, length));
  while (bytes > 0) {
    const std::string_view part = std::string_view(piece).substr(0, bytes);
    CO_TRY(co_await exchange.write(part));
    bytes -= part.size();
  }
  co_return co_await exchange.finish();
}

Task<Result<>> handle(const Plan* plan, Exchange& exchange) {
  const std::string& target = exchange.request().target;
  if (target == "/count") return count_body(exchange);
  if (target == "/chunked") return send_body(exchange, plan->body_bytes, std::nullopt);
  if (target == "/sized") return send_body(exchange, plan->body_bytes, plan->body_bytes);
  return exchange.respond(net::text_response(200, "ok"));
}

class ServerThread {
 public:
  explicit ServerThread(const Plan* plan) {
    net::ServerOptions options;
    options.listen = {*net::Endpoint::parse("127.0.0.1:0")};
    auto opened = net::Server::open(loop_, options,
                                    [plan](Exchange& exchange) { return handle(plan, exchange); });
    CHECK_OK(opened);
    endpoint_ = opened->endpoints()[0];
    server_ = std::make_unique<net::Server>(*std::move(opened));
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~ServerThread() {
    loop_.stop();
    thread_.join();
  }
  const net::Endpoint& endpoint() const { return endpoint_; }

 private:
  net::Loop loop_;
  net::Endpoint endpoint_;
  std::unique_ptr<net::Server> server_;
  std::thread thread_;
};

struct Fetching {
  net::Client* client;
  net::Instant end;
  std::uint64_t answers = 0;
  int running = 0;
};

Task<> fetch_until(net::Loop* loop, Fetching* fetching) {
  while (std::chrono::steady_clock::now() < fetching->end) {
    net::Request request = net::post_request("/Archive", "", "text/plain");
    request.headers.set("User-Agent", "Go-http-client/1.1");
    request.headers.set("Accept-Encoding", "gzip");
    const auto response = co_await fetching->client->fetch(std::move(request), 1000);
    CHECK_OK(response);
    ++fetching->answers;
  }
  if (--fetching->running == 0) loop->stop();
}

double client_rate(const net::Endpoint& endpoint, int connections, double seconds) {
  net::Loop loop;
  net::ClientOptions options;
  options.idle_max = static_cast<std::size_t>(connections);
  net::Client client(loop, endpoint, options);
  Fetching fetching{&client, net::in_ms(static_cast<std::int64_t>(seconds * 1000)), 0, connections};
  for (int i = 0; i < connections; ++i) loop.spawn("fetch", fetch_until(&loop, &fetching));
  const auto begin = std::chrono::steady_clock::now();
  loop.run();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  return static_cast<double>(fetching.answers) / elapsed.count();
}

Task<Result<std::size_t>> produce(std::uint64_t* left, std::span<char> buffer) {
  const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(*left, buffer.size()));
  *left -= bytes;
  co_return bytes;
}

double upload_rate(const net::Endpoint& endpoint, const Plan& plan,
                   std::optional<std::uint64_t> length) {
  net::Loop loop;
  net::Client client(loop, endpoint, {});
  std::uint64_t left = plan.body_bytes;
  net::Request request;
  request.method = net::Method::Put;
  request.target = "/count";
  request.producer = [&left](std::span<char> buffer) { return produce(&left, buffer); };
  request.producer_bytes = length;
  const auto begin = std::chrono::steady_clock::now();
  CHECK_OK(loop.run_until(client.fetch(std::move(request), 1000)));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  return static_cast<double>(plan.body_bytes) / elapsed.count();
}

Task<Result<std::uint64_t>> read_whole(net::Client* client, std::string target) {
  net::Sent sent = co_await client->send(net::get_request(std::move(target)));
  if (!sent.answer) co_return std::move(sent.answer).error();
  std::vector<char> buffer(kPieceBytes);
  std::uint64_t total = 0;
  for (;;) {
    CO_TRY_ASSIGN(const std::size_t n, co_await sent.answer->read(buffer));
    if (n == 0) co_return total;
    total += n;
  }
}

double download_rate(const net::Endpoint& endpoint, const Plan& plan, std::string target) {
  net::Loop loop;
  net::Client client(loop, endpoint, {});
  const auto begin = std::chrono::steady_clock::now();
  const auto bytes = loop.run_until(read_whole(&client, std::move(target)));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  CHECK_OK(bytes);
  CHECK(*bytes == plan.body_bytes);
  return static_cast<double>(plan.body_bytes) / elapsed.count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Case {
  std::string name;
  std::string unit;
  std::vector<double> rates;
  std::vector<double> limits;

  void add(double rate, double limit) {
    rates.push_back(rate);
    limits.push_back(limit);
  }
  double ratio() const {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < rates.size(); ++i) ratios.push_back(rates[i] / limits[i]);
    return median(ratios);
  }
};

class Cases {
 public:
  Case& at(const std::string& name, const std::string& unit) {
    for (Case& one : cases_) {
      if (one.name == name) return one;
    }
    return cases_.emplace_back(Case{name, unit, {}, {}});
  }
  void print_table() const {
    fmt::print("{:<44} {:>12} {:>12} {:>6}\n", "measure", "net", "bare", "ratio");
    for (const Case& one : cases_) {
      fmt::print("{:<44} {:>12.0f} {:>12.0f} {:>6.2f}\n", one.name + ", " + one.unit,
                 median(one.rates), median(one.limits), one.ratio());
    }
  }
  void print_json() const {
    for (const Case& one : cases_) {
      fmt::print(
          R"({{"measure":"{}","unit":"{}","net":{:.0f},"bare":{:.0f},"ratio":{:.3f},"rounds":{}}})"
          "\n",
          one.name, one.unit, median(one.rates), median(one.limits), one.ratio(), one.rates.size());
    }
  }

 private:
  std::vector<Case> cases_;
};

void measure_requests(const Plan& plan, const ServerThread& server, const EchoServer& echo,
                      std::size_t response_bytes, Cases& cases) {
  for (const int connections : {1, 8, 64}) {
    const PingPong ping{kRequest, response_bytes, connections, plan.seconds};
    const double limit = ping_pong_rate(echo.endpoint(), ping);
    const std::string suffix = fmt::format(", {} connections", connections);
    cases.at("server" + suffix, "requests/s").add(ping_pong_rate(server.endpoint(), ping), limit);
    cases.at("server and client" + suffix, "requests/s")
        .add(client_rate(server.endpoint(), connections, plan.seconds), limit);
  }
}

void measure_bodies(const Plan& plan, const ServerThread& server, Cases& cases) {
  const double limit = copy_rate(kPieceBytes, plan.seconds) / kMegabyte;
  const auto add = [&](const char* name, double rate) {
    cases.at(name, "MB/s").add(rate / kMegabyte, limit);
  };
  add("upload, known length", upload_rate(server.endpoint(), plan, plan.body_bytes));
  add("upload, chunked", upload_rate(server.endpoint(), plan, std::nullopt));
  add("download, known length", download_rate(server.endpoint(), plan, "/sized"));
  add("download, chunked", download_rate(server.endpoint(), plan, "/chunked"));
}

int run(const Plan& plan, bool as_json) {
  const ServerThread server(&plan);
  const std::size_t response_bytes = probe_response(server.endpoint(), kRequest);
  const EchoServer echo(sizeof kRequest - 1, std::string(response_bytes, 'r'));
  Cases cases;
  for (int round = 0; round < plan.rounds; ++round) {
    measure_requests(plan, server, echo, response_bytes, cases);
    measure_bodies(plan, server, cases);
  }
  as_json ? cases.print_json() : cases.print_table();
  return 0;
}

}  // namespace
}  // namespace quern::bench

int main(int argc, char** argv) {
  quern::bench::Plan plan;
  bool as_json = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--smoke") == 0) {
      plan = {0.1, 1, 50'000'000};
    } else if (std::strcmp(argv[i], "--json") == 0) {
      as_json = true;
    } else {
      fmt::print(stderr, "usage: bench_net [--smoke] [--json]\n");
      return 2;
    }
  }
  return quern::bench::run(plan, as_json);
}
