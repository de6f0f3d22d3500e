// quern counter …, quern check
#include <fmt/format.h>
#include <sys/random.h>

#include <boost/json.hpp>

#include "app/ask.h"
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
  const Each print = [command](const json::object& counter) {
    return print_counter(command, counter);
  };
  co_return co_await walk_pages(door, "/api/v1/counters", print);
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
