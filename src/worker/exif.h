// What a camera or a scanner wrote into a JPEG or a TIFF about the picture: when, with what, by
// whom.
#pragma once

#include <string_view>

#include "worker/metadata.h"

namespace quern::worker {

// Adds `Creation Date`, `Camera`, `Author`, `Description` and `Software`, where they stand there.
void add_exif(std::string_view picture, Metadata& metadata);

}  // namespace quern::worker
