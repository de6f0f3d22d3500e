// check_search: what is published of each collection is what it has, while others work.
//
// A collection with changes that are not packed yet is left out: it will differ until they are.
#pragma once

#include <string>
#include <vector>

#include "store/readers.h"

namespace quern::search {

// One sentence for each invariant that does not hold. Blocks.
Result<std::vector<std::string>> check_search(store::Readers& readers);

}  // namespace quern::search
