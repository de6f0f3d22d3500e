// The files of an item, as the metadata API of archive.org lists them. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "fileset/manifest.h"

namespace quern::fileset {

// Path, size, md5 and sha1 of each. Empty where there is no such item (an empty object). Corrupt
// where it is no such answer; TooLarge beyond kItemFilesMax.
Result<std::vector<ManifestFile>> parse_item_files(std::string_view metadata);

}  // namespace quern::fileset
