#include "app/add_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <filesystem>
#include <system_error>

#include "app/add_upload.h"
#include "app/ask.h"
#include "app/job_watch.h"
#include "app/output.h"
#include "app/source_walk.h"
#include "blob/digest.h"

namespace quern::app {
namespace {

namespace json = boost::json;

// The same command in the same place means the same job, while that runs.
std::string resume_key(const AddOrder& order) {
  std::string text = fmt::format("{}\n{}\n{}\n{}\n{}\n", order.collection, order.ocr,
                                 order.split_by_page, order.language, order.metadata);
  std::error_code failed;
  for (const std::string& path : order.paths) {
    text += std::filesystem::absolute(path, failed).lexically_normal().string() + "\n";
  }
  return "add:" + blob::hex_of(blob::sha256_of(text)).substr(0, 32);
}

std::string source_text(const AddOrder& order) {
  std::string text = fmt::format("{}", fmt::join(order.paths, " "));
  if (text.size() > 1000) text = text.substr(0, 1000) + "…";
  return text;
}

net::Task<Result<json::object>> open_job(Door& door, AddOrder order) {
  json::object body{{"collection", order.collection}, {"source", source_text(order)}};
  if (!order.key.empty()) {
    body["key"] = order.key;
  } else {
    const std::string base = resume_key(order);
    body["resumes"] = base;
    body["key"] = base + ":" + make_random_key();
  }
  net::Request request =
      net::post_request("/api/v1/jobs", json::serialize(body), "application/json");
  request.repeat = net::Repeat::Always;
  CO_TRY_ASSIGN(const json::value job, co_await call(door, std::move(request)));
  co_return job.as_object();
}

net::Task<Result<json::object>> seal(Door& door, std::int64_t job, std::int64_t skipped) {
  const json::object body{{"skipped", skipped}};
  net::Request request = net::post_request(fmt::format("/api/v1/jobs/{}/seal", job),
                                           json::serialize(body), "application/json");
  request.repeat = net::Repeat::Always;
  CO_TRY_ASSIGN(const json::value sealed, co_await call(door, std::move(request)));
  co_return sealed.as_object();
}

Result<> say_added(const Command& command, const AddOrder& order, const json::object& job) {
  if (command.format == OutputFormat::Json) {
    const json::object line{{"job", job.at("job")},
                            {"collection", job.at("collection")},
                            {"files", job.at("files")},
                            {"documents", job.at("documents")},
                            {"errors", job.at("errors")},
                            {"bytes", job.at("bytes")},
                            {"seconds", job.contains("seconds") ? job.at("seconds") : 0.0}};
    return print_line(json::serialize(line));
  }
  if (order.no_wait) {
    return print_line(fmt::format("job {} is running: quern job {}", job.at("job").as_int64(),
                                  job.at("job").as_int64()));
  }
  return print_line(describe_end(job));
}

net::Task<Result<int>> run(Command command, Door& door, AddOrder order) {
  CO_TRY_ASSIGN(json::object job, co_await open_job(door, order));
  const std::int64_t id = job.at("job").as_int64();
  if (!job.at("sealed").as_bool()) {
    Uploader uploader(command, door, order, id);
    CO_TRY(co_await uploader.send_all());
    CO_TRY_ASSIGN(job, co_await seal(door, id, uploader.skipped()));
  }
  if (!order.no_wait) {
    CO_TRY_ASSIGN(job, co_await watch_job(command, door, id));
  }
  CO_TRY(say_added(command, order, job));
  const bool canceled = job.at("state").as_string() == "canceled";
  if (canceled) co_return kExitUnfinished;
  co_return order.strict&& job.at("errors").as_int64() > 0 ? kExitFoundWrong : kExitDone;
}

}  // namespace

net::Task<Result<int>> add(Command command, AddOrder order) {
  if (!order.metadata.empty()) {
    boost::system::error_code failed;
    const json::value metadata = json::parse(order.metadata, failed);
    if (failed || !metadata.is_object()) {
      co_return Error{Errc::Invalid, R"(--metadata must be a JSON object such as {"case":"17"})"};
    }
  }
  Door door(command.loop, command.config, order.no_wait ? Working::No : Working::Yes);
  Result<int> code = kExitDone;
  try {
    code = co_await run(command, door, std::move(order));
  } catch (const std::exception& odd) {
    code = Error{Errc::Corrupt, fmt::format("the server's answer is not Quern's: {}", odd.what())};
  }
  co_await door.close();
  co_return code;
}

void add_add_command(CLI::App& app, Run& run_it) {
  CLI::App* command =
      app.add_subcommand("add", "Take files and folders in, and turn them into documents.");
  auto order = std::make_shared<AddOrder>();
  command->add_option("PATH", order->paths, "files and folders; - is standard input")->required();
  command->add_option("--collection", order->collection, "where they go (default: default)")
      ->type_name("NAME");
  command->add_flag("--ocr", order->ocr, "read pictures of text too");
  command->add_flag("--split-by-page", order->split_by_page, "each page becomes a document");
  command->add_option("--language", order->language, "of the documents (default: en)")
      ->type_name("CODE");
  command->add_option("--metadata", order->metadata, "a JSON object that every document gets")
      ->type_name("JSON");
  command->add_flag("--skip-existing", order->skip_existing,
                    "leave out files that the collection has, by name and bytes");
  command->add_flag("--no-wait", order->no_wait, "do not wait until they are documents");
  command->add_flag("--strict", order->strict, "exit 1 if some file became an error");
  command->add_option("--key", order->key, "makes repeating this command harmless, for ever")
      ->type_name("TEXT");
  command->add_option("--name", order->name, "what standard input is called (default: stdin)")
      ->type_name("NAME");
  command->footer(
      "Killed half-way, the same command goes on where it was.\n"
      "Examples:\n"
      "  quern add leak.zip mails/\n"
      "  quern add --collection council-2026 --metadata '{\"source\":\"FOI 17\"}' council/\n"
      "  curl -s https://example.org/report.pdf | quern add - --name report.pdf\n"
      "  quern add archive/ --json --strict");
  command->callback([&run_it, order] { run_it = [order](Command c) { return add(c, *order); }; });
}

}  // namespace quern::app
