// SourceWalk: the files that `quern add` was given, one after the other, in one order for ever.
//
// A folder's files are named by their path from that folder's parent (leak/a/b.pdf), sorted by
// those names; hidden files count. Links and devices are skipped, and counted. Memory is one list
// per folder on the way down. Blocks on the disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/file.h"

namespace quern::app {

struct SourceFile {
  std::filesystem::path path;
  std::string name;        // as it will be called; valid UTF-8
  std::int64_t index = 0;  // among all
};

class SourceWalk {
 public:
  // Missing where one of them is not there, before anything else.
  static Result<SourceWalk> open(const std::vector<std::string>& paths);

  // Nothing at the end.
  Result<std::optional<SourceFile>> next();
  std::int64_t skipped() const { return skipped_; }

 private:
  struct Level {
    std::filesystem::path folder;
    std::string name;  // ends with a slash; empty for what was given
    std::vector<io::FolderEntry> entries;
    std::size_t at = 0;
  };

  Result<> enter(const std::filesystem::path& folder, std::string name);

  std::vector<std::filesystem::path> given_;
  std::size_t given_at_ = 0;
  std::vector<Level> levels_;
  std::int64_t index_ = 0;
  std::int64_t skipped_ = 0;
};

}  // namespace quern::app
