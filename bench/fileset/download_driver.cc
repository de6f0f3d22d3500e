// download_driver: downloads files through fileset's outside, many at once, and says how it went.
//
//   download_driver --folder F --at-once 8 URL...        prints a line "status sha256 bytes" for
//   each download_driver --folder F --at-once 8 --base URL --count N    of URL/0, URL/1, … only the
//   sum
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "fileset/net_outside.h"
#include "fileset/part_note.h"
#include "io/file.h"

namespace quern::fileset {
namespace {

struct Orders {
  std::filesystem::path folder;
  std::vector<std::string> urls;
  std::size_t next = 0;
  std::vector<Downloaded> done;
};

net::Task<> serve(Outside* outside, Orders* orders, std::size_t* running, net::Loop* loop) {
  while (orders->next < orders->urls.size()) {
    const std::size_t number = orders->next++;
    DownloadOrder order;
    order.url = orders->urls[number];
    order.part = orders->folder / std::to_string(number);
    orders->done[number] = co_await outside->download(std::move(order));
  }
  if (--*running == 0) loop->stop();
}

Result<int> run(Orders orders, std::size_t at_once, bool quiet) {
  TRY(io::make_folders_durably(orders.folder));
  net::Loop loop;
  io::Pool pool({.threads = 4});
  web::FetcherOptions options;
  options.user_agent = "quern-bench";
  options.spool = orders.folder;
  TRY_ASSIGN(const std::unique_ptr<web::Fetcher> fetcher, web::Fetcher::open(std::move(options)));
  NetOutsideOptions net;
  net.gates.requests_max = static_cast<int>(at_once);
  TRY_ASSIGN(net.allowed, web::AllowedHosts::parse("*"));
  NetOutside outside({loop, *fetcher, pool}, net);
  orders.done.resize(orders.urls.size());
  std::size_t running = at_once;
  for (std::size_t i = 0; i < at_once; ++i) {
    loop.spawn("serve", serve(&outside, &orders, &running, &loop));
  }
  loop.run();
  int failed = 0;
  std::int64_t bytes = 0;
  for (const Downloaded& each : orders.done) {
    if (each.status != "verified-local") ++failed;
    if (failed == 1 && each.status != "verified-local") fmt::print(stderr, "{}\n", each.message);
    bytes += each.size;
    if (!quiet) fmt::print("{} {} {}\n", each.status, each.sha256, each.size);
  }
  if (quiet) fmt::print("{} files, {} bytes, {} failed\n", orders.done.size(), bytes, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace quern::fileset

int main(int argc, char** argv) {
  CLI::App app("downloads files through fileset's outside");
  quern::fileset::Orders orders;
  std::string base;
  std::size_t count = 0;
  std::size_t at_once = 4;
  app.add_option("--folder", orders.folder)->required();
  app.add_option("--base", base);
  app.add_option("--count", count);
  app.add_option("--at-once", at_once)->check(CLI::Range(1, 1000));
  app.add_option("urls", orders.urls);
  CLI11_PARSE(app, argc, argv);
  for (std::size_t i = 0; i < count; ++i) orders.urls.push_back(fmt::format("{}/{}", base, i));
  const auto ended = quern::fileset::run(std::move(orders), at_once, count > 0);
  if (ended.ok()) return *ended;
  fmt::print(stderr, "{}\n", ended.error().message());
  return 1;
}
