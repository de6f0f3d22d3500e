// FolderBackend: blobs as files of a folder, SESSION/NNN/NNNNNN.
#pragma once

#include <mutex>

#include "blob/backend.h"

namespace quern::blob {

class FolderBackend final : public Backend {
 public:
  // Makes the folder where it is missing.
  static Result<std::unique_ptr<Backend>> open(const std::filesystem::path& root);

  Result<std::unique_ptr<PlaceWriter>> create(const std::string& place) override;
  // One thread that syncs many files together does better than many.
  std::vector<Result<>> commit(std::span<PlaceWriter* const> writers) override;
  int commit_threads() const override { return 1; }
  Result<std::unique_ptr<PlaceReader>> open(const std::string& place) const override;
  Result<> remove(std::span<const std::string> places) override;
  Result<Listing> list(const std::string& session, const std::string& after) const override;
  Result<> tidy(const std::string& session) override;
  Result<std::vector<std::string>> list_sessions(const std::string& after) const override;
  std::optional<std::filesystem::path> path_of(const std::string& place) const override;
  Result<bool> adopt(const std::filesystem::path& file, const std::string& place) override;

 private:
  explicit FolderBackend(std::filesystem::path root) : root_(std::move(root)) {}
  Result<std::filesystem::path> folder_for(const std::string& place);

  const std::filesystem::path root_;
  std::mutex mutex_;
  std::filesystem::path made_;  // under mutex_: the last folder that was made, or found
};

}  // namespace quern::blob
