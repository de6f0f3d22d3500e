// KeptFiles: files that were fetched and will be wanted again, by their digest. Pure bookkeeping.
//
// Hundreds of episodes are searched for the same clips: each is fetched once. Bounded by bytes and
// by number, the least recently used go first. A file without a name is gone with its last
// descriptor, so nothing is left behind, whoever dies; one that goes from here lives on where it is
// used.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "io/descriptor.h"

namespace quern::worker {

struct KeptFilesOptions {
  std::uint64_t bytes_max = std::uint64_t{2} << 30;
  std::size_t files_max = 256;
};

using SharedFile = std::shared_ptr<const io::Descriptor>;

class KeptFiles {
 public:
  explicit KeptFiles(KeptFilesOptions options) : options_(options) {}

  // Null where it is not here.
  SharedFile find(const std::string& digest);
  // One that is larger than all of the room is not kept.
  void keep(const std::string& digest, SharedFile file, std::uint64_t bytes);

  std::uint64_t bytes() const { return bytes_; }
  std::size_t size() const { return files_.size(); }

 private:
  struct Kept {
    std::string digest;
    SharedFile file;
    std::uint64_t bytes;
  };
  using Place = std::list<Kept>::iterator;
  void make_room(std::uint64_t bytes);

  KeptFilesOptions options_;
  std::list<Kept> files_;  // the one used last comes first
  std::map<std::string, Place> places_;
  std::uint64_t bytes_ = 0;
};

}  // namespace quern::worker
