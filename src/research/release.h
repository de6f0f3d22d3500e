// What dead researchers had leased is free again.
//
// Only whoever knows that they are dead may say so: the server that started them, and the owner of
// a folder for those of its predecessors. All others wait until the lease ends.
//
// Runs on the writer. How many leases; they count as researchers no more.
#pragma once

#include <string>

#include "base/result.h"
#include "store/tx.h"

namespace quern::research {

Result<std::int64_t> release_leases_of(store::Tx& tx, const std::string& researcher);
// Of all whose names begin so.
Result<std::int64_t> release_leases(store::Tx& tx, const std::string& name_begins);

}  // namespace quern::research
