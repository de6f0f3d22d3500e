// Sites: hosts, each with a partition of the work engine that owns its pages, and with what it asks
// of visitors: its robots.txt, and to be left alone for a while.
//
// Guarantee: one owner at a time asks a site for anything: whoever holds its partition. That is why
// the gap between two requests holds across all processes (crawl/gates.h).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "queue/partition.h"
#include "store/readers.h"
#include "store/writer.h"

namespace quern::crawl {

using SiteId = Id<struct SiteTag>;

// The kind of a site's partition.
inline constexpr char kSiteKind[] = "quern:site";
// Of a site where no gap was asked for: requests at once, and pages that are fetched or recorded.
inline constexpr std::int64_t kRequestsWithoutGap = 8;
inline constexpr std::int64_t kPagesWithoutGap = 32;
// A robots.txt is good for so long.
inline constexpr std::int64_t kRobotsUs = 24 * 3600 * 1'000'000LL;

struct RobotsFile {
  int status = 0;    // 0: it could not be had
  std::string text;  // cut to web::kRobotsBytesMax
  std::int64_t at_us = 0;
};

struct Site {
  SiteId id;
  std::string name;
  queue::PartitionId partition;
  std::int64_t not_before_us = 0;
  std::optional<RobotsFile> robots;
};

// The site of that name, with its partition. Blocks.
Result<Site> ensure_site(store::Writer& writer, store::Readers& readers, const std::string& name,
                         std::int64_t at_once);
Result<Site> load_site(store::Tx& tx, SiteId id);  // Missing
Result<std::optional<Site>> find_site(store::Tx& tx, const std::string& name);

// Behind the site's fence.
Result<> store_robots(store::Tx& tx, SiteId id, const RobotsFile& robots);
// It asked to be left alone until then. Never earlier than what stands.
Result<> leave_alone(store::Tx& tx, SiteId id, std::int64_t until_us);

}  // namespace quern::crawl
