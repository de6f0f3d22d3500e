// Snapshots: a counter's value in a file of its own, named by the counter's row.
//
// Guarantee: the row never names a file that is not there, whole. How: the file is durable before a
// transaction names it; a file that no row names is removed by sweep_snapshots(). (A build with
// QUERN_SWAP_WRITES does it the other way round, and the kill sweep must find that.)
//
// Blocks on the disk and on the writer: call it from a thread that may.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "counter/counter.h"
#include "store/readers.h"
#include "store/writer.h"

namespace quern::counter {

struct Stores {
  store::Writer& writer;
  store::Readers& readers;
  std::filesystem::path snapshots;  // the folder of the files
};

// Missing where there is no such counter. Returns the counter as it stands then.
Result<Counter> take_snapshot(const Stores& stores, const std::string& name);

// For the owner at start: removes the files that no row names; returns how many.
Result<int> sweep_snapshots(const Stores& stores);

// Every invariant of counters; one sentence for each that does not hold.
Result<std::vector<std::string>> check_counters(const Stores& stores);

}  // namespace quern::counter
