// BlobUrl: where large blobs lie: `file:PATH`, or `s3://BUCKET/PREFIX?endpoint=…&region=…`.
//
// Keys of S3 are never part of it; they come from the environment (blob/s3_sign.h).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace quern::blob {

struct BlobUrl {
  enum class Kind { Folder, S3 };

  Kind kind = Kind::Folder;
  std::filesystem::path folder;
  std::string bucket;
  std::string prefix;    // without slashes at its ends; may be empty
  std::string endpoint;  // http(s)://HOST[:PORT]; empty: Amazon's own for the region
  std::string region = "us-east-1";

  static BlobUrl of_folder(std::filesystem::path folder);
  // Invalid where it is neither.
  static Result<BlobUrl> parse(std::string_view text);
  std::string text() const;
};

}  // namespace quern::blob
