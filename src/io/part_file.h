// PartFile: a file that grows over many openings, and through crashes: what has come of an upload.
//
// Guarantee: one writer at a time, over all processes and all objects of one process. What was
// written before a sync() that succeeded is on the disk, and so is the name. Nobody can tell what a
// crash leaves of later bytes: whoever writes keeps, elsewhere, how far it has synced, and begins
// again there. How: an OFD lock, which goes with the opening, even by SIGKILL; an empty file's
// folder is synced before its first byte.
//
// Threads: one at a time, but sync() may run beside the others. Errors carry the path; kinds by
// kind_of_errno() (io/system_error.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "io/descriptor.h"
#include "io/file.h"

namespace quern::io {

class PartFile {
 public:
  // Makes it where it is missing, for its owner only (mode 0600); the folder exists. Busy where
  // another opening has it.
  static Result<PartFile> open(const Path& path);

  // When it was opened.
  std::int64_t size_bytes() const { return size_bytes_; }

  // All of the bytes, or an error: then nobody knows how many.
  Result<> write_at(std::int64_t offset, std::string_view bytes);
  // Takes off what lies behind; on the disk with the next sync.
  Result<> cut(std::int64_t size_bytes);
  // After an error nothing that was written since the last success counts; write it again.
  Result<> sync();

 private:
  PartFile(Descriptor file, std::string path, std::int64_t size_bytes)
      : file_(std::move(file)), path_(std::move(path)), size_bytes_(size_bytes) {}

  Descriptor file_;
  std::string path_;
  std::int64_t size_bytes_;
};

}  // namespace quern::io
