// Bundles: zip files that hold the files of a dataset. Its directory is read, and each file of the
// manifest is found in it and hashed; nothing is unpacked.
//
// The bytes are hostile: what the directory says is checked against the file's size, and no more
// is read than its limits allow. Functions block: for a pool's thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "fileset/file_row.h"

namespace quern::fileset {

inline constexpr std::int64_t kBundleDirectoryBytesMax = 256LL * 1024 * 1024;
inline constexpr std::size_t kBundleMembersMax = 1'000'000;

struct BundleMember {
  std::string path;
  std::int64_t size = 0;  // unpacked
  std::int64_t packed = 0;
  std::int64_t offset = 0;  // of its head
  std::uint32_t crc = 0;
  int method = 0;  // 0 stored, 8 deflated
  bool encrypted = false;
};
// Without folders. Corrupt where it is no zip file, or a broken one.
Result<std::vector<BundleMember>> list_bundle(const std::filesystem::path& zip);
// Corrupt where the bytes are broken or not as many as it says; Invalid where they cannot be read
// (encrypted, or packed in another way).
Result<FileMeta> member_meta(const std::filesystem::path& zip, const BundleMember& member);

// What a request allows its bundle to hold.
struct BundleLimits {
  std::int64_t files_max = 200;
  std::int64_t bytes_max = 64LL << 30;  // unpacked, of all that is hashed
};

// What becomes of the files of a manifest with their bundle: each is found in it and verified, and
// where there is no manifest, what is in it is one. `zip`: empty where its bytes are not here. The
// bundle's own status turns to mismatch where it is no zip file, and to too-many-files or
// too-large-size where what is in it is over a limit: so little bytes cannot cost much work.
std::vector<FileRow> bundle_members(FileRow& bundle, const std::vector<FileRow>& files,
                                    const std::filesystem::path& zip, BundleLimits limits);

}  // namespace quern::fileset
