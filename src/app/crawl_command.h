// quern crawl
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "app/command.h"

namespace quern::app {

struct CrawlCommand {
  std::vector<std::string> urls;
  std::string collection;
  std::string scope;
  std::string allow_private;
  std::vector<std::string> skip;
  std::optional<std::int64_t> pages_max;
  std::optional<std::int64_t> depth_max;
  std::optional<std::int64_t> url_max;
  std::optional<double> delay;
  std::string every;       // "7d", "12h", "30m"
  bool from_warc = false;  // the URLs are files
  bool force = false;
  bool no_sitemaps = false;
  bool no_wait = false;
};
net::Task<Result<int>> crawl_sites(Command command, CrawlCommand order);

// Seconds of "90s", "30m", "12h", "7d"; Invalid.
Result<std::int64_t> parse_period(const std::string& text);

void add_crawl_command(CLI::App& app, Run& run);

}  // namespace quern::app
