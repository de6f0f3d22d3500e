// Archives: those of a folder that are written to, one for each prefix (web/archive_name.h).
//
// At most kArchivesOpen are kept; of more, the one that was used longest ago is closed, and begins
// another file when it is needed again. Whoever has one keeps it as long as it likes.
//
// Threads: any.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "web/archive.h"

namespace quern::web {

inline constexpr std::size_t kArchivesOpen = 512;

class Archives {
 public:
  struct Options {
    std::filesystem::path folder;
    std::string software;
    std::int64_t bytes_max = kWarcBytesMax;
    std::size_t open_max = kArchivesOpen;
  };
  explicit Archives(Options options) : options_(std::move(options)) {}

  // The folder can be made, and the prefix is one (CHECK).
  std::shared_ptr<Archive> of(const std::string& prefix);
  // Its file is closed when those who have it are done.
  void close(const std::string& prefix);
  std::size_t size() const;

 private:
  struct Entry {
    std::shared_ptr<Archive> archive;
    std::uint64_t used = 0;
  };

  const Options options_;
  mutable std::mutex mutex_;
  std::uint64_t uses_ = 0;
  std::map<std::string, Entry> open_;
};

}  // namespace quern::web
