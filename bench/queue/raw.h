// The limit that bench_queue compares with: rows like those of `item`, into a table with its
// columns, its primary key and one index, through the driver's own C interface, with the same
// durability.
#pragma once

#include <string>

namespace quern::bench {

struct RawLoad {
  int rows = 0;  // in all
  int per_transaction = 1;
  int connections = 1;  // each on a thread of its own; SQLite has one
};

// Rows per second. The url names an empty database, or a file that is not there yet.
double raw_sqlite(const std::string& path, const RawLoad& load);
double raw_postgres(const std::string& url, const RawLoad& load);

}  // namespace quern::bench
