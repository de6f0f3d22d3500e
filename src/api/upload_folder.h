// UploadFolder: where the bytes of uploads lie until they are whole, and what is done with them
// then: data/uploads/NAME.part, and the file node.id, which tells this folder from those of other
// servers of the same database.
//
// Guarantee: an upload whose bytes are all durable becomes a written file, however often it is
// tried and wherever that was cut off; a part file goes only when its row takes no more bytes. How:
// bytes become a durable blob; one transaction writes the root and ends the upload; the part file
// goes last. No name takes bytes again once it has ended, so a sweep cannot race an upload.
//
// Threads: all functions from any thread; they block, except part_of().
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "api/service.h"
#include "io/part_file.h"
#include "step/pipeline.h"
#include "tree/upload.h"

namespace quern::api {

// An upload that nobody else can send bytes for, as it is now.
struct LockedUpload {
  tree::Upload upload;
  std::shared_ptr<io::PartFile> part;  // none where it is done or has no bytes
};

class UploadFolder {
 public:
  explicit UploadFolder(const std::filesystem::path& data) : folder_(data / "uploads") {}

  std::filesystem::path part_of(const std::string& name) const {
    return folder_ / (name + std::string(kPartSuffix));
  }
  // Who we are. Makes the folder and the id where they are missing. Busy while another process
  // does.
  Result<std::string> node();

  // Nothing where another request has it. Unavailable where its bytes lie on another server.
  Result<std::optional<LockedUpload>> lock(const Parts& parts, const tree::Upload& upload);

  // All bytes are durable: they become the root's, and the part file goes. Missing where the upload
  // went meanwhile. Again: changes nothing.
  Result<> finish(const Parts& parts, const LockedUpload& locked,
                  const step::Pipeline::Decision& decision) const;
  // Whether it went now; it may have gone before.
  Result<bool> drop(const Parts& parts, const tree::Upload& upload, tree::Drop why) const;
  // What nobody goes on with, and what a death has left. In bounded steps, to its end.
  Result<> sweep(const Parts& parts);

 private:
  static constexpr std::string_view kPartSuffix = ".part";

  Result<std::string> load_node() const;
  Result<> sweep_expired(const Parts& parts) const;
  Result<> sweep_parts(const Parts& parts) const;
  static Result<> seal_deserted(const Parts& parts);
  Result<blob::Put> put_of(const Parts& parts, const tree::Upload& upload) const;

  const std::filesystem::path folder_;
  std::mutex mutex_;
  std::string node_;  // under mutex_; empty: not known yet
};

}  // namespace quern::api
