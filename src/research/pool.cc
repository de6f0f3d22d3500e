#include "research/pool.h"

#include "research/options.h"

namespace quern::research {
namespace {

using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr Sql kLoad{"SELECT generation, algorithm, next_number FROM research_pool WHERE id = 1"};
// On SQLite whoever writes is alone.
constexpr Sql kLock{
    "SELECT generation, algorithm, next_number FROM research_pool WHERE id = 1",
    "SELECT generation, algorithm, next_number FROM research_pool WHERE id = 1 FOR UPDATE"};
constexpr Sql kNext{
    "UPDATE research_pool SET generation = generation + 1, next_number = next_number + 1"
    " WHERE id = 1"};

Result<Pool> pool_of(const Rows& rows) {
  if (rows.empty()) return Error{Errc::Corrupt, "the row of research_pool is gone"};
  const Row row = rows[0];
  return Pool{row.get<std::int64_t>(0), row.get<std::int64_t>(1), row.get<std::int64_t>(2)};
}

}  // namespace

Result<Pool> load_pool(Tx& tx) {
  TRY_ASSIGN(const Rows rows, tx.query(kLoad));
  return pool_of(rows);
}

Result<Pool> lock_pool(Tx& tx) {
  TRY_ASSIGN(const Rows rows, tx.query(kLock));
  return pool_of(rows);
}

Result<std::int64_t> next_clip_number(Tx& tx, const Pool& pool) {
  if (pool.next_number > kClipNumberMax) {
    return over_limit("clips, and changes of their media", pool.next_number, kClipNumberMax,
                      "research.clip_number_max");
  }
  TRY(tx.exec(kNext));
  return pool.next_number;
}

}  // namespace quern::research
