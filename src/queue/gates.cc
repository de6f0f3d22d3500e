#include "queue/gates.h"

#include <algorithm>

namespace quern::queue {
namespace {

using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

// Each look is one of an index that begins with (partition, [status,] gate). SQLite uses a partial
// index only where the statement repeats its condition: hence +status < 4.
#define QUERN_NEXT_OF(condition) \
  "SELECT min(gate) AS gate FROM item WHERE partition = $1 AND gate > $2 AND " condition
constexpr Sql kNext{"SELECT min(n.gate) FROM (" QUERN_NEXT_OF(
    "status = 1 AND +status < 4") " UNION ALL " QUERN_NEXT_OF("status = 2 AND +status < 4")
                    " UNION ALL " QUERN_NEXT_OF("status = 3 AND +status < 4")
                    " UNION ALL " QUERN_NEXT_OF("status = 4")
                    " UNION ALL " QUERN_NEXT_OF("status = 5") ") AS n",
                    "SELECT min(n.gate) FROM (" QUERN_NEXT_OF("status = 1")
                    " UNION ALL " QUERN_NEXT_OF("status = 2")
                    " UNION ALL " QUERN_NEXT_OF("status = 3")
                    " UNION ALL " QUERN_NEXT_OF("status = 4")
                    " UNION ALL " QUERN_NEXT_OF("status = 5") ") AS n"};
#define QUERN_COUNT_OF(condition)                                                               \
  "(SELECT count(*) FROM (SELECT 1 FROM item WHERE partition = $1 AND gate = $2 AND " condition \
  " LIMIT $3) AS c)"
constexpr Sql kCount{
    "SELECT " QUERN_COUNT_OF("status = 1 AND +status < 4") ", "
    QUERN_COUNT_OF("status = 2 AND +status < 4") ", "
    QUERN_COUNT_OF("status = 3 AND +status < 4") ", "
    QUERN_COUNT_OF("status = 4") ", " QUERN_COUNT_OF("status = 5"),
    "SELECT " QUERN_COUNT_OF("status = 1") ", " QUERN_COUNT_OF("status = 2") ", "
    QUERN_COUNT_OF("status = 3") ", " QUERN_COUNT_OF("status = 4") ", "
    QUERN_COUNT_OF("status = 5")};

// One more than is told shows that there are more.
std::int64_t capped(std::int64_t counted, bool& at_least) {
  if (counted > kGateItemsMax) at_least = true;
  return std::min(counted, kGateItemsMax);
}

Result<GateCount> count_gate(Tx& tx, PartitionId partition, std::int64_t gate) {
  TRY_ASSIGN(const Rows rows, tx.query(kCount, partition, gate, kGateItemsMax + 1));
  const Row row = rows[0];
  GateCount count;
  count.gate = gate;
  count.available = capped(row.get<std::int64_t>(0), count.at_least) +
                    capped(row.get<std::int64_t>(4), count.at_least);
  count.running = capped(row.get<std::int64_t>(1), count.at_least);
  count.failed = capped(row.get<std::int64_t>(2), count.at_least);
  count.complete = capped(row.get<std::int64_t>(3), count.at_least);
  return count;
}

}  // namespace

Result<GatePage> list_gates(Tx& tx, PartitionId partition, std::int64_t after, std::size_t limit) {
  GatePage page;
  std::int64_t entries = 0;
  while (page.gates.size() < std::min(limit, kGatesMax) && entries < kGateEntriesPerPage) {
    const std::int64_t last = page.gates.empty() ? after : page.gates.back().gate;
    TRY_ASSIGN(const auto next, tx.value<std::optional<std::int64_t>>(kNext, partition, last));
    if (!next) return page;
    TRY_ASSIGN(GateCount count, count_gate(tx, partition, *next));
    entries += count.items();
    page.gates.push_back(count);
  }
  page.more = true;
  return page;
}

}  // namespace quern::queue
