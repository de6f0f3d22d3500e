#include "queue/check.h"

#include <fmt/format.h>

#include <map>

#include "base/log.h"
#include "queue/partition.h"
#include "queue/partition_row.h"

namespace quern::queue {
namespace {

using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr std::size_t kPartitionsPerPage = 50;
constexpr int kAttemptsMax = 3;
constexpr std::size_t kProblemsMax = 1000;

constexpr Sql kPage{"SELECT" QUERN_PARTITION_COLUMNS
                    "FROM partition WHERE id > $1 ORDER BY id LIMIT $2"};
constexpr Sql kOne{"SELECT" QUERN_PARTITION_COLUMNS "FROM partition WHERE id = $1"};
constexpr Sql kCounts{
    "SELECT status, count(*), min(gate) FROM item WHERE partition = $1 GROUP BY status"};
constexpr Sql kCountsOfPage{
    "SELECT status, gate, name FROM item WHERE partition = $1 AND name > $2 ORDER BY name LIMIT "
    "$3"};
constexpr Sql kLastEvent{"SELECT max(number) FROM event WHERE partition = $1"};
constexpr Sql kOrphans{
    "SELECT i.id FROM item AS i WHERE NOT EXISTS"
    " (SELECT 1 FROM partition AS p WHERE p.id = i.partition) LIMIT 10"};

// What the items of a partition add up to.
struct Sums {
  std::map<Status, std::int64_t> count;
  std::map<Status, std::int64_t> lowest_gate;

  std::int64_t of(Status status) const {
    const auto found = count.find(status);
    return found == count.end() ? 0 : found->second;
  }
  std::int64_t all() const {
    std::int64_t sum = 0;
    for (const auto& [status, number] : count) sum += number;
    return sum;
  }
  void add(Status status, std::int64_t number, std::int64_t gate) {
    count[status] += number;
    const auto [lowest, is_new] = lowest_gate.try_emplace(status, gate);
    if (!is_new) lowest->second = std::min(lowest->second, gate);
  }
};

void judge(const Partition& partition, const Sums& sums, std::vector<std::string>& problems) {
  const auto say = [&](const std::string& what) {
    problems.push_back(fmt::format("partition {}: {}", partition.name, what));
  };
  const auto expect = [&](std::string_view what, std::int64_t stored, std::int64_t counted) {
    if (stored != counted)
      say(fmt::format("{} {} items are noted, {} are there", stored, what, counted));
  };
  expect("all", partition.items, sums.all());
  expect("complete", partition.complete_items, sums.of(Status::Complete));
  expect("failed", partition.failed_items, sums.of(Status::Failed));
  for (const Status status : {Status::Available, Status::Delayed, Status::Running}) {
    const auto lowest = sums.lowest_gate.find(status);
    if (lowest != sums.lowest_gate.end() && lowest->second < partition.gate) {
      say(fmt::format("an item is {} at gate {}, but gate {} is open", to_string(status),
                      lowest->second, partition.gate));
    }
  }
  if (partition.status == Status::Complete && partition.open_items() > 0) {
    say(fmt::format("it is closed with {} items to do", partition.open_items()));
  }
  const auto available = sums.lowest_gate.find(Status::Available);
  const bool can_run = available != sums.lowest_gate.end() && available->second == partition.gate;
  if (partition.declared && !partition.ready_us && can_run) say("nobody would ever look at it");
  if (partition.declared && !partition.ready_us && partition.status == Status::Available &&
      !partition.sealed) {
    say("it is open, but nobody would ever look at it");
  }
}

Result<> judge_events(Tx& tx, const Partition& partition, std::vector<std::string>& problems) {
  TRY_ASSIGN(const auto last, tx.value<std::optional<std::int64_t>>(kLastEvent, partition.id));
  if (last.value_or(0) == partition.event_number) return {};
  problems.push_back(fmt::format("partition {}: {} events are noted, the last one is {}",
                                 partition.name, partition.event_number, last.value_or(0)));
  return {};
}

Result<std::optional<Partition>> load_one(Tx& tx, PartitionId id) {
  TRY_ASSIGN(const Rows rows, tx.query(kOne, id));
  if (rows.empty()) return std::optional<Partition>();
  return std::optional(partition_of(rows[0]));
}

// In one read. False: it has too many items for that.
Result<bool> check_at_once(Tx& tx, PartitionId id, std::vector<std::string>& problems) {
  TRY_ASSIGN(const auto partition, load_one(tx, id));
  if (!partition || partition->deleting) return true;
  TRY(judge_events(tx, *partition, problems));
  if (partition->items > kCheckedAtOnceMax) return false;
  TRY_ASSIGN(const Rows rows, tx.query(kCounts, id));
  Sums sums;
  for (const Row row : rows) {
    sums.add(static_cast<Status>(row.get<int>(0)), row.get<std::int64_t>(1),
             row.get<std::int64_t>(2));
  }
  judge(*partition, sums, problems);
  return true;
}

bool changed(const Partition& before, const Partition& after) {
  return before.updated_us != after.updated_us || before.event_number != after.event_number ||
         before.token != after.token;
}

// Page by page; tried again where it changed meanwhile.
Result<> check_in_pages(store::Readers& readers, PartitionId id,
                        std::vector<std::string>& problems) {
  const auto load = [id](Tx& tx) { return load_one(tx, id); };
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    TRY_ASSIGN(const auto before, readers.run(load));
    Sums sums;
    std::string after;
    while (before) {
      TRY_ASSIGN(const Rows rows, readers.run([&](Tx& tx) {
        return tx.query(kCountsOfPage, id, after, kCheckedAtOnceMax);
      }));
      for (const Row row : rows) {
        sums.add(static_cast<Status>(row.get<int>(0)), 1, row.get<std::int64_t>(1));
      }
      if (rows.empty()) break;
      after = rows[rows.size() - 1].get<std::string>(2);
    }
    TRY_ASSIGN(const auto now, readers.run(load));
    if (!before || !now) return {};
    if (changed(*before, *now)) continue;
    judge(*before, sums, problems);
    return {};
  }
  log_info("queue.not_checked", {{"partition", id.value}, {"because", "it keeps changing"}});
  return {};
}

}  // namespace

Result<std::vector<std::string>> check_queue(store::Readers& readers) {
  std::vector<std::string> problems;
  PartitionId after;
  while (problems.size() < kProblemsMax) {
    TRY_ASSIGN(const Rows page,
               readers.run([after](Tx& tx) { return tx.query(kPage, after, kPartitionsPerPage); }));
    if (page.empty()) break;
    for (const Row row : page) {
      after = row.get<PartitionId>(0);
      std::vector<std::string> found;
      TRY_ASSIGN(const bool whole, readers.run([after, &found](Tx& tx) {
        found.clear();  // it may run twice
        return check_at_once(tx, after, found);
      }));
      if (!whole) TRY(check_in_pages(readers, after, found));
      problems.insert(problems.end(), found.begin(), found.end());
    }
  }
  TRY_ASSIGN(const Rows orphans, readers.run([](Tx& tx) { return tx.query(kOrphans); }));
  for (const Row row : orphans) {
    problems.push_back(fmt::format("item {} belongs to no partition", row.get<std::int64_t>(0)));
  }
  return problems;
}

}  // namespace quern::queue
