// check_crawl: what the tables of crawls say of each other and of the archive, while others work.
//
// Each read sees one consistent state and is short. Of every WARC file the last record that is
// known is read; a crawl with very many open pages is not counted, and the log says so.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "store/readers.h"

namespace quern::crawl {

inline constexpr std::int64_t kPagesCheckedAtOnce = 2000;
inline constexpr std::int64_t kOpenPagesCountedMax = 200'000;

// One sentence for each invariant that does not hold; beyond a thousand, the first ones. `warcs`:
// the folder of archives. Blocks.
Result<std::vector<std::string>> check_crawl(store::Readers& readers,
                                             const std::filesystem::path& warcs);

}  // namespace quern::crawl
