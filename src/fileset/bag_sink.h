// BagSink: where the files of an export go, one after the other: a folder, or a zip file.
//
// Guarantee: nothing is called `out` before all of it is there and synced. How: a folder is made as
// `out`.part and renamed at the end; a zip file has no name before.
//
// Threads: one at a time. Blocks on the disk. After an error only destruction is left.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace quern::fileset {

class BagSink {
 public:
  virtual ~BagSink() = default;
  // A path as bag_path() gives it; each once.
  virtual Result<> begin(const std::string& path) = 0;
  virtual Result<> add(std::string_view bytes) = 0;
  virtual Result<> end() = 0;
  // Once, and last.
  virtual Result<> finish() = 0;
};

// Conflict where `out` is there, or an `out`.part that no former export left behind; that one is
// removed.
Result<std::unique_ptr<BagSink>> open_folder_sink(const std::filesystem::path& out);
// Entries lie in a folder that is called like `out` without ".zip". A file that is there is
// replaced. Each entry is spooled beside it until its checksum is known.
Result<std::unique_ptr<BagSink>> open_zip_sink(const std::filesystem::path& out,
                                               std::int64_t at_us);

}  // namespace quern::fileset
