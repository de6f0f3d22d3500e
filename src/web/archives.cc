#include "web/archives.h"

#include <algorithm>

#include "base/check.h"

namespace quern::web {

std::shared_ptr<Archive> Archives::of(const std::string& prefix) {
  const std::scoped_lock lock(mutex_);
  const auto found = open_.find(prefix);
  if (found != open_.end()) {
    found->second.used = ++uses_;
    return found->second.archive;
  }
  if (open_.size() >= options_.open_max) {
    const auto by_use = [](const auto& a, const auto& b) { return a.second.used < b.second.used; };
    open_.erase(std::min_element(open_.begin(), open_.end(), by_use));
  }
  ArchiveOptions wanted;
  wanted.folder = options_.folder;
  wanted.software = options_.software;
  wanted.prefix = prefix;
  wanted.bytes_max = options_.bytes_max;
  Result<std::unique_ptr<Archive>> archive = Archive::open(std::move(wanted));
  CHECK_OK(archive);
  Entry& entry = open_[prefix];
  entry = {*std::move(archive), ++uses_};
  return entry.archive;
}

void Archives::close(const std::string& prefix) {
  const std::scoped_lock lock(mutex_);
  open_.erase(prefix);
}

std::size_t Archives::size() const {
  const std::scoped_lock lock(mutex_);
  return open_.size();
}

}  // namespace quern::web
