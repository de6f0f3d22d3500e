// PackFolder: the packs that lie on this machine, opened when they are first asked for.
//
// Guarantee: what find() gives is a whole pack of exactly that digest. How: files get their names
// when they are complete and synced; one that was there before this process is hashed before it is
// opened, unless it is the very file (inode, size, times) that was hashed before.
//
// Nothing here is the only copy: the folder may be emptied while nobody runs.
// Threads: any; what opens or removes blocks.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/file.h"
#include "search/pack.h"

namespace quern::search {

inline constexpr std::size_t kPackFilesMax = 100'000;

class PackFolder {
 public:
  // Whether other processes may work in the folder.
  enum class Owner { Only, OneOfMany };
  // Makes the folder; removes what builders and receivers that were killed left behind.
  static Result<std::unique_ptr<PackFolder>> open(const io::Path& path, Owner owner);

  const io::Path& path() const { return path_; }
  // Missing where it is not here; Corrupt where it is damaged: then it is removed.
  Result<std::shared_ptr<const Pack>> find(const std::string& digest);
  bool has(const std::string& digest) const;
  std::vector<std::string> held() const;
  // A name for a file that is being built; adopt() takes it in.
  io::Path building_path();
  Result<std::shared_ptr<const Pack>> adopt(const io::Path& built, const std::string& digest);
  // Says that the file of a receiver has come.
  void note(const std::string& digest);
  // Whoever is reading it goes on; fine where it is gone.
  Result<> drop(const std::string& digest);
  // What is held without being in `wanted` goes, except what came within the last minute.
  Result<> keep_only(const std::vector<std::string>& wanted);

 private:
  explicit PackFolder(io::Path path) : path_(std::move(path)) {}
  io::Path file_of(const std::string& digest) const { return path_ / (digest + ".pack"); }
  Result<std::shared_ptr<const Pack>> open_verified(const std::string& digest);

  struct Entry {
    std::shared_ptr<const Pack> pack;  // null: not opened yet
    std::int64_t since_us = 0;         // monotonic
  };
  const io::Path path_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;  // under mutex_, like the next
  std::int64_t built_ = 0;
};

}  // namespace quern::search
