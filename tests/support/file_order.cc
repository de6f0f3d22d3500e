#include "support/file_order.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <set>

#include "io/file.h"

namespace quern::support {
namespace {

using io::FileCall;
using io::FileOperation;

std::string folder_of(const std::string& path) {
  return std::filesystem::path(path).parent_path().native();
}

class Observer {
 public:
  void see(const FileOperation& operation) {
    switch (operation.call) {
      case FileCall::Open:
      case FileCall::Read:
        return;
      case FileCall::Write:
      case FileCall::Truncate:
        unsynced_files_.insert(operation.path);
        if (named_.contains(operation.path)) add("{} is written under its name", operation.path);
        return;
      case FileCall::Fsync:
        unsynced_files_.erase(operation.path);
        return;
      case FileCall::SyncFolder:
        unsynced_folders_.erase(operation.path);
        return;
      case FileCall::Rename:
      case FileCall::Link:
        return see_rename(operation);
      case FileCall::Unlink:
        unsynced_files_.erase(operation.path);
        // A temporary file that was given up: whether its removal lasts does not matter.
        if (operation.path.find(temp_mark_) != std::string::npos) return;
        [[fallthrough]];
      case FileCall::MakeFolder:
        unsynced_folders_[folder_of(operation.path)] = operation.path;
        return;
    }
  }

  std::vector<std::string> finish() {
    for (const auto& [folder, change] : unsynced_folders_)
      add("{} was not synced after the change of " + change, folder);
    return violations_;
  }

 private:
  void see_rename(const FileOperation& operation) {
    if (unsynced_files_.erase(operation.path) > 0) add("{} is named unsynced", operation.to);
    named_.insert(operation.to);
    unsynced_folders_[folder_of(operation.to)] = operation.to;
  }
  void add(const std::string& format, const std::string& path) {
    violations_.push_back(fmt::format(fmt::runtime(format), path));
  }

  const std::string temp_mark_ = fmt::format("/{}", io::kTempPrefix);
  std::set<std::string> unsynced_files_;
  std::set<std::string> named_;
  std::map<std::string, std::string> unsynced_folders_;  // with the last change
  std::vector<std::string> violations_;
};

}  // namespace

std::vector<std::string> order_violations(const std::vector<FileOperation>& operations) {
  Observer observer;
  for (const FileOperation& operation : operations) observer.see(operation);
  return observer.finish();
}

}  // namespace quern::support
