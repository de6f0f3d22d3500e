// check_filesets: what the tables of datasets say of each other, of the blobs and captures that
// they name, and of the part files on the disk, while others work.
//
// Each read sees one consistent state and is short. Bytes of blobs and records of archives are
// read by the checks of those. A request whose job is being deleted is half there on purpose.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "store/readers.h"

namespace quern::fileset {

inline constexpr std::size_t kPartFoldersCheckedMax = 1'000'000;
// Parts of a request that has ended may still be going.
inline constexpr std::int64_t kPartsGoUs = 60LL * 1'000'000;

// One sentence for each invariant that does not hold; beyond a thousand, the first ones. `parts`:
// the folder of part files. Blocks.
Result<std::vector<std::string>> check_filesets(store::Readers& readers,
                                                const std::filesystem::path& parts);

}  // namespace quern::fileset
