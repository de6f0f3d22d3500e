// resume_handler: the handler of the résumé example. Quern calls it for each item of a partition.
//
//   gate 0  classify   {"resume": "…", "of": N}  ->  gate 1, with a score made of the text alone
//   gate 1  rank       when all N are classified  ->  gate 2, with a rank among all of them
//   gate 2  write      a letter to each: the ten best are hired  ->  done
//
// No résumé can be ranked before all are classified. The handler does not wait for that: Quern
// opens gate 1 when nothing is left at gate 0. It only looks, and records a violation if it was
// called too early.
//
// Quern may call it twice for the same step (a process died before the answer was stored). Both
// calls have the same Idempotency-Key; the second one does nothing and gets the same answer.
//
// With --lines it makes the items instead: a JSON line for each file, as `quern item put --lines`
// takes them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <cctype>
#include <cstdio>
#include <filesystem>

#include "io/file.h"
#include "net/head_parser.h"
#include "net/loop.h"
#include "net/server.h"
#include "resumes/effects.h"

namespace resumes {
namespace {

namespace json = boost::json;
namespace net = quern::net;
using quern::Errc;
using quern::Error;
using quern::Result;

constexpr std::size_t kBodyBytesMax = 1024 * 1024;
constexpr std::int64_t kHired = 10;
constexpr std::int64_t kClassify = 0;
constexpr std::int64_t kRank = 1;
constexpr std::int64_t kWrite = 2;

struct Keyword {
  std::string_view word;
  std::int64_t worth;
};
constexpr Keyword kKeywords[] = {{"database", 5}, {"c++", 5},      {"compiler", 4}, {"linux", 3},
                                 {"python", 2},   {"teach", 2},    {"team", 1},     {"write", 1},
                                 {"year", 1},     {"volunteer", 1}};

struct Options {
  std::string listen = "127.0.0.1:0";
  std::string effects;
  std::int64_t slow_ms = 0;
  std::vector<std::string> lines;  // files; instead of serving
};

struct Handler {
  net::Loop& loop;
  Effects& effects;
  std::int64_t slow_ms;
};

struct Call {
  Effect effect;  // its result is found out
  json::object data;
};

std::int64_t count(std::string_view text, std::string_view word) {
  std::int64_t found = 0;
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    ++found;
  }
  return found;
}

std::int64_t score_of(std::string_view resume) {
  std::string text(resume);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::int64_t score = 0;
  for (const Keyword& keyword : kKeywords) score += keyword.worth * count(text, keyword.word);
  return score;
}

// From 1; of two with the same score the one whose name comes first.
std::int64_t rank_of(const std::map<std::string, std::int64_t>& scores, const std::string& item) {
  const std::int64_t own = scores.at(item);
  std::int64_t rank = 1;
  for (const auto& [name, score] : scores) {
    if (score > own || (score == own && name < item)) ++rank;
  }
  return rank;
}

Result<std::int64_t> number_in(const json::object& data, std::string_view field) {
  const json::value* value = data.if_contains(field);
  if (value != nullptr && value->is_int64()) return value->get_int64();
  return Error{Errc::Invalid, fmt::format("the item has no number '{}'", field)};
}

Result<Call> read_call(const net::RequestHead& head, const std::string& body) {
  const std::string* key = head.headers.find("Idempotency-Key");
  const std::string* item = head.headers.find("Quern-Item");
  const std::string* gate = head.headers.find("Quern-Gate");
  if (key == nullptr || item == nullptr || gate == nullptr || !net::parse_decimal(*gate)) {
    return Error{Errc::Invalid, "this is no call of Quern: its headers are missing"};
  }
  boost::system::error_code failed;
  const json::value data = json::parse(body, failed);
  if (failed || !data.is_object()) return Error{Errc::Invalid, "the item is no JSON object"};
  const auto number = static_cast<std::int64_t>(*net::parse_decimal(*gate));
  return Call{{*key, *item, number, 0}, data.get_object()};
}

Result<std::int64_t> classify(const Call& call) {
  const json::value* resume = call.data.if_contains("resume");
  if (resume == nullptr || !resume->is_string()) {
    return Error{Errc::Invalid, "the item has no text 'resume'"};
  }
  return score_of(resume->get_string());
}

Result<std::int64_t> rank(Effects& effects, const Call& call) {
  TRY_ASSIGN(const std::int64_t wanted, number_in(call.data, "of"));
  const auto& scores = effects.scores(partition_of(call.effect.key));
  const auto classified = static_cast<std::int64_t>(scores.size());
  if (classified >= wanted && scores.contains(call.effect.item)) {
    return rank_of(scores, call.effect.item);
  }
  TRY(effects.record_violation(call.effect));
  return Error{Errc::Conflict, fmt::format("ranked too early: {} of {} résumés are classified",
                                           classified, wanted)};
}

Result<std::int64_t> find_result(Effects& effects, const Call& call) {
  switch (call.effect.gate) {
    case kClassify:
      return classify(call);
    case kRank:
      return rank(effects, call);
    case kWrite: {
      TRY_ASSIGN(const std::int64_t own_rank, number_in(call.data, "rank"));
      return own_rank <= kHired ? 1 : 0;
    }
    default:
      return Error{Errc::Invalid, fmt::format("there is no gate {}", call.effect.gate)};
  }
}

std::string answer_to(Call call) {
  switch (call.effect.gate) {
    case kClassify:
      call.data["score"] = call.effect.result;
      return json::serialize(json::object{{"gate", kRank}, {"data", std::move(call.data)}});
    case kRank:
      call.data["rank"] = call.effect.result;
      return json::serialize(json::object{{"gate", kWrite}, {"data", std::move(call.data)}});
    default:
      call.data["hired"] = call.effect.result == 1;
      return json::serialize(json::object{{"done", true}, {"data", std::move(call.data)}});
  }
}

// The answer's body. What is done is on the disk when it returns.
Result<std::string> work(Effects& effects, Call call) {
  if (const auto before = effects.find(call.effect.key)) {
    call.effect = *before;
    return answer_to(std::move(call));
  }
  TRY_ASSIGN(call.effect.result, find_result(effects, call));
  TRY(effects.record(call.effect));
  return answer_to(std::move(call));
}

std::string error_body(const Error& error) {
  const json::object details{{"message", error.message()},
                             {"no_retry", !quern::is_retryable(error.kind())}};
  return json::serialize(json::object{{"error", details}});
}

net::Task<Result<>> handle(const Handler* handler, net::Exchange& exchange) {
  CO_TRY_ASSIGN(const std::string body, co_await exchange.read_all(kBodyBytesMax));
  auto call = read_call(exchange.request(), body);
  const Result<std::string> answer =
      call ? work(handler->effects, *std::move(call)) : Result<std::string>(call.error());
  // Between the effect and the answer, where a death costs most.
  if (handler->slow_ms > 0) co_await handler->loop.sleep_until(net::in_ms(handler->slow_ms));
  const std::string text = answer ? *answer : error_body(answer.error());
  co_return co_await exchange.respond(net::json_response(200, text));
}

Result<> serve(const Options& options) {
  TRY_ASSIGN(Effects effects, Effects::open(options.effects));
  TRY_ASSIGN(const net::Endpoint endpoint, net::Endpoint::parse(options.listen));
  net::Loop loop;
  const Handler handler{loop, effects, options.slow_ms};
  net::ServerOptions server_options;
  server_options.listen = {endpoint};
  server_options.body_bytes_max = kBodyBytesMax;
  TRY_ASSIGN(const net::Server server,
             net::Server::open(loop, server_options, [&handler](net::Exchange& exchange) {
               return handle(&handler, exchange);
             }));
  std::printf("listening on http://%s\n", server.endpoints().at(0).to_string().c_str());
  std::fflush(stdout);
  loop.run();
  return {};
}

Result<> print_lines(const Options& options) {
  for (const std::string& path : options.lines) {
    TRY_ASSIGN(const std::string text, quern::io::read_file(path, kBodyBytesMax));
    const json::object data{{"resume", text}, {"of", options.lines.size()}};
    const json::object item{{"item", std::filesystem::path(path).stem().string()}, {"data", data}};
    std::printf("%s\n", json::serialize(item).c_str());
  }
  if (std::fflush(stdout) == 0) return {};
  return Error{Errc::Unavailable, "the lines could not be written"};
}

}  // namespace
}  // namespace resumes

int main(int argc, char** argv) {
  resumes::Options options;
  CLI::App app("The handler of the résumé example: classifies, ranks and answers résumés.");
  app.add_option("--listen", options.listen, "HOST:PORT; port 0 takes a free one")
      ->capture_default_str();
  CLI::Option* effects =
      app.add_option("--effects", options.effects, "The file that keeps what was done");
  app.add_option("--slow-ms", options.slow_ms, "How long each call takes")->capture_default_str();
  app.add_option("--lines", options.lines, "Print the items of these résumés instead of serving")
      ->type_name("FILE")
      ->excludes(effects);
  CLI11_PARSE(app, argc, argv);
  if (options.effects.empty() && options.lines.empty()) {
    std::fprintf(stderr, "one of --effects and --lines is needed\n");
    return 2;
  }
  const quern::Result<> done =
      options.lines.empty() ? resumes::serve(options) : resumes::print_lines(options);
  if (done.ok()) return 0;
  std::fprintf(stderr, "%s\n", done.error().message().c_str());
  return 3;
}
