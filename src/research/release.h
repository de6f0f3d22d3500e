// What dead researchers had leased is free again.
//
// Only whoever knows that they are dead may say so: the server that started them, and the owner of
// a folder for those of its predecessors. All others wait until the lease ends.
#pragma once

#include <string>

#include "base/result.h"
#include "store/tx.h"

namespace quern::research {

// Of all whose names begin so; how many leases. They count as researchers no more.
Result<std::int64_t> release_leases(store::Tx& tx, const std::string& name_begins);

}  // namespace quern::research
