#include "app/dataset_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <deque>

#include "app/ask.h"
#include "app/input.h"
#include "app/job_watch.h"
#include "app/output.h"
#include "app/read_text.h"
#include "base/utf8.h"
#include "fileset/catalogue.h"
#include "fileset/request.h"
#include "fileset/result.h"
#include "io/pool.h"
#include "queue/await.h"

namespace quern::app {
namespace {

namespace json = boost::json;

// Requests that were begun and whose results nobody has been told of yet.
constexpr std::size_t kRequestsAhead = 60;
constexpr std::int64_t kLinesAtOnce = 50;
constexpr std::int64_t kFirstLookMs = 20;
constexpr std::int64_t kLookMsMax = 1000;

json::object options_of(const DatasetCommand& order) {
  json::object options;
  if (order.ingest) options["ingest"] = true;
  if (order.strict) options["strict"] = true;
  if (order.bundle) options["bundle"] = true;
  if (order.force_recrawl) options["force_recrawl"] = true;
  if (!order.strategy.empty()) options["strategy"] = order.strategy;
  return options;
}

net::Request post_of(const DatasetCommand& order, json::object body) {
  body["options"] = options_of(order);
  if (!order.collection.empty()) body["collection"] = order.collection;
  if (!order.key.empty()) body["key"] = order.key;
  net::Request request =
      net::post_request("/api/v1/filesets", json::serialize(body), "application/json");
  request.repeat = net::Repeat::Always;  // it finds the one that runs
  return request;
}

net::Task<Result<json::object>> load(Door& door, std::int64_t job) {
  CO_TRY_ASSIGN(const json::value dataset,
                co_await call(door, net::get_request(fmt::format("/api/v1/filesets/{}", job))));
  co_return dataset.as_object();
}

// Until the request has ended; what was ingested may still be read.
net::Task<Result<json::object>> wait_for(Command command, Door& door, std::int64_t job) {
  std::int64_t look_ms = kFirstLookMs;
  while (true) {
    CO_TRY_ASSIGN(json::object dataset, co_await load(door, job));
    if (text_in(dataset, "phase") == "ended") co_return dataset;
    co_await command.loop.sleep_until(net::in_ms(look_ms));
    look_ms = std::min(look_ms * 2, kLookMsMax);
  }
}

std::string describe(const json::object& dataset) {
  const json::object& result = dataset.at("result").as_object();
  std::string text = text_in(result, "status");
  if (result.contains("file_count")) {
    text += fmt::format(": {} files, {} bytes", number_in(result, "file_count"),
                        number_in(result, "total_size"));
  }
  if (result.contains("ingest_strategy")) text += ", " + text_in(result, "ingest_strategy");
  text += fmt::format(" (job {})", number_in(dataset, "job"));
  if (result.contains("error_message")) text += "\n" + text_in(result, "error_message");
  return text;
}

Result<int> say_end(const Command& command, const json::object& dataset) {
  const json::object& result = dataset.at("result").as_object();
  const bool json = command.format == OutputFormat::Json;
  TRY(print_line(json ? fileset::serialize_sorted(result) : describe(dataset)));
  if (text_in(result, "status") == "canceled") return kExitUnfinished;
  return result.at("hit").as_bool() ? kExitDone : kExitFoundWrong;
}

net::Task<Result<int>> follow(Command command, Door& door, DatasetCommand order,
                              json::object begun) {
  // A type that is not taken has its result at once.
  if (!begun.contains("job")) co_return say_end(command, begun);
  const std::int64_t job = number_in(begun, "job");
  if (order.no_wait) {
    CO_TRY(print_line(command.format == OutputFormat::Json
                          ? json::serialize(begun)
                          : fmt::format("job {} is running: quern dataset show {}", job, job)));
    co_return kExitDone;
  }
  if (order.ingest) CO_TRY(co_await watch_job(command, door, job));
  CO_TRY_ASSIGN(const json::object dataset, co_await wait_for(command, door, job));
  co_return say_end(command, dataset);
}

net::Task<Result<int>> run_one(Command command, Door& door, DatasetCommand order) {
  json::object body{{"url", order.url}};
  net::Request request = post_of(order, std::move(body));
  CO_TRY_ASSIGN(const json::value begun, co_await call(door, std::move(request)));
  json::object dataset = begun.as_object();
  co_return co_await follow(command, door, std::move(order), std::move(dataset));
}

// -- many --

// A line that was taken: its job, or its result where that is known at once.
struct Pending {
  std::int64_t job = 0;
  json::object result;
};

json::value parse_or_text(const std::string& line) {
  boost::system::error_code failed;
  json::value value = json::parse(line, failed);
  if (!failed) return value;
  return json::value(valid_utf8(line.substr(0, fileset::kErrorMessageBytesMax)));
}

net::Task<Result<Pending>> begin_line(Door& door, DatasetCommand order, std::string line) {
  Pending pending;
  const Result<fileset::Request> request = fileset::parse_request_text(line);
  if (!request.ok()) {
    pending.result = fileset::bad_request(parse_or_text(line), request.error().message());
    co_return pending;
  }
  json::object body{{"request", request->raw}};
  net::Request post = post_of(order, std::move(body));
  Result<json::value> begun = co_await call(door, std::move(post));
  // What the server refuses harms no other line.
  if (!begun.ok() && begun.error().kind() == Errc::Invalid) {
    pending.result = fileset::bad_request(request->raw, begun.error().message());
    co_return pending;
  }
  CO_TRY_ASSIGN(const json::value answer, std::move(begun));
  const json::object& dataset = answer.as_object();
  if (dataset.contains("job")) {
    pending.job = number_in(dataset, "job");
  } else {
    pending.result = dataset.at("result").as_object();
  }
  co_return pending;
}

// Prints the oldest. Whether it is a hit.
net::Task<Result<bool>> end_oldest(Command command, Door& door, std::deque<Pending>& pending) {
  Pending oldest = std::move(pending.front());
  pending.pop_front();
  if (oldest.job != 0) {
    CO_TRY_ASSIGN(const json::object dataset, co_await wait_for(command, door, oldest.job));
    oldest.result = dataset.at("result").as_object();
  }
  CO_TRY(print_line(fileset::serialize_sorted(oldest.result)));
  co_return oldest.result.at("hit").as_bool();
}

net::Task<Result<int>> run_requests(Command command, Door& door, DatasetCommand order) {
  CO_TRY_ASSIGN(LineInput input, LineInput::open(order.requests));
  io::Pool pool({.threads = 1});  // a slow pipe must not stop those whom we serve
  std::deque<Pending> pending;
  std::int64_t lines = 0;
  bool all_hit = true;
  while (true) {
    auto read = [&input] { return input.next(kLinesAtOnce, 2 * fileset::kRequestBytesMax); };
    CO_TRY_ASSIGN(const LineInput::Piece piece, co_await queue::offload(command.loop, pool, read));
    if (piece.text.empty()) break;
    std::string_view rest = piece.text;
    while (!rest.empty()) {
      std::string line(rest.substr(0, rest.find('\n')));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      if (line.find_first_not_of(" \t\r") == line.npos) continue;
      DatasetCommand same = order;
      if (!order.key.empty()) same.key = fmt::format("{}:{}", order.key, ++lines);
      CO_TRY_ASSIGN(Pending begun, co_await begin_line(door, std::move(same), std::move(line)));
      pending.push_back(std::move(begun));
      if (pending.size() <= kRequestsAhead) continue;
      CO_TRY_ASSIGN(const bool hit, co_await end_oldest(command, door, pending));
      all_hit &= hit;
    }
  }
  while (!pending.empty()) {
    CO_TRY_ASSIGN(const bool hit, co_await end_oldest(command, door, pending));
    all_hit &= hit;
  }
  co_return all_hit ? kExitDone : kExitFoundWrong;
}

net::Task<Result<int>> run_show(Command command, Door& door, DatasetCommand order) {
  CO_TRY_ASSIGN(const json::object dataset, co_await load(door, order.job));
  if (command.format == OutputFormat::Json) {
    CO_TRY(print_line(json::serialize(dataset)));
    co_return kExitDone;
  }
  for (const json::value& sentence : dataset.at("says").as_array()) {
    CO_TRY(print_line(std::string(sentence.as_string())));
  }
  co_return kExitDone;
}

net::Task<Result<int>> run_retry(Command command, Door& door, DatasetCommand order) {
  net::Request request = net::post_request(fmt::format("/api/v1/filesets/{}/retry", order.job),
                                           "{}", "application/json");
  request.repeat = net::Repeat::Always;
  CO_TRY_ASSIGN(const json::value begun, co_await call(door, std::move(request)));
  json::object dataset = begun.as_object();
  co_return co_await follow(command, door, std::move(order), std::move(dataset));
}

using Body = net::Task<Result<int>> (*)(Command, Door&, DatasetCommand);

net::Task<Result<int>> at_work(Command command, DatasetCommand order, Body body) {
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

void add_flags(CLI::App* command, const std::shared_ptr<DatasetCommand>& order) {
  command->add_option("URL", order->url, "the landing page of a dataset, or its DOI");
  command->add_option("--requests", order->requests, "a file of requests, a line each; - is stdin")
      ->type_name("FILE");
  command->add_option("--collection", order->collection, "where it goes (default: default)")
      ->type_name("NAME");
  command->add_option("--strategy", order->strategy, "web-fileset, archiveorg-fileset-bundled, …")
      ->type_name("NAME");
  command->add_option("--key", order->key, "makes repeating this command harmless, for ever")
      ->type_name("TEXT");
  command->add_flag("--ingest", order->ingest, "its files become documents, too");
  command->add_flag("--bundle", order->bundle, "one enclosing file, where the platform has one");
  command->add_flag("--force-recrawl", order->force_recrawl, "although it is kept already");
  command->add_flag("--strict-compat", order->strict, "results as the original gave them");
  command->add_flag("--no-wait", order->no_wait, "do not wait until it is done");
}

}  // namespace

net::Task<Result<int>> keep_datasets(Command command, DatasetCommand order) {
  if (order.url.empty() == order.requests.empty()) {
    co_return Error{Errc::Invalid, "name either a URL or DOI, or --requests FILE"};
  }
  const Body body = order.requests.empty() ? run_one : run_requests;
  co_return co_await at_work(command, std::move(order), body);
}

net::Task<Result<int>> show_dataset(Command command, DatasetCommand order) {
  return with_door(command, run_show, std::move(order));
}

net::Task<Result<int>> retry_dataset(Command command, DatasetCommand order) {
  return at_work(command, std::move(order), run_retry);
}

net::Task<Result<int>> import_results(Command, std::string file) {
  CO_TRY_ASSIGN(LineInput input, LineInput::open(file));
  fileset::Catalogue catalogue;
  while (true) {
    CO_TRY_ASSIGN(const LineInput::Piece piece,
                  input.next(kLinesAtOnce, fileset::kResultLineBytesMax));
    if (piece.text.empty()) break;
    std::string_view rest = piece.text;
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      if (line.find_first_not_of(" \t\r") == line.npos) continue;
      const fileset::Catalogue::Entity entity = catalogue.take(line);
      if (entity.kind.empty()) continue;
      const json::object shown{{"kind", entity.kind}, {"entity", entity.entity}};
      CO_TRY(print_line(fileset::serialize_sorted(shown)));
    }
  }
  for (const auto& [what, count] : catalogue.counts()) complain(fmt::format("{}: {}", what, count));
  co_return kExitDone;
}

void add_dataset_command(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand(
      "dataset", "Keep a dataset: from its landing page to verified, preserved files.");
  auto order = std::make_shared<DatasetCommand>();
  add_flags(command, order);
  command->require_subcommand(0, 1);
  command->footer(
      "Killed half-way, the same command goes on where it was. With --key that holds when it had\n"
      "ended, too: given again it does nothing twice, and tells the result.\n"
      "Examples:\n"
      "  quern dataset https://zenodo.org/records/1028059\n"
      "  quern dataset 10.5281/zenodo.1028059 --ingest --collection rescue\n"
      "  quern dataset --requests requests.jsonl > results.jsonl\n"
      "  quern dataset show 17\n"
      "  quern dataset retry 17\n"
      "  quern dataset import results.jsonl > entities.jsonl");
  command->callback([&run, order, command] {
    if (!command->get_subcommands().empty()) return;
    run = [order](Command c) { return keep_datasets(c, *order); };
  });
  CLI::App* show = command->add_subcommand("show", "How far a dataset is, and why.");
  show->add_option("JOB", order->job, "its job")->required();
  show->callback([&run, order] { run = [order](Command c) { return show_dataset(c, *order); }; });
  CLI::App* retry = command->add_subcommand("retry", "Do again what failed of a dataset.");
  retry->add_option("JOB", order->job, "its job")->required();
  retry->callback([&run, order] { run = [order](Command c) { return retry_dataset(c, *order); }; });
  CLI::App* import = command->add_subcommand(
      "import", "Results, a line each, become file and fileset entities of a catalogue.");
  auto file = std::make_shared<std::string>();
  import->add_option("FILE", *file, "results; - is stdin")->required();
  import->callback([&run, file] { run = [file](Command c) { return import_results(c, *file); }; });
}

}  // namespace quern::app
