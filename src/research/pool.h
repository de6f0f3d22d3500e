// The one row that assigners and curators lock, so that they take turns. Inside research only.
//
// The order in which a transaction locks rows: pool, leases, sets of episodes, episodes and clips.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "store/tx.h"

namespace quern::research {

struct Pool {
  std::int64_t generation = 0;
  std::int64_t algorithm = 0;
  std::int64_t next_number = 0;
};

Result<Pool> load_pool(store::Tx& tx);
// Held until the transaction ends.
Result<Pool> lock_pool(store::Tx& tx);
// The number of a clip that takes part from now on: no episode is complete any more. TooLarge where
// kClipNumberMax have been given. The pool is locked.
Result<std::int64_t> next_clip_number(store::Tx& tx, const Pool& pool);

}  // namespace quern::research
