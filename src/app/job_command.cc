// quern jobs, job, cancel, retry, delete, ledger
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "app/ask.h"
#include "app/job_watch.h"
#include "app/output.h"
#include "app/read_command.h"
#include "app/read_text.h"
#include "net/target.h"

namespace quern::app {
namespace {

namespace json = boost::json;

constexpr std::int64_t kLookMs = 200;

bool is_number(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string job_address(const std::string& job) {
  std::string target = "/api/v1/jobs";
  net::append_segment(target, job);
  return target;
}

net::Request again_and_again(net::Method method, std::string target) {
  net::Request request;
  request.method = method;
  request.target = std::move(target);
  request.repeat = net::Repeat::Always;
  return request;
}

// The fields of a line of `quern jobs --json`.
json::object job_line(const json::object& job) {
  json::object line;
  for (const char* name :
       {"job", "kind", "collection", "state", "progress", "files", "documents", "errors"}) {
    line[name] = job.at(name);
  }
  return line;
}

int code_of(const JobOrder& order, const json::object& job) {
  return order.strict && number_in(job, "errors") > 0 ? kExitFoundWrong : kExitDone;
}

net::Task<Result<int>> run_jobs(Command command, Door& door, JobOrder order) {
  const bool human = command.format == OutputFormat::Human;
  bool first = true;
  std::int64_t before = 0;
  while (true) {
    std::string target = "/api/v1/jobs?limit=200";
    if (!order.collection.empty()) net::append_query(target, "collection", order.collection);
    if (before > 0) net::append_query(target, "before", std::to_string(before));
    CO_TRY_ASSIGN(const json::value answer, co_await call(door, net::get_request(target)));
    const json::object& page = answer.as_object();
    for (const json::value& item : page.at("items").as_array()) {
      const json::object& job = item.as_object();
      if (human && std::exchange(first, false)) CO_TRY(print_line(job_header()));
      CO_TRY(print_line(human ? job_text(job) : json::serialize(job_line(job))));
    }
    if (!page.contains("next")) co_return kExitDone;
    before = page.at("next").as_int64();
  }
}

Result<> say_job(const Command& command, const json::object& job) {
  if (command.format == OutputFormat::Json) return print_line(json::serialize(job));
  TRY(print_line(job_header()));
  TRY(print_line(job_text(job)));
  if (text_in(job, "state") == "running") return {};
  return print_line(describe_end(job));
}

net::Task<Result<int>> run_job(Command command, Door& door, JobOrder order) {
  CO_TRY_ASSIGN(const json::value job,
                co_await call(door, net::get_request(job_address(order.name))));
  CO_TRY(say_job(command, job.as_object()));
  co_return code_of(order, job.as_object());
}

net::Task<Result<int>> run_cancel(Command command, Door& door, JobOrder order) {
  net::Request request = again_and_again(net::Method::Post, job_address(order.name) + "/cancel");
  CO_TRY_ASSIGN(const json::value asked, co_await call(door, std::move(request)));
  json::object job = asked.as_object();
  if (!order.no_wait) {
    CO_TRY_ASSIGN(job, co_await watch_job(command, door, number_in(job, "job")));
  }
  CO_TRY(say_job(command, job));
  co_return kExitDone;
}

// -- retry --

// By its number, or the one of that name that failed last.
net::Task<Result<std::int64_t>> find_failed(Door& door, JobOrder order) {
  if (is_number(order.name)) co_return std::stoll(order.name);
  std::string target = "/api/v1/errors";
  net::append_query(target, "filename", order.name);
  if (!order.collection.empty()) net::append_query(target, "collection", order.collection);
  std::int64_t last = 0;
  const Each look = [&last](const json::object& error) -> Result<> {
    last = std::max(last, number_in(error, "file"));
    return {};
  };
  CO_TRY(co_await walk_pages(door, target, look));
  if (last > 0) co_return last;
  co_return Error{Errc::Missing, fmt::format("no file '{}' failed (see quern errors)", order.name)};
}

net::Task<Result<std::vector<std::int64_t>>> begin_retries(Door& door, JobOrder order) {
  std::vector<std::int64_t> jobs;
  if (order.kind.empty()) {
    CO_TRY_ASSIGN(const std::int64_t id, co_await find_failed(door, order));
    const std::string target = fmt::format("/api/v1/files/{}/retry", id);
    net::Request request = again_and_again(net::Method::Post, target);
    CO_TRY_ASSIGN(const json::value job, co_await call(door, std::move(request)));
    jobs.push_back(number_in(job.as_object(), "job"));
    co_return jobs;
  }
  std::string after;
  while (true) {
    std::string target = "/api/v1/retry";
    net::append_query(target, "kind", order.kind);
    if (!order.collection.empty()) net::append_query(target, "collection", order.collection);
    if (!after.empty()) net::append_query(target, "after", after);
    net::Request request = again_and_again(net::Method::Post, target);
    CO_TRY_ASSIGN(const json::value answer, co_await call(door, std::move(request)));
    const json::object& page = answer.as_object();
    for (const json::value& job : page.at("jobs").as_array()) jobs.push_back(job.as_int64());
    if (!page.contains("next")) co_return jobs;
    after = text_in(page, "next");
  }
}

net::Task<Result<int>> run_retry(Command command, Door& door, JobOrder order) {
  CO_TRY_ASSIGN(const std::vector<std::int64_t> jobs, co_await begin_retries(door, order));
  std::int64_t documents = 0;
  std::int64_t errors = 0;
  for (const std::int64_t id : jobs) {
    if (order.no_wait) continue;
    CO_TRY_ASSIGN(const json::object job, co_await watch_job(command, door, id));
    documents += number_in(job, "documents");
    errors += number_in(job, "errors");
  }
  if (command.format == OutputFormat::Json) {
    json::object line{{"retried", jobs.size()}, {"jobs", json::array(jobs.begin(), jobs.end())}};
    if (!order.no_wait) line["documents"] = documents;
    if (!order.no_wait) line["errors"] = errors;
    CO_TRY(print_line(json::serialize(line)));
  } else if (order.no_wait) {
    CO_TRY(print_line(fmt::format("{} tried again: quern jobs", jobs.size())));
  } else {
    CO_TRY(print_line(fmt::format("{} tried again: {}, {}", jobs.size(),
                                  count_text(documents, "document", "documents"),
                                  count_text(errors, "error", "errors"))));
  }
  co_return order.strict&& errors > 0 ? kExitFoundWrong : kExitDone;
}

// -- delete --

// Behind a 202 it goes on; we look again until it is gone.
net::Task<Result<int>> run_delete(Command command, Door& door, JobOrder order) {
  std::string target = is_number(order.name) ? "/api/v1/jobs" : "/api/v1/collections";
  net::append_segment(target, order.name);
  for (bool first = true;; first = false) {
    const net::Request request = again_and_again(net::Method::Delete, target);
    const Result<json::value> answer = co_await call(door, request);
    const bool gone_since = !first && !answer.ok() && answer.error().kind() == Errc::Missing;
    if (gone_since) break;
    if (!answer.ok()) co_return answer.error();
    if (answer->as_object().at("gone").as_bool() || order.no_wait) break;
    co_await command.loop.sleep_until(net::in_ms(kLookMs));
  }
  const json::object line{{"deleted", order.name}};
  CO_TRY(print_line(command.format == OutputFormat::Json ? json::serialize(line)
                                                         : order.name + " deleted"));
  co_return kExitDone;
}

// -- ledger --

bool is_well(const JobOrder& order, const json::object& ledger) {
  return ledger.at("balanced").as_bool() && !(order.strict && number_in(ledger, "errors") > 0);
}

net::Task<Result<int>> run_ledger(Command command, Door& door, JobOrder order) {
  bool well = true;
  const Each print = [&](const json::object& ledger) -> Result<> {
    well = well && is_well(order, ledger);
    if (command.format == OutputFormat::Json) return print_line(json::serialize(ledger));
    for (const std::string& line : ledger_text(ledger)) TRY(print_line(line));
    return {};
  };
  std::string target = "/api/v1/collections";
  if (order.name.empty()) {
    CO_TRY(co_await walk_pages(door, target, print));
  } else {
    net::append_segment(target, order.name);
    CO_TRY_ASSIGN(const json::value ledger, co_await call(door, net::get_request(target)));
    CO_TRY(print(ledger.as_object()));
  }
  co_return well ? kExitDone : kExitFoundWrong;
}

// Where nobody serves the folder, this process does its work meanwhile.
using Body = net::Task<Result<int>> (*)(Command, Door&, JobOrder);

net::Task<Result<int>> with_working_door(Command command, Body body, JobOrder order) {
  Door door(command.loop, command.config, order.no_wait ? Working::No : Working::Yes);
  Result<int> code = kExitDone;
  try {
    code = co_await body(command, door, std::move(order));
  } catch (const std::exception& odd) {
    code = Error{Errc::Corrupt, fmt::format("the server's answer is not Quern's: {}", odd.what())};
  }
  co_await door.close();
  co_return code;
}

}  // namespace

net::Task<Result<int>> list_jobs(Command command, JobOrder order) {
  return with_door(command, run_jobs, std::move(order));
}
net::Task<Result<int>> show_job(Command command, JobOrder order) {
  return with_door(command, run_job, std::move(order));
}
net::Task<Result<int>> cancel_job(Command command, JobOrder order) {
  return with_working_door(command, run_cancel, std::move(order));
}
net::Task<Result<int>> retry(Command command, JobOrder order) {
  return with_working_door(command, run_retry, std::move(order));
}
net::Task<Result<int>> delete_job(Command command, JobOrder order) {
  return with_door(command, run_delete, std::move(order));
}
net::Task<Result<int>> show_ledger(Command command, JobOrder order) {
  return with_door(command, run_ledger, std::move(order));
}

}  // namespace quern::app
