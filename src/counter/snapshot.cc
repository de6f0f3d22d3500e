#include "counter/snapshot.h"

#include <fmt/format.h>

#include <set>

#include "base/crash.h"
#include "io/file.h"

namespace quern::counter {
namespace {

using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

// Only forward: a slow snapshot must not name a file that a newer one is about to remove.
constexpr Sql kNameSnapshot{
    "UPDATE counter SET snapshot_entries = $2, snapshot_value = $3, snapshot_file = $4"
    " WHERE id = $1 AND (snapshot_entries IS NULL OR snapshot_entries < $2)"};
constexpr Sql kNamedFiles{
    "SELECT snapshot_file FROM counter WHERE snapshot_file > $1"
    " ORDER BY snapshot_file LIMIT 1000",
    "SELECT snapshot_file FROM counter WHERE snapshot_file COLLATE \"C\" > $1"
    " ORDER BY snapshot_file COLLATE \"C\" LIMIT 1000"};
constexpr Sql kWrongSums{
    "SELECT c.name, c.value, c.entries, coalesce(sum(e.amount), 0), count(e.key)"
    " FROM counter AS c LEFT JOIN counter_entry AS e ON e.counter = c.id"
    " GROUP BY c.id, c.name, c.value, c.entries"
    " HAVING c.value <> coalesce(sum(e.amount), 0) OR c.entries <> count(e.key) LIMIT 1000",
    "SELECT c.name, c.value, c.entries, coalesce(sum(e.amount), 0)::bigint, count(e.key)"
    " FROM counter AS c LEFT JOIN counter_entry AS e ON e.counter = c.id"
    " GROUP BY c.id, c.name, c.value, c.entries"
    " HAVING c.value <> coalesce(sum(e.amount), 0) OR c.entries <> count(e.key) LIMIT 1000"};

constexpr std::size_t kSnapshotBytesMax = 4096;
constexpr std::size_t kSnapshotFilesMax = 1'000'000;

// ID-ENTRIES.json
bool is_snapshot_name(std::string_view name) {
  constexpr std::string_view kEnding = ".json";
  const std::size_t dash = name.find('-');
  if (!name.ends_with(kEnding) || dash == 0 || dash == std::string_view::npos) return false;
  name.remove_suffix(kEnding.size());
  return dash + 1 < name.size() && name.find_first_not_of("0123456789", dash + 1) == name.npos &&
         name.substr(0, dash).find_first_not_of("0123456789") == name.npos;
}

std::string contents(const Counter& counter, std::int64_t value) {
  return fmt::format("{{\"counter\":\"{}\",\"value\":{}}}\n", counter.name, value);
}

Result<> name_in_row(const Stores& stores, const Counter& counter, const std::string& file) {
  TRY(stores.writer.run(lane_of(counter.name), [&counter, &file](Tx& tx) {
    return tx.exec(kNameSnapshot, counter.id, counter.entries, counter.value, file);
  }));
  crash_point("counter.snapshot.named");
  return {};
}

Result<> write_and_name(const Stores& stores, const Counter& counter, const std::string& file) {
  const std::string text = contents(counter, counter.value);
#ifdef QUERN_SWAP_WRITES
  TRY(name_in_row(stores, counter, file));
  return io::write_file_durably(stores.snapshots / file, text);
#else
  TRY(io::write_file_durably(stores.snapshots / file, text));
  return name_in_row(stores, counter, file);
#endif
}

Result<std::set<std::string>> named_files(const Stores& stores) {
  std::set<std::string> named;
  std::string after;
  while (true) {
    TRY_ASSIGN(const Rows rows,
               stores.readers.run([after](Tx& tx) { return tx.query(kNamedFiles, after); }));
    for (const Row row : rows) named.insert(row.get<std::string>(0));
    if (rows.empty()) return named;
    after = *named.rbegin();
  }
}

std::string problem_with_snapshot(const Stores& stores, const Counter& counter) {
  if (!counter.snapshot_file) return {};
  const Result<std::string> text =
      io::read_file(stores.snapshots / *counter.snapshot_file, kSnapshotBytesMax);
  if (!text.ok()) {
    return fmt::format("counter {}: its snapshot cannot be read: {}", counter.name,
                       text.error().message());
  }
  if (*text == contents(counter, *counter.snapshot_value)) return {};
  return fmt::format("counter {}: snapshot {} does not hold {}", counter.name,
                     *counter.snapshot_file, *counter.snapshot_value);
}

}  // namespace

Result<Counter> take_snapshot(const Stores& stores, const std::string& name) {
  const auto load = [&name](Tx& tx) { return load_counter(tx, name); };
  TRY_ASSIGN(const Counter counter, stores.readers.run(load));
  // Entries only grow, so a name stands for one state of the counter.
  const std::string file = fmt::format("{}-{}.json", counter.id, counter.entries);
  if (counter.snapshot_file == file) return counter;
  TRY(write_and_name(stores, counter, file));
  if (counter.snapshot_file) {
    TRY(io::remove_durably(stores.snapshots / *counter.snapshot_file, io::IfMissing::Fine));
  }
  return stores.readers.run(load);
}

Result<int> sweep_snapshots(const Stores& stores) {
  TRY(io::remove_temp_files(stores.snapshots));
  TRY_ASSIGN(const std::set<std::string> named, named_files(stores));
  TRY_ASSIGN(const auto entries, io::list_folder(stores.snapshots, kSnapshotFilesMax));
  int removed = 0;
  for (const io::FolderEntry& entry : entries) {
    // Only what we could have made: a file whose name is ours.
    if (entry.kind != io::EntryKind::File || !is_snapshot_name(entry.name)) continue;
    if (named.contains(entry.name)) continue;
    TRY(io::remove_durably(stores.snapshots / entry.name, io::IfMissing::Fine));
    ++removed;
  }
  return removed;
}

Result<std::vector<std::string>> check_counters(const Stores& stores) {
  std::vector<std::string> problems;
  TRY_ASSIGN(const Rows wrong, stores.readers.run([](Tx& tx) { return tx.query(kWrongSums); }));
  for (const Row row : wrong) {
    problems.push_back(
        fmt::format("counter {}: says {} from {} entries, which add up to {} from {}",
                    row.get<std::string>(0), row.get<std::int64_t>(1), row.get<std::int64_t>(2),
                    row.get<std::int64_t>(3), row.get<std::int64_t>(4)));
  }
  std::string after;
  while (true) {
    TRY_ASSIGN(const std::vector<Counter> counters,
               stores.readers.run([after](Tx& tx) { return list_counters(tx, after, kListMax); }));
    if (counters.empty()) return problems;
    for (const Counter& counter : counters) {
      std::string problem = problem_with_snapshot(stores, counter);
      if (!problem.empty()) problems.push_back(std::move(problem));
    }
    after = counters.back().name;
  }
}

}  // namespace quern::counter
