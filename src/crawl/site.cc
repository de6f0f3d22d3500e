#include "crawl/site.h"

#include <fmt/format.h>

#include "base/crash.h"
#include "queue/locked_partitions.h"

namespace quern::crawl {
namespace {

using store::Rows;
using store::Sql;
using store::Tx;

#define QUERN_SITE \
  "SELECT id, name, partition, not_before_us, robots, robots_status, robots_us FROM site"
constexpr Sql kById{QUERN_SITE " WHERE id = $1"};
constexpr Sql kByName{QUERN_SITE " WHERE name = $1"};
constexpr Sql kInsert{
    "INSERT INTO site (name, partition) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING"};
constexpr Sql kRobots{
    "UPDATE site SET robots = $2, robots_status = $3, robots_us = $4 WHERE id = $1"};
constexpr Sql kLeaveAlone{
    "UPDATE site SET not_before_us = $2 WHERE id = $1 AND not_before_us < $2"};

Site site_of(const store::Row& row) {
  Site site{row.get<SiteId>(0),
            row.get<std::string>(1),
            row.get<queue::PartitionId>(2),
            row.get<std::int64_t>(3),
            {}};
  if (!row.is_null(6)) {
    site.robots = RobotsFile{row.get<int>(5), row.is_null(4) ? "" : row.get<std::string>(4),
                             row.get<std::int64_t>(6)};
  }
  return site;
}

queue::PartitionConfig config_of(std::int64_t at_once) {
  queue::PartitionConfig config;
  config.kind = kSiteKind;
  config.max_retries = -1;  // how often is decided by page
  config.concurrency = at_once;
  config.backoff_ms = 2000;
  config.backoff_ms_max = 600'000;
  config.retain_ms = 0;
  return config;
}

std::string partition_name(const std::string& name) {
  // A host has at most 253 letters, and the name of a partition 200 bytes.
  if (name.size() <= 150) return "quern:site:" + name;
  return fmt::format("quern:site:{}~{:x}", name.substr(0, 120), std::hash<std::string>{}(name));
}

}  // namespace

Result<Site> ensure_site(store::Writer& writer, store::Readers& readers, const std::string& name,
                         std::int64_t at_once) {
  const auto known = readers.run([&name](Tx& tx) { return find_site(tx, name); });
  TRY_ASSIGN(std::optional<Site> site, known);
  TRY_ASSIGN(const queue::PartitionId id,
             site ? Result<queue::PartitionId>(site->partition)
                  : queue::ensure_partition(writer, readers, partition_name(name)));
  auto declare = [&](Tx& tx) -> Result<bool> {
    const queue::Partition* partition = queue::LockedPartitions::of(tx).find(id);
    const queue::PartitionConfig wanted = config_of(at_once);
    if (partition == nullptr || !partition->declared || partition->config != wanted) {
      TRY(queue::put_partition(tx, id, {wanted, {}, {}}));
    }
    TRY(tx.exec(kInsert, name, id));
    return true;
  };
  TRY(writer.run(queue::lane_of(id), queue::change_partition(id, declare)));
  crash_point("crawl.site.made");
  TRY_ASSIGN(site, readers.run([&name](Tx& tx) { return find_site(tx, name); }));
  if (!site) return Error{Errc::Internal, fmt::format("site '{}' was not made", name)};
  return *std::move(site);
}

Result<Site> load_site(Tx& tx, SiteId id) {
  TRY_ASSIGN(const Rows rows, tx.query(kById, id));
  if (rows.empty()) return Error{Errc::Missing, fmt::format("there is no site {}", id)};
  return site_of(rows[0]);
}

Result<std::optional<Site>> find_site(Tx& tx, const std::string& name) {
  TRY_ASSIGN(const Rows rows, tx.query(kByName, name));
  if (rows.empty()) return std::optional<Site>();
  return std::optional<Site>(site_of(rows[0]));
}

Result<> store_robots(Tx& tx, SiteId id, const RobotsFile& robots) {
  TRY(tx.exec(kRobots, id, robots.text, robots.status, robots.at_us));
  return {};
}

Result<> leave_alone(Tx& tx, SiteId id, std::int64_t until_us) {
  TRY(tx.exec(kLeaveAlone, id, until_us));
  return {};
}

}  // namespace quern::crawl
