// check_research: what the tables of research say of each other, while others work.
//
// Each read sees one consistent state of one episode, or of a page of rows, and is short. Of an
// episode with very many results only the sums are looked at.
#pragma once

#include <string>
#include <vector>

#include "store/readers.h"

namespace quern::research {

inline constexpr std::int64_t kCuratedCheckedAtOnce = 500;
inline constexpr std::int64_t kResultsCheckedAtOnce = 20'000;  // of one episode

// One sentence for each invariant that does not hold; beyond a thousand, the first ones. Blocks.
Result<std::vector<std::string>> check_research(store::Readers& readers);

}  // namespace quern::research
