#include "queue/event.h"

#include <algorithm>

namespace quern::queue {
namespace {

constexpr store::Sql kList{
    "SELECT e.number, e.kind, i.name, e.gate, e.token, e.at_us FROM event AS e"
    " LEFT JOIN item AS i ON i.id = e.item WHERE e.partition = $1 AND e.number > $2"
    " ORDER BY e.number LIMIT $3"};

}  // namespace

Result<std::vector<Event>> list_events(store::Tx& tx, PartitionId partition, std::int64_t after,
                                       std::size_t limit) {
  TRY_ASSIGN(const store::Rows rows, tx.query(kList, partition, after, std::min(limit, kListMax)));
  std::vector<Event> events;
  for (const store::Row row : rows) {
    events.push_back({row.get<std::int64_t>(0), row.get<std::string>(1),
                      row.get<std::optional<std::string>>(2).value_or(""), row.get<std::int64_t>(3),
                      row.get<std::int64_t>(4), row.get<std::int64_t>(5)});
  }
  return events;
}

}  // namespace quern::queue
