// What a store does for us, counted by the store itself: statements, and the steps or rows they
// take.
#pragma once

#include <cstdint>
#include <string>

#include "support/postgres.h"

namespace quern::bench {

struct Visits {
  std::int64_t statements = 0;
  // SQLite: instructions of its virtual machine, and rows of full scans.
  std::int64_t vm_steps = 0;
  std::int64_t scanned_rows = 0;

  friend Visits operator-(Visits a, const Visits& b);
};

// Counts on every SQLite connection that is opened while this object lives. One at a time.
class SqliteVisits {
 public:
  SqliteVisits();
  ~SqliteVisits();
  Visits total() const;
};

struct PostgresVisits {
  std::int64_t index_entries = 0;  // read from indexes of the item table
  std::int64_t rows = 0;           // fetched from the item table
  std::int64_t scanned_rows = 0;   // read by sequential scans of it

  std::int64_t of_work() const { return index_entries + scanned_rows; }
};
// Of connections that were closed: others may publish what they counted seconds later.
PostgresVisits postgres_visits(support::Postgres& postgres, const std::string& url);

}  // namespace quern::bench
