// DownloadPart: the bytes of one file as they gather on the disk, hashed on the way.
//
// Guarantee: what the note beside the part calls synced is on the disk and belongs to what the note
// names; after a crash at any instant exactly these bytes count. How: a sync comes before each
// note, a note is replaced by rename, and goes before the bytes that it speaks of.
//
// Blocking: on a pool. append() and restart() from one thread at a time; sync_and_note() and the
// rest may run beside them.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "fileset/part_note.h"
#include "fileset/sums.h"
#include "io/file.h"
#include "io/part_file.h"

namespace quern::fileset {

inline constexpr std::int64_t kPartSyncBytes = 64LL * 1024 * 1024;

class DownloadPart {
 public:
  // Takes up what a note knows of the same URL, and reads it for its sums; throws away anything
  // else. Busy where somebody else has the part.
  static Result<std::shared_ptr<DownloadPart>> open(std::filesystem::path path, std::string url);

  std::int64_t size() const;
  PartNote note() const;
  // So many bytes would be lost by a crash.
  std::int64_t unsynced() const;

  // An answer that goes on with what is here.
  void begin_answer();
  // An answer that begins anew: nothing of before is left. Its note is not written yet.
  Result<> restart(PartNote note);
  Result<> append(std::string_view bytes);

  enum class State { Growing, Complete };
  Result<> sync_and_note(State state);
  // Of all that is here.
  Digests digests() const;
  // Puts these bytes, which are all, in the place of what is here.
  Result<> replace(io::DurableFile file, Digests digests);
  // Lets go of the part, whoever still holds this object: nothing of it is written any more.
  void close();

 private:
  DownloadPart(io::PartFile file, std::filesystem::path path)
      : file_(std::move(file)), path_(std::move(path)) {}
  Result<> take_up(std::string url);
  Result<> read_again(std::int64_t bytes);
  Result<> drop_note();

  std::optional<io::PartFile> file_;  // until it is closed; under sync_mutex_, or by who appends
  const std::filesystem::path path_;
  std::mutex sync_mutex_;     // held while syncing
  mutable std::mutex mutex_;  // guards what follows
  PartNote note_;
  std::int64_t size_ = 0;
  bool noted_ = false;  // there is a note on the disk
  std::optional<Digests> replaced_;
  Sums sums_;  // without the mutex: of who appends
};

}  // namespace quern::fileset
