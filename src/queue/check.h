// check_queue: every invariant of partitions and items, while others work.
//
// Each read sees one consistent state and is short; a partition that is too large for one read is
// read in pages, and left out where it changed on the way.
#pragma once

#include <string>
#include <vector>

#include "store/readers.h"

namespace quern::queue {

// Partitions with more items than this are read in pages.
inline constexpr std::int64_t kCheckedAtOnceMax = 20'000;

// One sentence for each invariant that does not hold. Blocks.
Result<std::vector<std::string>> check_queue(store::Readers& readers);

}  // namespace quern::queue
