// quern counter …, quern check
#include <fmt/format.h>
#include <sys/random.h>

#include <boost/json.hpp>
#include <exception>

#include "app/command.h"
#include "app/output.h"
#include "net/target.h"

namespace quern::app {
namespace {

namespace json = boost::json;

std::string random_key() {
  std::uint64_t bits[2];
  CHECK(::getrandom(bits, sizeof bits, 0) == sizeof bits);
  return fmt::format("{:016x}{:016x}", bits[0], bits[1]);
}

std::string counter_address(const std::string& name) {
  std::string target = "/api/v1/counters";
  net::append_segment(target, name);
  return target;
}

// The JSON of a 2xx answer; otherwise what the problem document says.
Result<json::value> parse_answer(const net::Response& answer) {
  boost::system::error_code failed;
  json::value body = json::parse(answer.body, failed);
  if (answer.status >= 200 && answer.status < 300 && !failed) return body;
  const json::object* problem = failed ? nullptr : body.if_object();
  const json::value* detail = problem == nullptr ? nullptr : problem->if_contains("detail");
  const std::string message = detail != nullptr && detail->is_string()
                                  ? std::string(detail->get_string())
                                  : fmt::format("the server answered {} {}", answer.status,
                                                net::reason_phrase(answer.status));
  const Errc kind = answer.status == 404                          ? Errc::Missing
                    : answer.status >= 400 && answer.status < 500 ? Errc::Invalid
                                                                  : Errc::Internal;
  return Error{kind, message};
}

net::Task<Result<json::value>> call(Door& door, net::Request request) {
  CO_TRY_ASSIGN(const net::Response answer, co_await door.call(std::move(request)));
  co_return parse_answer(answer);
}

// Runs a command's body with a door, and closes the door whatever came of it.
template <class Body, class... Args>
net::Task<Result<int>> with_door(Command command, Body body, Args... args) {
  Door door(command.loop, command.config);
  Result<int> code = kExitDone;
  try {
    code = co_await body(command, door, std::move(args)...);
  } catch (const std::exception& odd) {
    // Boost.JSON throws where an answer has another shape than ours have.
    code = Error{Errc::Corrupt, fmt::format("the server's answer is not Quern's: {}", odd.what())};
  }
  co_await door.close();
  co_return code;
}

Result<> print_counter(const Command& command, const json::object& counter) {
  if (command.format == OutputFormat::Json) return print_line(json::serialize(counter));
  return print_line(fmt::format("{:<32} {:>12}   {} entries{}",
                                counter.at("counter").as_string().c_str(),
                                counter.at("value").as_int64(), counter.at("entries").as_int64(),
                                counter.contains("snapshot") ? ", snapshot taken" : ""));
}

net::Task<Result<int>> add_all(Command command, Door& door, CounterAddition addition) {
  const std::string key = addition.key.empty() ? random_key() : addition.key;
  json::value last;
  for (int i = 0; i < addition.times; ++i) {
    // A key of its own for each, the same however often this one is sent.
    const std::string this_key = addition.times == 1 ? key : fmt::format("{}-{}", key, i);
    const json::object body{{"amount", addition.amount}, {"key", this_key}};
    net::Request request = net::post_request(counter_address(addition.name), json::serialize(body),
                                             "application/json");
    CO_TRY_ASSIGN(last, co_await call(door, std::move(request)));
    if (command.format == OutputFormat::Json) CO_TRY(print_line(json::serialize(last)));
  }
  if (command.format == OutputFormat::Human) {
    const std::int64_t value = last.as_object().at("value").as_int64();
    CO_TRY(print_line(fmt::format("{} = {}", addition.name, value)));
  }
  co_return kExitDone;
}

net::Task<Result<int>> take_snapshot(Command command, Door& door, std::string name) {
  net::Request request =
      net::post_request(counter_address(name) + "/snapshot", "", "application/json");
  CO_TRY_ASSIGN(const json::value counter, co_await call(door, std::move(request)));
  CO_TRY(print_counter(command, counter.as_object()));
  co_return kExitDone;
}

net::Task<Result<int>> list_pages(Command command, Door& door) {
  std::string target = "/api/v1/counters";
  while (true) {
    CO_TRY_ASSIGN(const json::value answer, co_await call(door, net::get_request(target)));
    const json::object& page = answer.as_object();
    for (const json::value& counter : page.at("items").as_array()) {
      CO_TRY(print_counter(command, counter.as_object()));
    }
    if (!page.contains("next")) co_return kExitDone;
    target = "/api/v1/counters";
    net::append_query(target, "after", std::string(page.at("next").as_string()));
  }
}

net::Task<Result<int>> check_all(Command command, Door& door) {
  CO_TRY_ASSIGN(const json::value answer, co_await call(door, net::get_request("/api/v1/check")));
  const json::object& report = answer.as_object();
  const bool clean = report.at("clean").as_bool();
  if (command.format == OutputFormat::Json) {
    CO_TRY(print_line(json::serialize(report)));
  } else {
    for (const json::value& problem : report.at("problems").as_array()) {
      CO_TRY(print_line(problem.as_string().c_str()));
    }
    CO_TRY(print_line(clean ? "clean" : "not clean"));
  }
  co_return clean ? kExitDone : kExitFoundWrong;
}

}  // namespace

net::Task<Result<int>> add_to_counter(Command command, CounterAddition addition) {
  return with_door(command, add_all, std::move(addition));
}

net::Task<Result<int>> snapshot_counter(Command command, std::string name) {
  return with_door(command, take_snapshot, std::move(name));
}

net::Task<Result<int>> list_counters(Command command) {
  return with_door(command, list_pages);
}

net::Task<Result<int>> check(Command command) {
  return with_door(command, check_all);
}

}  // namespace quern::app
