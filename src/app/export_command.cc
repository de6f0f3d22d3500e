#include "app/export_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <filesystem>

#include "app/ask.h"
#include "app/export_bag.h"
#include "app/output.h"
#include "io/file.h"
#include "net/target.h"

namespace quern::app {
namespace {

namespace json = boost::json;

net::Task<Result<int>> export_wacz(Command command, Door& door, ExportCommand order) {
  std::error_code failed;
  const std::filesystem::path out = std::filesystem::absolute(order.out, failed);
  CO_TRY_ASSIGN(io::DurableFile file,
                io::DurableFile::create(out.parent_path(), out.filename().string()));
  std::string target = "/api/v1/collections";
  net::append_segment(target, order.collection);
  target += "/export";
  net::append_query(target, "format", order.format);
  auto take = [&file](std::string_view bytes) { return file.write(bytes); };
  net::Request request = net::get_request(target);
  CO_TRY(co_await door.download(std::move(request), take));
  CO_TRY(file.commit());
  if (command.format == OutputFormat::Json) {
    const json::object line{{"collection", order.collection},
                            {"format", order.format},
                            {"out", out.string()},
                            {"bytes", file.bytes_written()}};
    CO_TRY(print_line(json::serialize(line)));
  } else {
    CO_TRY(print_line(fmt::format("{}: {} bytes", order.out, file.bytes_written())));
  }
  co_return kExitDone;
}

}  // namespace

net::Task<Result<int>> export_collection(Command command, ExportCommand order) {
  Door door(command.loop, command.config, Working::No);
  Result<int> code = kExitDone;
  try {
    if (order.format == "wacz") {
      code = co_await export_wacz(command, door, std::move(order));
    } else {
      code = co_await export_bag(command, door, std::move(order));
    }
  } catch (const std::exception& odd) {
    // Boost.JSON throws where an answer has another shape than ours have.
    code = Error{Errc::Corrupt, fmt::format("the server's answer is not Quern's: {}", odd.what())};
  }
  co_await door.close();
  co_return code;
}

void add_export_command(CLI::App& app, Run& run_it) {
  CLI::App* command =
      app.add_subcommand("export", "Write a collection to a file or folder that others read.");
  auto order = std::make_shared<ExportCommand>();
  command->add_option("COLLECTION", order->collection, "which one")->required();
  command
      ->add_option("--format", order->format,
                   "wacz: what was captured of the web, as one archive; bagit: datasets and added "
                   "files as a bag, with digests and where they came from; folder: these files "
                   "alone")
      ->check(CLI::IsMember({"wacz", "bagit", "folder"}))
      ->required();
  command
      ->add_option("--out", order->out,
                   "where to: a file, which is replaced, or a new folder; a bag or folder whose "
                   "name ends in .zip becomes a zip file")
      ->required();
  command->add_option("--organization", order->organization,
                      "who hands the bag on: Source-Organization of bag-info.txt");
  command->footer(
      "Examples:\n  quern export default --format wacz --out site.wacz\n"
      "  quern export rescue --format bagit --out tides-2026 --organization 'City Archive'");
  command->callback(
      [&run_it, order] { run_it = [order](Command c) { return export_collection(c, *order); }; });
}

}  // namespace quern::app
