// check_tree: every invariant of jobs, shards and files that the tables themselves cannot hold,
// while others work.
//
// Each read sees one consistent state and is short. The sums of a job that is too large for one
// read are compared where nothing changed on the way; one that keeps changing is left out, and the
// log says so. Jobs that are being deleted are half there on purpose, and left out too.
#pragma once

#include <string>
#include <vector>

#include "store/readers.h"

namespace quern::tree {

// Files per read. A job with more is read in pages.
inline constexpr std::int64_t kCheckedAtOnceMax = 2000;

// One sentence for each invariant that does not hold; beyond a thousand, the first ones. Blocks.
Result<std::vector<std::string>> check_tree(store::Readers& readers);

}  // namespace quern::tree
