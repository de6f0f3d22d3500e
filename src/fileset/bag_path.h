// Paths in a bag (RFC 8493): what a file is called on a disk, and in the lines of a manifest. Pure.
//
// A dataset may call its files anything. Their names are kept as they are wherever a file system
// can bear them; what it cannot is percent-encoded ("..", a NUL, bytes that are no UTF-8) or cut,
// with a digest of the whole name at its end. BagPaths sees to it that no two files get one name,
// and that none is called like a folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/result.h"

namespace quern::fileset {

inline constexpr std::size_t kBagNameBytesMax = 255;  // of one part of a path
inline constexpr std::size_t kBagPathBytesMax = 2048;
inline constexpr std::size_t kBagDepthMax = 64;
inline constexpr std::size_t kBagFilesMax = 1'000'000;

// Relative, without "." and "..", never empty.
std::string bag_path(std::string_view name);
// As manifests write it: CR, LF and the percent sign are percent-encoded, nothing else is.
std::string manifest_path(std::string_view path);
// A relative reference (RFC 3986), as RO-Crate names files.
std::string crate_path(std::string_view path);

// Gives each file a path of its own. Remembers 16 bytes for each.
class BagPaths {
 public:
  // bag_path() below `folder` (which may be empty), with "~2", "~3", … where it must be. TooLarge
  // beyond kBagFilesMax files.
  Result<std::string> take(const std::string& folder, std::string_view name);

 private:
  enum class Kind { File, Folder };
  std::string free_path(std::string_view path, Kind kind);

  std::unordered_set<std::uint64_t> files_;
  std::unordered_set<std::uint64_t> folders_;
  std::unordered_map<std::uint64_t, int> numbers_;  // of names that several files have
};

}  // namespace quern::fileset
