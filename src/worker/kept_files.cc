#include "worker/kept_files.h"

namespace quern::worker {

SharedFile KeptFiles::find(const std::string& digest) {
  const auto found = places_.find(digest);
  if (found == places_.end()) return nullptr;
  files_.splice(files_.begin(), files_, found->second);
  return found->second->file;
}

void KeptFiles::keep(const std::string& digest, SharedFile file, std::uint64_t bytes) {
  if (bytes > options_.bytes_max || places_.contains(digest)) return;
  make_room(bytes);
  files_.push_front({digest, std::move(file), bytes});
  places_[digest] = files_.begin();
  bytes_ += bytes;
}

void KeptFiles::make_room(std::uint64_t bytes) {
  while (!files_.empty() &&
         (bytes_ + bytes > options_.bytes_max || files_.size() >= options_.files_max)) {
    bytes_ -= files_.back().bytes;
    places_.erase(files_.back().digest);
    files_.pop_back();
  }
}

}  // namespace quern::worker
