#include "app/config_reader.h"

namespace quern::app {

Result<> interpret_research(const Reader& read, Config& config) {
  research::CuratorOptions& curator = config.curator;
  curator.user_agent = config.crawl.user_agent;
  curator.allow_private = config.crawl.allow_private;
  curator.connect_to = config.crawl.connect_to;
  curator.ca_file = config.crawl.ca_file;
  TRY_ASSIGN(const std::int64_t check_s, read.number("feed-check", 1, 30 * 86'400));
  curator.feed_check_ms = check_s * 1000;
  TRY_ASSIGN(curator.at_once, read.number("curate-at-once", 1, 200));
  TRY_ASSIGN(curator.gap_ms, read.number("curate-gap", 0, 3'600'000));
  TRY_ASSIGN(curator.media_bytes_max, read.number("media-bytes-max", 1, std::int64_t{1} << 40));
  return {};
}

}  // namespace quern::app
