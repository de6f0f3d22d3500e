// quern_test_site [--listen ADDRESS:PORT] [--log FILE] [--no-memory] [--fallback HOST]
//
// A web server of many virtual hosts, made for crawls: see hosts.cc for the hosts, host.h for their
// settings. It prints "listening ADDRESS:PORT" and runs until killed.
//
//   GET  /__log?since=N                   what was asked for, JSON lines, from request N on
//   POST /__set?host=H&key=K&value=V      a setting of a host
//   GET  /__expected?host=H[&authority=A] what a correct crawl of http://A/ (H where it is not
//   told)
//                                         fetches and keeps, as JSON
//   POST /__reset                         forgets the log, settings and tries
//   GET  /__hosts                         their names
// on any host; these are not logged.
#include <fmt/format.h>

#include <boost/json.hpp>
#include <cstdlib>

#include "base/check.h"
#include "net/loop.h"
#include "net/server.h"
#include "net/target.h"
#include "support/test_site/hosts.h"
#include "support/test_site/request_log.h"

namespace quern::test_site {
namespace {

constexpr std::size_t kPieceBytes = 64 * 1024;
constexpr std::size_t kChunkBytes = 1000;
constexpr std::uint64_t kPromisedMore = 1000;
constexpr std::int64_t kHangMs = 3'600'000;

struct Options {
  std::string listen = "127.0.0.1:0";
  std::string log;
  std::string fallback = "plain.test";
  bool keep = true;
};

class Site {
 public:
  Site(net::Loop& loop, const Options& options)
      : hosts_(options.fallback), log_(options.log, options.keep), never_(loop) {}

  net::Task<Result<>> handle(net::Exchange& exchange);

 private:
  net::Task<Result<>> control(net::Exchange& exchange, net::Target target);
  net::Task<Result<>> page(net::Exchange& exchange);
  net::Task<Result<>> send(net::Exchange& exchange, Answer answer);
  net::Task<Result<>> send_pieces(net::Exchange& exchange, const Answer& answer);
  std::string expected_json(const std::string& name, const std::string& authority);

  Hosts hosts_;
  RequestLog log_;
  net::Event never_;  // what hung and slow answers wait for, so that they see a client go
};

boost::json::array array_of(const std::set<std::string>& targets) {
  boost::json::array all;
  for (const std::string& target : targets) all.emplace_back(target);
  return all;
}

std::string Site::expected_json(const std::string& name, const std::string& authority) {
  const Expected expected = hosts_.at(name).expected(authority);
  boost::json::object json;
  json["host"] = name;
  json["fetched"] = array_of(expected.fetched);
  json["documents"] = array_of(expected.documents);
  json["maybe"] = array_of(expected.maybe);
  json["never"] = array_of(expected.never);
  boost::json::object& prefixes = json["prefixes_at_most"].emplace_object();
  for (const auto& [prefix, most] : expected.prefixes_at_most) prefixes[prefix] = most;
  boost::json::object& texts = json["texts"].emplace_object();
  for (const auto& [target, words] : expected.texts) texts[target] = words;
  return boost::json::serialize(json);
}

net::Task<Result<>> Site::control(net::Exchange& exchange, net::Target target) {
  const auto value = [&](const char* name) {
    const std::string* found = target.find(name);
    return found == nullptr ? std::string() : *found;
  };
  const std::string& what = target.segments[0];
  const bool post = exchange.request().method == net::Method::Post;
  net::Response response = net::text_response(404, "no such control");
  if (what == "__log") {
    const auto since = static_cast<std::size_t>(std::atoll(value("since").c_str()));
    response = net::text_response(200, log_.lines_since(since));
  } else if (what == "__expected") {
    const std::string authority = value("authority");
    response = net::json_response(
        200, expected_json(value("host"), authority.empty() ? value("host") : authority));
  } else if (what == "__hosts") {
    std::string names;
    for (const std::string& name : hosts_.names()) names += name + "\n";
    response = net::text_response(200, names);
  } else if (what == "__set" && post) {
    const bool known = hosts_.set(value("host"), value("key"), value("value"));
    response = net::text_response(known ? 200 : 404, known ? "set" : "no such host");
  } else if (what == "__reset" && post) {
    hosts_.reset();
    log_.clear();
    response = net::text_response(200, "reset");
  }
  co_return co_await exchange.respond(std::move(response));
}

net::Task<Result<>> Site::send_pieces(net::Exchange& exchange, const Answer& answer) {
  const std::size_t size =
      answer.manner == Manner::Chunked && answer.pieces == 0 ? kChunkBytes : kPieceBytes;
  for (std::size_t at = 0; at < answer.body.size(); at += size) {
    const std::string_view part = std::string_view(answer.body).substr(at, size);
    CO_TRY(co_await exchange.write(part));
  }
  for (std::uint64_t i = 0; i < answer.pieces; ++i) CO_TRY(co_await exchange.write(answer.piece));
  CO_TRY(co_await exchange.write(answer.tail));
  co_return Result<>{};
}

net::Task<Result<>> Site::send(net::Exchange& exchange, Answer answer) {
  if (answer.manner == Manner::Whole && answer.pieces == 0) {
    net::Response response;
    response.status = answer.status;
    response.headers = std::move(answer.headers);
    response.body = std::move(answer.body);
    co_return co_await exchange.respond(std::move(response));
  }
  net::ResponseHead head;
  head.status = answer.status;
  head.headers = answer.headers;
  std::optional<std::uint64_t> length = answer.size();
  if (answer.manner == Manner::Chunked) length.reset();
  if (answer.manner == Manner::Cut || answer.manner == Manner::Silent) *length += kPromisedMore;
  CO_TRY(co_await exchange.start(head, length));
  if (answer.manner != Manner::Silent) CO_TRY(co_await send_pieces(exchange, answer));
  if (answer.manner == Manner::Cut || answer.manner == Manner::Silent) {
    // The server cuts the connection of an answer that it cannot finish.
    co_return Error{Errc::Unavailable, "cut, as asked"};
  }
  co_return co_await exchange.finish();
}

net::Task<Result<>> Site::page(net::Exchange& exchange) {
  const net::RequestHead& request = exchange.request();
  const auto header = [&](const char* name) {
    const std::string* found = request.headers.find(name);
    return found == nullptr ? std::string() : *found;
  };
  Ask ask{request.method, header("Host"), request.target, request.headers};
  Host& host = hosts_.at(ask.authority);
  Answer answer = host.answer(ask);
  const bool answers = answer.manner != Manner::Silent && answer.manner != Manner::Hung;
  LoggedRequest logged;
  logged.host = host.name();
  logged.method = request.method_text;
  logged.target = ask.target;
  logged.status = answers ? answer.status : 0;
  logged.user_agent = header("User-Agent");
  logged.if_none_match = header("If-None-Match");
  logged.if_modified_since = header("If-Modified-Since");
  logged.accept_encoding = header("Accept-Encoding");
  const std::size_t number = log_.begin(std::move(logged));
  if (answer.manner == Manner::Hung) answer.delay_ms += kHangMs;
  if (answer.delay_ms > 0) {
    const net::Instant until =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(answer.delay_ms);
    (void)co_await exchange.wait(never_, until);
  }
  auto sent = co_await send(exchange, std::move(answer));
  log_.end(number);
  co_return sent;
}

net::Task<Result<>> Site::handle(net::Exchange& exchange) {
  if (exchange.request().target.starts_with("/__")) {
    CO_TRY_ASSIGN(net::Target target, net::parse_target(exchange.request().target));
    co_return co_await control(exchange, std::move(target));
  }
  co_return co_await page(exchange);
}

Options options_of(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--no-memory") {
      options.keep = false;
      continue;
    }
    CHECK(i + 1 < argc);
    const std::string value = argv[++i];
    if (name == "--listen")
      options.listen = value;
    else if (name == "--log")
      options.log = value;
    else if (name == "--fallback")
      options.fallback = value;
    else
      CHECK(name == "--help");
  }
  return options;
}

int serve(const Options& options) {
  net::Loop loop;
  Site site(loop, options);
  net::ServerOptions server_options;
  server_options.listen = {*net::Endpoint::parse(options.listen)};
  auto server = net::Server::open(loop, server_options,
                                  [&](net::Exchange& exchange) { return site.handle(exchange); });
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
}  // namespace quern::test_site

int main(int argc, char** argv) {
  return quern::test_site::serve(quern::test_site::options_of(argc, argv));
}
