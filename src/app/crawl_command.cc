#include "app/crawl_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <charconv>
#include <filesystem>

#include "app/ask.h"
#include "app/job_watch.h"
#include "app/output.h"
#include "app/read_text.h"
#include "net/target.h"

namespace quern::app {
namespace {

namespace json = boost::json;

Result<json::object> body_of(const CrawlCommand& order) {
  json::object body{{"urls", json::array(order.urls.begin(), order.urls.end())}};
  if (!order.collection.empty()) body["collection"] = order.collection;
  if (!order.scope.empty()) body["scope"] = order.scope;
  if (!order.allow_private.empty()) body["allow_private"] = order.allow_private;
  if (!order.skip.empty()) body["skip"] = json::array(order.skip.begin(), order.skip.end());
  if (order.pages_max) body["max_pages"] = *order.pages_max;
  if (order.depth_max) body["max_depth"] = *order.depth_max;
  if (order.url_max) body["max_url"] = *order.url_max;
  if (order.delay) body["delay"] = *order.delay;
  if (order.force) body["force"] = true;
  if (order.no_sitemaps) body["sitemaps"] = false;
  if (!order.every.empty()) {
    TRY_ASSIGN(body["period"], parse_period(order.every));
  }
  return body;
}

net::Task<Result<json::object>> load(Door& door, std::int64_t job) {
  CO_TRY_ASSIGN(const json::value crawl,
                co_await call(door, net::get_request(fmt::format("/api/v1/crawls/{}", job))));
  co_return crawl.as_object();
}

std::string describe(const json::object& crawl) {
  const json::object& pages = crawl.at("pages").as_object();
  std::string text =
      fmt::format("{} pages of {} sites: {} in, {} out", number_in(pages, "admitted"),
                  number_in(crawl, "sites"), number_in(pages, "in"), number_in(pages, "out"));
  if (number_in(pages, "unchanged") > 0) {
    text += fmt::format(", {} unchanged", number_in(pages, "unchanged"));
  }
  if (number_in(pages, "failed") > 0) {
    text += fmt::format(", {} could not be had", number_in(pages, "failed"));
  }
  return text + fmt::format(" (job {})", number_in(crawl, "job"));
}

Result<> say(const Command& command, const CrawlCommand& order, const json::object& crawl) {
  if (command.format == OutputFormat::Json) return print_line(json::serialize(crawl));
  if (order.no_wait) {
    return print_line(fmt::format("job {} is running: quern job {}", number_in(crawl, "job"),
                                  number_in(crawl, "job")));
  }
  return print_line(describe(crawl));
}

// Files of this machine instead of sites.
net::Task<Result<int>> import_files(Command command, Door& door, CrawlCommand order) {
  const std::string collection = order.collection.empty() ? "default" : order.collection;
  for (const std::string& file : order.urls) {
    std::error_code failed;
    const json::object body{{"path", std::filesystem::absolute(file, failed).string()}};
    std::string target = "/api/v1/collections";
    net::append_segment(target, collection);
    net::Request request =
        net::post_request(target + "/archives", json::serialize(body), "application/json");
    request.repeat = net::Repeat::Always;  // it finds the one that runs
    CO_TRY_ASSIGN(const json::value begun, co_await call(door, std::move(request)));
    const std::int64_t job = number_in(begun.as_object(), "job");
    CO_TRY(co_await watch_job(command, door, job));
    CO_TRY_ASSIGN(const json::object crawl, co_await load(door, job));
    CO_TRY(say(command, order, crawl));
  }
  co_return kExitDone;
}

net::Task<Result<int>> run(Command command, Door& door, CrawlCommand order) {
  if (order.from_warc) co_return co_await import_files(command, door, std::move(order));
  CO_TRY_ASSIGN(const json::object body, body_of(order));
  net::Request request =
      net::post_request("/api/v1/crawls", json::serialize(body), "application/json");
  request.repeat = net::Repeat::Always;  // it finds the one that runs
  CO_TRY_ASSIGN(const json::value begun, co_await call(door, std::move(request)));
  const std::int64_t job = number_in(begun.as_object(), "job");
  if (!order.no_wait) CO_TRY(co_await watch_job(command, door, job));
  CO_TRY_ASSIGN(const json::object crawl, co_await load(door, job));
  CO_TRY(say(command, order, crawl));
  const bool canceled = text_in(crawl, "state") == "canceled";
  const bool nothing = !order.no_wait && number_in(crawl.at("pages").as_object(), "in") == 0;
  co_return canceled || nothing ? kExitUnfinished : kExitDone;
}

}  // namespace

Result<std::int64_t> parse_period(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const std::int64_t factor = unit == "s"   ? 1
                              : unit == "m" ? 60
                              : unit == "h" ? 3600
                              : unit == "d" ? 86'400
                                            : 0;
  if (error != std::errc{} || factor == 0 || number <= 0 || number > 1'000'000) {
    return Error{Errc::Invalid, fmt::format("'{}' is no period: write 12h or 7d", text)};
  }
  return number * factor;
}

net::Task<Result<int>> crawl_sites(Command command, CrawlCommand order) {
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

void add_crawl_command(CLI::App& app, Run& run_it) {
  CLI::App* command = app.add_subcommand(
      "crawl", "Bring web sites in, politely: pages become documents, answers an archive.");
  auto order = std::make_shared<CrawlCommand>();
  command->add_option("URL", order->urls, "where to begin")->required();
  command->add_option("--collection", order->collection, "where they go (default: default)")
      ->type_name("NAME");
  command
      ->add_option("--scope", order->scope, "host (default), domain, or a beginning of addresses")
      ->type_name("SCOPE");
  command->add_option("--max-pages", order->pages_max, "at most so many (default: 1000000)");
  command->add_option("--max-depth", order->depth_max, "links from the first page (default: 100)");
  command->add_option("--max-url", order->url_max, "longest address (default: 2048)");
  command->add_option("--delay", order->delay, "seconds between requests to a site (default: 1)");
  command->add_option("--every", order->every, "again after 12h, 7d, …")->type_name("PERIOD");
  command->add_option("--skip", order->skip, "endings that are no pages; replaces the default list")
      ->delimiter(',');
  command->add_option("--allow-private", order->allow_private, "hosts that may be on this network")
      ->type_name("HOST,…");
  command->add_flag("--from-warc", order->from_warc,
                    "read WARC, ARC and WACZ files instead, asking nobody");
  command->add_flag("--force", order->force, "although it is not due");
  command->add_flag("--no-sitemaps", order->no_sitemaps, "follow links only");
  command->add_flag("--no-wait", order->no_wait, "do not wait until it is done");
  command->footer(
      "Killed half-way, the same command goes on where it was. robots.txt is obeyed; say who you "
      "are\n"
      "with --contact. quern explain URL tells why an address is in or out.\n"
      "Examples:\n"
      "  quern crawl https://example.org --contact mailto:me@example.org\n"
      "  quern crawl https://example.org/docs/ --scope https://example.org/docs/ --max-pages 500\n"
      "  quern crawl https://example.org --collection news --every 7d\n"
      "  quern crawl --from-warc old/*.warc.gz --collection news\n"
      "  quern crawl http://intranet.example:8080 --allow-private intranet.example --delay 0.2");
  command->callback(
      [&run_it, order] { run_it = [order](Command c) { return crawl_sites(c, *order); }; });
}

}  // namespace quern::app
