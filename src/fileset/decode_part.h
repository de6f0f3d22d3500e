// decode_part: takes the content coding off a whole part, into a file that is to replace it.
// Blocking.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "fileset/sums.h"
#include "io/file.h"

namespace quern::fileset {

struct DecodedPart {
  io::DurableFile file;  // under way; its name will be the part's
  Digests digests;
};
// TooLarge where more than so many bytes come out; Invalid where it is no such coding.
Result<DecodedPart> decode_part(const std::filesystem::path& part, const std::string& encoding,
                                std::int64_t bytes_max);

}  // namespace quern::fileset
